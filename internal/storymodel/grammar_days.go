package storymodel

// outing is a plan that needs dry weather, and what can be done inside instead.
var outings = []struct {
	plan, pack string
	inside     []string
	kids       bool
}{
	{"have a picnic", "bread, cheese and apples",
		[]string{"spread the blanket on the floor and ate under the table",
			"had the picnic on the floor, with a lamp for a sun"}, false},
	{"fly kites", "two kites and some string",
		[]string{"made tiny kites of paper and blew at them",
			"hung the kites from the wall and told stories about them"}, false},
	{"go to the beach", "towels and a red bucket",
		[]string{"filled a big bowl with water and sailed paper boats",
			"put towels on the floor and played that the rug was the sea"}, true},
	{"play in the meadow", "a ball and a rope",
		[]string{"built a cave of chairs and blankets",
			"jumped from pillow to pillow, as if they were stones in a river"}, false},
	{"sleep in a tent", "a tent and a lamp",
		[]string{"put the tent up in the middle of the room", "made a tent of chairs and blankets"}, false},
	{"walk up the hill", "warm socks and a map",
		[]string{"climbed up and down the stairs and said it was a mountain",
			"drew a map of the whole house and looked for gold"}, true},
	{"see the big boats", "a little flag and some nuts",
		[]string{"made a boat out of a box and sailed over the floor",
			"drew boats with big sails and hung them on the wall"}, false},
	{"pick berries", "two small baskets",
		[]string{"hid red buttons in every corner and picked them like berries",
			"made berry jam from the last jar and danced around the pot"}, false},
}

// rainyDay: the plan falls through, and something else turns out just as good.
func rainyDay(s *teller) {
	o := pick(s, outings)
	for o.kids && !s.kids {
		o = pick(s, outings)
	}
	s.put("plan", o.plan)
	s.put("pack", o.pack)
	s.put("inside", pick(s, o.inside))
	s.put("topic", "the rainy day")
	s.parentIn = true
	s.opening()
	if s.chance(60) {
		s.meetFriend()
	} else {
		s.friendIn = true
		s.say(`{h} and {h.his} friend {f.full} [were always together|liked to do things together].`)
	}
	s.say(
		`Today was the day. {h} and {f} wanted to {plan}.`, `For a whole week, {h} and {f} had been waiting to {plan}.`,
		`"Tomorrow we will {plan}!" said {h}. {f} could hardly wait.`,
		`{h} and {f} had a plan. They wanted to {plan}.`,
	)
	s.say(`They packed {pack}.`, `{h} packed {pack}, and then {f} came.`, `{h.His} {m} helped them to pack {pack}.`)
	s.say(
		`But when they opened the door, it began to rain.`, `Then big gray clouds came, and it rained and rained.`,
		`But suddenly, the sky turned dark. Drip, drop! It was raining.`,
		`Just as they wanted to leave, they heard it. Splash, splash! Rain fell from the sky.`,
	)
	s.say(
		`{h} looked out of the window and was {sad}. "Now everything is spoiled," {h.he} said.`,
		`"Oh no!" {called} {h}. "Why today?"`, `"It is not fair," said {f}. {h} did not say anything.`,
		`They sat by the window and waited, but the rain did not stop.`,
	)
	s.say(
		`Then {f} had an idea. "We can do it inside!"`,
		`{h.His} {m} {smiled}. "Who says that you need the sun for it?" {m.he} asked.`,
		`Then {h} looked around the room. "I have an idea!" {h.he} said.`,
		`"Let us make our own sunshine," said {h.his} {m}.`,
	)
	s.say(`So they {inside}.`, `They {inside}.`, `And so {h} and {f} {inside}.`)
	s.say(
		`They laughed until their tummies hurt.`, `It was so much fun that they forgot the rain.`,
		`{h.His} {m} brought [hot cocoa|warm tea|sweet cakes], and they all sat down together.`,
		`"This is even better," said {f}.`,
	)
	s.maybe(60,
		`When the rain stopped, there was a rainbow in the sky.`,
		`In the evening, the sun came out, and they jumped in every puddle.`,
		`"I hope it rains tomorrow too," said {h}.`,
		`Outside, the rain was still singing on the roof.`,
	)
	if s.chance(45) {
		s.lesson("a rainy day can be a good day", "fun does not need the sun", "it is good to have a second plan",
			"a good friend makes every day bright")
	}
	s.closing()
}

