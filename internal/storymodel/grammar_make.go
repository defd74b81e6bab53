package storymodel

// project is something to build out of parts.
type project struct {
	what  string
	kids  bool
	where []string
	parts string
	tries []try
}

// try says why it fell down, what x thinks of it, and how the next one holds.
type try struct{ fall, idea, proud string }

var projects = []project{
	{"castle", false, []string{"at the beach", "by the lake", "by the river"}, "wet sand and shells", []try{
		{`[A big wave came, and the castle was gone|The water came closer and closer. Splash! The castle fell down].`,
			`"We are too close to the water," said {x}. "Let us build it farther up."`,
			`[No wave could reach it|The new castle had three towers and a flag on top].`},
		{`[Splash! A wave ran over the castle, and one wall fell down|The next wave took half of the castle away].`,
			`"It needs a [high wall|deep ditch] around it," said {x}.`,
			`The next wave came, but the castle did not move.`},
		{`[When the sun shone on it, the sand got dry, and the castle fell apart|The sand was too dry, and the towers fell down].`,
			`"Dry sand does not hold," said {x}. "We need more water."`,
			`The new castle had [two|three|four] high towers.`}}},
	{"tower", true, []string{"on the floor", "on the rug", "in the kitchen"}, "blocks of wood", []try{
		{`The tower shook, and then it fell. Bump, bump, bump!`, `"The big blocks must be at the bottom," said {x}.`,
			`Soon the tower was as tall as {h}.`},
		{`When {h} put the last block on top, everything fell down.`, `"Make it wide first, and then high," said {x}.`,
			`This time, even the last block stayed on top.`}}},
	{"snowman", false, []string{"in the garden", "in front of the house", "on the hill"}, "a lot of snow", []try{
		{`The head was too heavy. It rolled off and broke.`, `"Make a small head and a big tummy," said {x}.`,
			`They gave him a carrot for a nose and [an old hat|a red scarf].`},
		{`The snow was too dry, and the snowman fell apart.`, `"A little water will make the snow stick," said {x}.`,
			`The snowman had two black stones for eyes and a big smile.`}}},
	{"little house", false, []string{"in the garden", "in the forest", "under an old tree"}, "sticks and leaves", []try{
		{`The wind blew, and the walls fell down.`, `"Put the long sticks into the ground first," said {x}.`,
			`The wind blew again, but the house did not move.`},
		{`It began to rain, and water came in everywhere.`, `"We need big leaves for the roof," said {x}.`,
			`It rained again, but it was dry and cozy inside.`},
		{`{h} went inside, and the roof fell on {h.his} head.`,
			`"Tie the sticks together with [grass|string]," said {x}.`, `It was small, but the roof was strong.`}}},
	{"boat", false, []string{"by the river", "by the lake"}, "wood and rope", []try{
		{`{h} put it on the water, and it sank at once.`,
			`"There is a hole in the middle," said {x}. "We must close it."`,
			`The boat floated on the water like a duck.`},
		{`The boat turned over, and {h} fell into the water. Splash!`,
			`"It must be wider, so that it does not turn over," said {x}.`,
			`They sailed all the way to the other side.`}}},
	{"bridge", false, []string{"over the stream", "over the little stream behind the house"}, "stones and wood", []try{
		{`The water was too fast and carried the wood away.`, `"The heavy stones must go first," said {x}.`,
			`Now everyone could cross the stream with dry feet.`},
		{`{h} took one step, and crack! The bridge broke.`,
			`"One piece of wood is too thin," said {x}. "Let us take three."`,
			`They walked over it, one after the other, and it held.`}}},
	{"swing", false, []string{"under the big tree", "in the garden"}, "a rope and a piece of wood", []try{
		{`{h} sat down, and the rope broke. Bump!`, `"This rope is too old," said {x}. "I have a better one."`,
			`Up and down went {h}, high into the air.`},
		{`The knot was too loose, and {h} fell into the grass.`, `"Let me show you how to make a good knot," said {x}.`,
			`They took turns, and the swing went higher and higher.`}}},
	{"house for the birds", false, []string{"in the garden", "behind the house"}, "wood and nails", []try{
		{`The door was too small, and no bird came.`, `"Birds like a round door," said {x}. "Make it a bit bigger."`,
			`[In the spring, two birds moved in|A few days later, a small blue bird looked out of the door].`},
		{`The house was crooked and fell from the tree.`, `"Let us hang it with two strong nails," said {x}.`,
			`The wind blew, but the house did not fall, and soon the birds came.`}}},
}

