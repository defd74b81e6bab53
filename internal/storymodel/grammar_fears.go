package storymodel

// fear is one thing to be afraid of.
type fear struct {
	what    string // after "afraid of"
	kids    bool   // only a child can have it
	suits   func(skill) bool
	weather []string // nil: any; for a fear of the night, not used
	night   bool     // it happens at home at bedtime
	trouble []string
	help    []help
	result  []string
}

// help is what the one who helps, x, says or does, and the small step that follows from it.
type help struct{ advice, step string }

var fears = []fear{
	{
		what: "the dark", night: true,
		trouble: []string{`{Night}, the light went out. {h} [pulled the blanket over {h.his} head|could not see anything].`,
			`Every night, {h} saw strange shapes on the wall.`,
			`When it was time for bed, {h} did not want to close {h.his} eyes.`},
		help: []help{
			{`"The dark is only the day with its eyes closed," said {x}. "Come and look out of the window."`,
				`{h} looked [out|at the sky]. There were so many stars[| and a big white moon]!`},
			{`{X} lit a [small candle|lamp]. "Look at the shape on the wall," {x.he} said. "It is only [your hat|a chair|the curtain]."`,
				`{h} put out the light and counted to ten. [Nothing bad happened|The shape did not move].`},
			{`"Listen," said {x}. "The dark is full of friendly sounds. The trees are sleeping, and so are the birds."`,
				`{h} took a deep breath and listened to the dark. It was [quiet and soft|very quiet].`},
		},
		result: []string{`"The night is watching over me," said {h}.`, `Soon {h} was fast asleep.`,
			`"The dark is not so bad," said {h} and {smiled}.`},
	},
	{
		what: "thunder", night: true,
		trouble: []string{`{Night}, a big storm came. "Boom!" went the thunder, and {h} hid under the bed.`,
			`{Night}, it was raining hard, and the thunder was loud. {h} put {h.his} {hands} over {h.his} ears.`,
			`{Night}, {h} sat up in bed. Boom! A storm was coming.`},
		help: []help{
			{`"Thunder is only the clouds bumping into each other," said {x}. "Let us count until the next one."`,
				`{h} counted: one, two, three. Each time, the thunder was a little farther away.`},
			{`{X} sat down next to {h}. "When it booms, we boom back," {x.he} said.`,
				`"Boom!" went the thunder. "Boom!" {called} {h}, and they both laughed.`},
			{`"The thunder cannot hurt you in here," said {x}. "Let us sing louder than the storm."`,
				`They sang and sang, and {h} forgot to be afraid.`},
		},
		result: []string{`When the storm was over, the air smelled sweet.`, `The storm went away, and {h} fell asleep.`,
			`"Will it come back tomorrow?" asked {h}. "I was not even scared!"`},
	},
	{
		what: "deep water", suits: func(a skill) bool { return a&swims == 0 },
		weather: []string{"hot", "warm", "sunny"},
		trouble: []string{`{Day}, everyone jumped into the lake. Only {h} stayed on the grass.`,
			`{Day}, all the others went for a swim, but {h} only put one foot into the water.`,
			`{Day}, {h} stood at the lake. The water looked so dark and cold.`},
		help: []help{
			{`"We will go in together, one step at a time," said {x}.`,
				`First, the water came up to {h.his} knees. Then it came up to {h.his} tummy.`},
			{`"I will hold you the whole time," said {x}. "And you can stop when you want."`,
				`{h} held on tight and kicked with {h.his} legs. Splash!`},
			{`{X} stood in the water. "Look, it is not deep here," {x.he} said.`,
				`{h} took one small step, and then another. The water was cool, but it felt nice.`},
		},
		result: []string{`"I am swimming!" {called} {h}.`, `Soon {h} was splashing and laughing with the others.`,
			`{h} did not want to come out anymore.`},
	},
	{
		what: "the big slide", kids: true,
		trouble: []string{`{Day}, {h} climbed up the steps of the big slide. But at the top, {h.his} legs began to shake.`,
			`All the other children went down the big slide. {h} only looked at it.`},
		help: []help{
			{`"I will wait for you at the bottom," said {x}. "I will catch you."`,
				`One, two, three! Down {h} went[|, faster and faster].`},
			{`"We can go down together," said {x} and sat behind {h}.`, `They let go. Whoosh! Down they went.`},
			{`"Do not look down. Look at me," said {x}.`,
				`{h} looked at {xx}, held {h.his} breath and let go. Whoosh!`},
		},
		result: []string{`"Again!" {called} {h}.`, `At the bottom, {h} laughed out loud.`,
			`{h} went down the slide ten more times.`},
	},
	{
		what: "the old bridge",
		trouble: []string{`{Day}, {h} came to the old bridge over the river. It [shook in the wind|was high and narrow].`,
			`{Day}, everyone wanted to go to the other side of the river, over the old bridge. {h} stood still.`},
		help: []help{
			{`"Hold on to me and take small steps," said {x}.`,
				`Step by step, {h} went over the bridge[|. {h.His} legs shook, but {h.he} did not stop].`},
			{`"The bridge has been here for a hundred years," said {x}. "It can carry you too."`,
				`{h} put one foot on the bridge, and then the other. The bridge did not move.`},
			{`"Look at the other side and not at the water," said {x}.`,
				`{h} looked at the other side. One step, two steps, three steps.`},
		},
		result: []string{`On the other side, {h} jumped for joy.`, `"I did it!" {called} {h}.`,
			`{h} looked back. The bridge was not so long after all.`},
	},
	{
		what: "singing in front of others",
		trouble: []string{`{Day}, there was a big party, and {h} was asked to sing. {h.He} felt sick.`,
			`{h} had a lovely voice, but {h.he} only sang when nobody was there.`},
		help: []help{
			{`"Sing for me," said {x}. "Do not think of the others."`,
				`{h} looked at {xx} and began to sing, first softly and then louder.`},
			{`"I am scared too, every time," said {x}. "It goes away after the first line."`,
				`{h} sang the first line. {h.His} voice shook a little. But the next line was easy.`},
			{`"Close your eyes and think of something nice," said {x}.`,
				`{h} closed {h.his} eyes and thought of [the sea|a warm summer day|the stars]. Then {h.he} sang.`},
		},
		result: []string{`When the song was over, everyone clapped.`, `"What a beautiful song!" they all {called}.`,
			`When {h} looked up, everyone was smiling.`},
	},
	{
		what: "dogs", kids: true,
		trouble: []string{`{Day}, a big brown dog ran up the road. It barked, and {h} ran away.`,
			`{Day}, {h} saw a big dog in the park and hid behind a tree.`},
		help: []help{
			{`"He only wants to play," said {x}. "See how his tail moves?"`,
				`{h} took one step, and then one more. The dog sat down and waited.`},
			{`"Let him smell your hand first," said {x}. "That is how dogs say hello."`,
				`Slowly, {h} put out {h.his} hand. The dog licked it.`},
			{`{X} petted the dog. "His fur is very soft," {x.he} said.`, `{h} touched the soft fur with one finger.`},
		},
		result: []string{`{h} laughed. "I like him," {h.he} said.`, `Soon {h} and the dog were running over the grass.`,
			`"Good dog," said {h}, and the dog barked happily.`},
	},
	{
		what: "the first day of school",
		trouble: []string{`{Day}, it was time to go to school for the first time. {h.His} tummy hurt.`,
			`{h} did not know anyone at the new school. {h.He} stood at the gate and did not want to go in.`},
		help: []help{
			{`"Everyone is new today," said {x}. "You will find a friend before lunch."`,
				`{h} went in and sat down. "Hello," said the one next to {h.him}. "I am new too."`},
			{`"I will walk with you to the door," said {x}. "The rest is easy."`,
				`{h} took a deep breath and opened the door. It was bright inside, and there was music.`},
			{`"I was scared too, once," said {x}. "And then it was fun."`,
				`{h} went in and said hello with a small voice, and everyone said hello back.`},
		},
		result: []string{`When school was over, {h} did not want to go home.`, `They painted, sang and played all day.`,
			`"Can I go again tomorrow?" asked {h}.`},
	},
}