// job is what somebody old cannot do alone.
var jobs = []struct{ problem, doing, done string }{
	{"had two heavy bags and could not carry them", "carried one bag, and then the other",
		"The bags were in the kitchen"},
	{"looked for a pair of glasses and could not see well", "looked in every corner and found them in the grass",
		"The glasses were found"},
	{"wanted to pick the apples, but the ladder was broken", "climbed from branch to branch and picked them all",
		"The basket was full"},
	{"had a garden full of leaves and a sore back", "swept the leaves into one big heap", "The garden was clean"},
	{"wanted to paint the fence, but it was so long", "took a brush and painted and painted",
		"The fence was white as snow"},
	{"had a cart that was stuck in the mud", "put flat stones under the wheel and pushed", "The cart was free"},
	{"could not find the cat", "called and looked and found it asleep in a box", "The cat was back home"},
	{"had a cold and could not go out for wood", "carried wood, one piece after another", "The fire was warm"},
	{"had a lot of plates to wash after a party", "washed and dried until every plate was clean",
		"The kitchen was bright and clean"},
	{"wanted to plant flowers but could not bend down", "dug small holes and put a flower into each of them",
		"The flowers stood in a row"},
}

// helping: on the way to play, the hero helps somebody.
func helping(s *teller) {
	j := pick(s, jobs)
	s.newHelper()
	s.takePlace(nil)
	s.put("problem", j.problem)
	s.put("work", j.doing)
	s.put("done", j.done)
	s.put("topic", "{k}")
	s.opening()
	s.maybe(50, `{h} wanted to help, but everyone said that {h.he} was too small.`,
		`{h} liked to do things for others.`)
	withFriend := s.chance(40)
	if withFriend {
		s.meetFriend()
		s.say(`{Day}, {h} and {f} were on their way {p.to}.`, `{Day}, {h} wanted to meet {f} {p.at}.`)
	} else {
		s.say(`{Day}, {h} was on the way {p.to}.`, `{Day}, {h} ran down the road to play {p.at}.`,
			`{Day}, {h} wanted to go {p.to}.`)
	}
	s.say(`On the way, {h} saw {k.first}, who {problem}.`, `There {h} met {k.first}, who {problem}.`,
		`By the road stood {k.first}, who {problem}.`)
	s.say(
		`{h} stopped. [The others were waiting|It was a good day to play], but {k} looked so tired.`,
		`{h} wanted to go on. But then {h.he} turned around.`, `"Can I help you?" asked {h}.`,
		`"Wait," said {h}. "I can do that for you."`,
	)
	s.maybe(50, `"You are very small," said {k}. "But I am strong," said {h}.`, `"That would be so kind," said {k}.`,
		`"It will take a long time," said {k}. "I have time," said {h}.`)
	s.say(`{h} {work}.`, `So {h} {work}.`, `First, {h} rolled up {h.his} sleeves. Then {h.he} {work}.`)
	s.maybe(50, `It was hard work, but {h} did not stop.`, `{h} was soon hot and tired, but {h.he} sang a song.`,
		`{K} told funny stories, and so the time went by.`)
	s.say(`{done} at last.`, `{later}, it was done. {done}!`, `{done}, and {k} clapped.`)
	s.say(
		`"Thank you," said {k}. "I could not have done it without you."`, `"You have a good heart," said {k}.`,
		`{K} {smiled}. "Now I will do something for you," {k.he} said.`,
		`"What a good helper you are!" said {k}.`,
	)
	s.say(
		`{K} gave {h} [a jar of honey|a big red apple|a piece of cake|some warm cookies].`,
		`They sat down together and had [tea and cake|bread and honey|hot soup].`,
		`{K} showed {h} [an old book with pictures|a box full of shiny stones|how to make a flute from wood].`,
		`And {k} told {h} a story from long ago.`,
	)
	if withFriend {
		s.maybe(60, `{h} kept half of everything for {f}.`, `Then {h} ran to {f} and told {f.him} about it.`)
	}
	s.maybe(60, `{h} felt warm inside.`, `"That was better than playing," {h} thought.`,
		`After that, {h} went to see {k} every week.`)
	if s.chance(45) {
		s.lesson("helping others makes you happy", "even someone small can be a big help",
			"a kind deed never goes lost", "it is good to stop and help")
	}
	s.closing()
}