// building: the first try falls down, a second one with an idea holds.
func building(s *teller) {
	p := pick(s, projects)
	for p.kids && !s.kids {
		p = pick(s, projects)
	}
	s.put("what", p.what)
	s.put("what.a", article(p.what))
	s.put("where", pick(s, p.where))
	s.put("parts", p.parts)
	s.put("topic", "the "+s.text("[wonderful|great|big]")+" "+p.what)
	if p.what == "snowman" {
		s.day("cold", "snowy")
	}
	s.opening()
	withFriend := s.chance(60)
	if withFriend {
		s.meetFriend()
		s.put("x", "{f}")
		s.put("x.he", "{f.he}")
	} else {
		s.parentIn = true
		s.put("x", "{h.his} {m}")
		s.put("x.he", "{m.he}")
	}
	s.say(
		`{Day}, {h} wanted to build {what.a} {where}.`,
		`"Today I will build {what.a} {where}," said {h} one {weather} [day|morning].`,
		`{Day}, {h} had an idea. {h.He} would build {what.a} {where}.`,
		`{Day}, {h} saw a picture of {what.a} in a book. "I want to build one too," {h.he} said.`,
	)
	s.say(
		`{h.He} took {parts} and worked all morning.`, `{h.He} got {parts} and began {quickly}.`,
		`First, {h.he} looked for {parts}. Then {h.he} set to work.`,
		`{h.He} was in a hurry and just put {parts} together.`,
	)
	t := pick(s, p.tries)
	s.say(t.fall)
	s.say(
		`"Oh no!" {called} {h}. "All that work!"`, `{h} was {sad}. "I will never do it again," {h.he} said.`,
		`{h} kicked the ground. "It does not work!"`,
		`{h} sat down and [cried|did not say a word].`, `{h} was angry, but then {h.he} took a deep breath.`,
	)
	if withFriend {
		s.maybe(40, `{f} had seen it all.`, `{f} came by and looked at it.`)
	} else {
		s.say(`{h.His} {m} came to look.`, `{h.His} {m} had watched from [far away|the window|the path].`,
			`"Do not give up," said {h.his} {m}.`)
	}
	s.say(t.idea)
	s.say(
		`So they tried again, {carefully} this time.`, `They worked together until [noon|the evening|it was done].`,
		`{h} [nodded|thought about it] and started once more.`,
		`"Let us try again," said {h}. And they did.`,
	)
	s.maybe(40, `{x} held the pieces, and {h} put them in place.`, `It took a long time, but {h} did not stop.`,
		`Piece by piece, it grew.`)
	s.say(t.proud)
	s.say(
		`"We did it!" {called} {h}.`, `{h} was so proud of the {what}.`,
		`It was the [best|finest] {what} that {h} had ever seen.`, `"It is even better than before," said {h}.`,
	)
	if s.chance(50) {
		s.lesson("it is good to try again", "a good plan makes good work", "you can learn from what goes wrong",
			"work is easier with two")
	}
	s.closing()
}

// art is something to learn.
var arts = []struct {
	to, doing string
	kids      bool
	suits     func(skill) bool
	weather   []string // nil: any
	fail      []string
	hint      []string
	done      []string
}{
	{"ride a bike", "riding a bike", true, nil, nil, []string{`The bike shook, and {h} fell into the grass.`,
		`{h} rode two meters and fell over.`},
		[]string{`"Look ahead and not at your feet," said {x}.`,
			`"I will hold you from behind," said {x}. "Just keep going."`},
		[]string{`When {h} looked back, nobody was holding the bike. {h.He} was riding all alone!`,
			`{h} rode down the road, around the tree and back again.`}},
	{"whistle", "whistling", false, nil, nil, []string{`Only air came out.`, `It sounded like wind in an old pipe.`},
		[]string{`"Make your mouth round and small," said {x}.`,
			`"Do not blow so hard," said {x}. "Think of a little bird."`},
		[]string{`And then there it was, a small clear sound!`,
			`Suddenly, a real whistle came out, and a bird answered.`}},
	{"swim", "swimming", false, func(a skill) bool { return a&swims == 0 }, []string{"hot", "warm", "sunny"},
		[]string{`{h} splashed with arms and legs, but {h.he} went under.`,
			`Water came into {h.his} nose, and {h.he} had to cough.`},
		[]string{`"Lie on the water like a leaf," said {x}.`, `"Kick slowly, like a frog," said {x}.`},
		[]string{`{h} kicked and kicked, and {h.he} did not go under.`, `Soon {h} swam all the way to the big stone.`}},
	{"skate on the ice", "skating", false, nil, []string{"cold", "icy"},
		[]string{`{h.His} feet went left and right, and down {h.he} fell. Bump!`,
			`The ice was so smooth that {h} could not stand.`},
		[]string{`"Bend your knees a little," said {x}.`, `"Push with one foot, and then with the other," said {x}.`},
		[]string{`{h} went over the ice like the wind.`, `{h} made a big circle and did not fall once.`}},
	{"tie a bow", "tying a bow", true, nil, nil, []string{`The bow fell apart each time.`,
		`All {h} made was one big knot.`},
		[]string{`"Make two ears, like a rabbit," said {x}.`, `"Go around the tree and into the hole," said {x}.`},
		[]string{`{h} pulled, and there was a perfect bow.`, `This time, the bow stayed.`}},
	{"play the flute", "playing the flute", false, nil, nil, []string{`It squeaked so much that the birds flew away.`,
		`The flute made a terrible sound.`},
		[]string{`"Begin with one note," said {x}. "Then add another one."`,
			`"Blow softly, as if it were a feather," said {x}.`},
		[]string{`At last, {h} played a whole song, and everyone listened.`,
			`The notes came one after the other, clear and sweet.`}},
	{"catch a ball", "catching", false, nil, nil, []string{`The ball fell through {h.his} {hands}.`,
		`The ball hit {h.his} nose. Ouch!`},
		[]string{`"Keep your eyes on the ball," said {x}.`,
			`"Do not be afraid of it," said {x}. "Open your arms wide."`},
		[]string{`{h} reached out and caught the ball!`, `{h} caught the ball five times in a row.`}},
	{"bake bread", "baking bread", false, nil, nil, []string{`The bread was black and hard as a stone.`,
		`The bread came out flat, like a plate.`},
		[]string{`"The dough needs time to rest," said {x}.`, `"Do not make the oven too hot," said {x}.`},
		[]string{`The next bread was golden and smelled wonderful.`, `This time, the bread was soft and warm.`}},
	{"climb the big rock", "climbing", false, func(a skill) bool { return a&(climbs|flies) == 0 }, nil,
		[]string{`Halfway up, {h} slid down again.`,
			`{h} could not find a place for {h.his} feet.`},
		[]string{`"Look for the small holes in the rock," said {x}.`, `"Rest a little, and then go on," said {x}.`},
		[]string{`At last, {h} stood at the top and saw the whole valley.`, `{h} reached the top and waved.`}},
}

