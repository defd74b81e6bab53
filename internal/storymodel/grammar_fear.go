package storymodel

// afraid: the hero is afraid of something, gets help, dares a small step.
func afraid(s *teller) {
	f := pick(s, fears)
	for f.kids && !s.kids || !s.suits(f.suits) || s.loves("singing") && f.what == "singing in front of others" {
		f = pick(s, fears)
	}
	if f.weather != nil {
		s.day(f.weather...)
	}
	s.put("fear", f.what)
	s.put("topic", "the [brave|brave little] {h.kind}")
	s.opening()
	s.say(
		`But {h} was afraid of {fear}.`, `There was one thing that {h} did not like: {h.he} was afraid of {fear}.`,
		`{h} was not afraid of many things, but {h.he} was afraid of {fear}.`, `{h} was very scared of {fear}.`,
	)
	s.say(f.trouble...)
	s.say(
		`"I am [scared|afraid|so scared]," said {h} {sadly}.`, `"I can't do it," {h} [said|cried].`,
		`{h} was shaking. "I do not like this," {h.he} said.`,
		`{h} felt small and scared.`, `"Help!" {called} {h}.`,
	)
	key := "m"
	s.parentIn = true
	s.put("x", "{h.his} {m}")
	s.put("xx", "{h.his} {m}")
	if !f.night && s.chance(50) {
		key = "f"
		s.friendIn = true
		s.put("x", "{f}")
		s.put("xx", "{f}")
		s.say(`{h.His} friend {f.full} [saw|heard] it and came closer.`,
			`{Then}, {h.his} friend {f.full} came over. "What is wrong?" {f.he} asked.`,
			`{F.full}, {h.his} friend, did not laugh at {h.him}.`)
	} else {
		s.say(`{h.His} {m} came and put an arm around {h.him}.`, `{h.His} {m} heard it and came [at once|right away].`,
			`{h.His} {m} sat down beside {h.him}.`)
	}
	s.put("x.he", "{"+key+".he}")
	h := pick(s, f.help)
	s.say(h.advice)
	s.maybe(35, `{h} was not sure.`, `"Really?" asked {h}.`,
		`"Will you stay with me?" asked {h}. "Of course," said {x}.`, `{h} nodded, but {h.his} heart beat fast.`)
	s.say(h.step)
	s.maybe(70, f.result...)
	s.maybe(50, `"You were so brave!" said {x}.`, `"I knew you could do it," said {x}.`,
		`{X} was very proud of {h.him}.`, `{h} gave {xx} a big hug.`)
	if s.chance(50) {
		s.lesson("being brave does not mean that you are never afraid", "a small step is enough to begin",
			"some things are only scary at first",
			"it helps to have someone by your side")
	}
	if f.night {
		s.goodNight()
		return
	}
	s.closing()
}

// goodNight ends a story that plays at bedtime.
func (s *teller) goodNight() {
	s.say(
		`From then on, {h} was not so scared at night.`, `{h} slept well that night, and every night after it.`,
		`{h.His} {m} kissed {h.him} good night and {smiled}.`,
		`"Good night, {h}," said {h.his} {m}.`, `{Next day}, {h} told {f.full} about it, and they laughed together.`,
		`{h} dreamed of {hobby} until the sun came up.`,
	)
}

// noise is a strange sound and what makes it.
var noises = []struct{ sound, where, cause, after string }{
	{"tap, tap, tap", "at the window", "a branch that moved in the wind",
		"[{h.His} {m} cut the branch|They waved at the branch]."},
	{"scratch, scratch", "at the door", "a little kitten that was cold and wet",
		"{h} gave the kitten some [warm milk|milk and a soft bed]."},
	{"drip, drip, drip", "in the kitchen", "a drop of water that fell into a bowl",
		"{h} put a [cloth|spoon] under it, and it was quiet."},
	{"hoo, hoo", "in the tree", "a young owl that could not sleep", "\"Good night, owl,\" said {h}."},
	{"bump, bump", "on the roof", "some apples that fell from the tree",
		"{Next day}, they made [apple cake|apple pie|a sweet apple cake]."},
	{"rattle, rattle", "in the yard", "the old gate, which was open", "{h} closed the gate, and all was still."},
	{"crunch, crunch", "under the table", "a small mouse with a piece of bread",
		"\"You were hungry,\" said {h} and left it some more bread."},
	{"squeak, squeak", "on the stairs", "the wind, which moved a door", "{h} shut the door, and the noise was gone."},
	{"ring, ring", "in the garden", "a little bell on a lost goat",
		"{Next day}, they brought the goat back to the farm."},
	{"splash, splash", "behind the house", "a fat frog in a bucket of water",
		"The frog looked at them and jumped away."},
}

// nightNoise: the hero hears something at night, imagines a monster, looks, and laughs.
func nightNoise(s *teller) {
	n := pick(s, noises)
	s.put("sound", n.sound)
	s.put("where", n.where)
	s.put("cause", n.cause)
	s.put("topic", "the strange noise")
	s.opening()
	s.say(
		`One night, {h} woke up. {Sound}! There was a noise {where}.`,
		`{h} was almost asleep when {h.he} heard a noise {where}. {Sound}!`,
		`It was late, and everyone was asleep. Then {h} heard something. {Sound}! It was {where}.`,
		`One [dark|cold|windy] night, {h} could not sleep. {Sound}! What was that {where}?`,
	)
	s.say(
		`"Is it a monster?" {h} thought and pulled the blanket over {h.his} head.`,
		`{h} thought of [a giant with big teeth|a monster with green eyes|a thief with a big bag].`,
		`{h.His} heart began to beat fast. Maybe it was [a ghost|a wolf|a monster]!`,
		`{h} held {h.his} pillow tight and did not move.`,
	)
	s.say(`{Sound}! There it was again.`, `The noise did not stop. {Sound}!`,
		`Then it was quiet. And then it came again. {Sound}!`)
	if s.chance(50) {
		s.say(`{h} ran to {h.his} {m}. "There is something {where}!" {h.he} [said|cried].`,
			`"{M}!" {called} {h}. "Something is {where}!"`)
		s.say(`"Let us look together," said {h.his} {m} and took a [candle|lamp].`,
			`{h.His} {m} took {h.his} {hand}. "We will see what it is," {m.he} said.`)
	} else {
		s.say(`But {h} was curious too. {h.He} took a [candle|lamp] and [went|walked] {carefully} to look.`,
			`"I want to know what it is," {h} thought. {h.He} got up and went on tiptoe.`,
			`{h} took a deep breath and got out of bed.`)
		s.maybe(50, `The floor was cold under {h.his} feet.`, `Step by step, {h.he} came closer.`,
			`{h.His} shadow was long on the wall.`)
	}
	s.say(`And what was it? It was only {cause}!`, `There was no monster. It was {cause}.`,
		`What {h} saw was {cause}. That was all!`,
		`And there, {where}, {h} saw {cause}.`)
	s.say(`{h} began to laugh. "So that was my monster!"`, `"Is that all?" {h} laughed.`,
		`{h} {smiled}. {h.He} was not afraid anymore.`)
	s.put("after", n.after)
	s.say(`{after}`)
	s.say(`{h} went back to bed and slept until morning.`, `Soon {h} was fast asleep.`,
		`Back in bed, {h} {smiled} and closed {h.his} eyes.`)
	if s.chance(60) {
		s.lesson("it is good to look before you are afraid", "most monsters are very small",
			"things look bigger in the dark")
	} else {
		s.maybe(30, `And when {h} heard the noise again, {h.he} only {smiled}.`)
		s.goodNight()
	}
}