// race: the hero wants to win, and finds something better.
func race(s *teller) {
	s.put("goal", pick(s, []string{"the old oak", "the big rock", "the red gate", "the bridge", "the well",
		"the end of the meadow"}))
	s.put("prize", s.text("[a golden medal|a big honey cake|a blue ribbon|a silver cup|a basket of cherries]"))
	s.put("topic", "the [big|great] race")
	s.opening()
	s.meetFriend()
	s.say(
		`{Day}, there was a big race to {goal}.`,
		`{Day}, everyone came to see the race. The first one at {goal} would get {prize}.`,
		`"Let us race to {goal}!" said {h} one {weather} day. The winner would get {prize}.`,
	)
	s.maybe(35, `{scenery}`)
	s.put("third", s.name(s.kids, s.friend.she))
	switch s.intn(3) {
	case 0: // the hero stops for the friend who has fallen
		s.say(`{h} wanted to win more than anything.`, `{h} had practiced every day.`,
			`"I will be the first," said {h}.`)
		s.say(`One, two, three, go! {h} ran as fast as {h.he} could.`, `"Go!" And off they ran. {h} was in front.`)
		s.say(`Then {h} heard a cry. {f} had fallen and hurt {f.his} leg.`,
			`{Then}, {f} fell over a root. "Ouch!" {f.he} cried.`)
		s.say(`{h} looked at {goal}. It was so close! But {h.he} turned around.`,
			`What should {h.he} do? {h} stopped and ran back.`, `{h} did not think twice. {h.He} went back to {f}.`)
		s.say(`"Lean on me," said {h}. Together, they walked to {goal}.`,
			`{h} helped {f} up, and they went on side by side.`,
			`{h} helped {f} up. "You could have won," said {f}. "I know," said {h}. "But you are my friend."`)
		s.say(`The others were faster. But everyone cheered for {h}.`, `They were the last ones, but everyone clapped.`,
			`They did not win, but {h.his} {m} was very proud.`)
		s.maybe(50, `{third}, who came in first, shared the prize with them.`,
			`{f} hugged {h}. "That was better than winning," {f.he} said.`, `{h} had no prize, but {h.he} was {glad}.`)
	case 1: // the hero brags and rests
		s.say(`"I am the fastest of all," said {h}. "You have no chance, {f}."`,
			`{h} was very fast and never stopped talking about it.`, `{h} laughed at {f}. "You are so slow!"`)
		s.say(`One, two, three, go! {h} was soon far ahead.`,
			`Off they went. {h} ran like the wind, and {f} came after {h.him}, step by step.`)
		s.say(`{h} looked back. "I have time," {h.he} thought and lay down in the [grass|shade].`,
			`On the way, {h} stopped to [eat some berries|look at a butterfly|take a nap].`)
		s.say(`But {f} did not stop. Step by step, {f.he} went on.`, `{f} did not run fast, but {f.he} never stopped.`)
		s.say(`When {h} looked up, {f} was already at {goal}!`,
			`{h} jumped up and ran, but it was too late. {f} had won.`)
		s.say(`{h} felt ashamed. "You ran well," {h.he} said. "I am sorry that I laughed at you."`,
			`"I was wrong," said {h}. "You are the better runner today."`,
			`{h} was angry at first. Then {h.he} {smiled} and said, "Well done, {f}."`)
		s.say(`"Shall we run together next time?" asked {f}.`, `{f} shared the prize with {h}.`,
			`"Thank you," said {f}. "Let us have some cake."`)
		if s.chance(50) {
			s.lesson("slow and steady is sometimes faster", "it is not nice to brag", "you must not stop too soon")
		}
	default: // both at once
		s.say(`Both of them wanted to win.`, `{h} was good at running, and so was {f}.`,
			`"I will win," said {h}. "No, I will," said {f}.`)
		s.say(`One, two, three, go! First {h} was in front, and then {f}.`,
			`They ran over the grass, over the stream and up the hill. Nobody was faster.`)
		s.say(`Then they came to a big puddle. {h} could jump over it, but {f} was afraid.`,
			`Then the path was blocked by a fallen tree. It was too heavy for one alone.`,
			`Then they saw a little bird that had fallen out of its nest. Both of them stopped.`)
		s.say(`"Let us do it together," said {h}. And they did.`,
			`"I will help you if you help me," said {f}. So they worked together.`)
		s.say(`They reached {goal} side by side, at the very same time.`,
			`Then they took a deep breath and walked to {goal} together.`)
		s.say(`"Who has won?" asked {third}. "We both have!" they said.`, `"I think we are both the winner," said {f}.`,
			`They each got half of the prize.`)
	}
	s.closing()
}