// learning: the hero fails at something, practices, and can do it.
func learning(s *teller) {
	a := pick(s, arts)
	for a.kids && !s.kids || !s.suits(a.suits) || s.loves(a.doing) || s.loves("baking") && a.to == "bake bread" {
		a = pick(s, arts)
	}
	if a.weather != nil {
		s.day(a.weather...)
	}
	s.parentIn = true
	s.put("art", a.to)
	s.put("doing", a.doing)
	s.put("topic", "[the day when {h.he} learned to {art}|{doing}]")
	s.opening()
	key := "m"
	s.put("x", "{h.his} {m}")
	switch {
	case s.chance(40):
		key = "f"
		s.meetFriend()
		s.put("x", "{f}")
	case s.chance(40):
		key = "k"
		s.newHelper()
		s.put("x", "{k}")
		s.say(`Not far away lived {k.first}.`, `{h} often went to see {k.first}.`)
	}
	s.put("x.he", "{"+key+".he}")
	s.say(
		`There was one thing that {h} wanted to learn: {h.he} wanted to {art}.`,
		`{h} wanted to {art}, but {h.he} did not know how.`, `All the others could {art}. Only {h} could not.`,
		`{Day}, {h} saw how {x} could {art}. "I want to do that too," {h.he} said.`,
	)
	s.say(`{h} tried.`, `{Day}, {h.he} tried it for the first time.`, `"It can't be so hard," {h} thought.`,
		`{h} tried again and again.`)
	s.say(a.fail...)
	s.say(
		`"I will never learn it," said {h} {sadly}.`, `{h} wanted to give up.`, `"It is too hard!" {called} {h}.`,
		`{h} was {sad}, and {h.his} face was red.`,
		`Some of the others laughed, and {h} ran away.`,
	)
	s.say(
		`{X} sat down next to {h.him}. "It took me a long time too," {x.he} said.`,
		`"Nobody can do it on the first day," said {x}.`,
		`{X} {smiled}. "Shall I help you?" {x.he} asked.`, `But {x} did not laugh.`,
	)
	s.say(a.hint...)
	s.say(
		`So {h} tried again, every day, a little longer.`, `{h} practiced in the morning and in the evening.`,
		`The second time was better. The third time was even better.`,
		`{h} tried once more. And once more. And once more.`, `For a whole week, {h} practiced {doing}.`,
	)
	s.say(a.done...)
	s.say(
		`"I can do it!" {called} {h}.`, `{X} clapped. "I knew it," {x.he} said.`,
		`{h} was {glad}. "Did you see that?" {h.he} {called}.`, `Now nobody laughed. They all [clapped|cheered].`,
	)
	if s.chance(55) {
		s.lesson("it takes time to learn something new", "everyone falls before they can stand",
			"you must not give up too soon", "a little every day is enough")
	}
	s.closing()
}
