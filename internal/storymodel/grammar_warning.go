package storymodel

// ban is a rule, why it tempts, and what comes of breaking it.
type ban struct {
	rule    string // after "Do not"
	why     string
	kids    bool
	suits   func(skill) bool
	weather []string // nil: any
	tempt   []string
	trouble []string
	rescue  []string // one for each trouble
	after   string   // what the hero does from then on
}

var bans = []ban{
	{"go into the deep forest", "you could get lost", false, nil, nil,
		[]string{`But {h} saw a beautiful butterfly and ran after it, deeper and deeper into the forest.`,
			`But there were such sweet berries between the trees. {h} went on and on.`},
		[]string{`When {h} looked around, all the trees looked the same. {h.He} was lost.`,
			`Then it got dark, and {h} did not know the way home.`},
		[]string{`{h} sat down and called. At last, {h.he} saw a light. It was {h.his} {m}!`,
			`{h} heard {h.his} {m} calling and ran to the voice.`},
		"stayed on the path"},
	{"touch the hot pot", "you could burn yourself", true, nil, nil,
		[]string{`But the soup smelled so good. {h} put out {h.his} hand.`, `{h} only wanted to look into the pot.`},
		[]string{`"Ouch!" {called} {h}. {h.His} finger was red.`, `The pot was so hot! {h.His} finger hurt very much.`},
		[]string{`{h.His} {m} held the finger under cold water until it felt better.`,
			`{h.His} {m} came running and put something cool on it.`},
		"asked first"},
	{"climb the old wall", "the stones are loose", false, func(a skill) bool { return a&(climbs|flies) == 0 }, nil,
		[]string{`But from the wall, one could see the whole village. {h} climbed up.`,
			`"I am careful," {h} thought and climbed up.`},
		[]string{`A stone moved, and {h} fell into the bushes. It hurt a lot.`,
			`At the top, the stones began to move. {h} could not go up or down.`},
		[]string{`{h.His} {m} heard the cry and carried {h.him} home.`,
			`{h.His} {m} came with a ladder and helped {h.him}.`},
		"played on the grass"},
	{"eat all the cake", "your tummy will hurt", false, nil, nil,
		[]string{`But the cake was so sweet. {h} took one piece, and another one, and another one.`,
			`When nobody was looking, {h} ate and ate until the plate was empty.`},
		[]string{`That night, {h.his} tummy hurt, and {h.he} could not sleep.`,
			`Soon {h} felt very sick and had to lie down.`},
		[]string{`{h.His} {m} made some tea and sat beside {h.him} all night.`,
			`{h.His} {m} brought {h.him} warm tea and a soft blanket.`},
		"took only one piece"},
	{"open the gate", "the goats will run away", false, nil, nil,
		[]string{`But {h} wanted to pet the smallest goat. {h.He} opened the gate only a little.`,
			`{h} forgot it and left the gate open.`},
		[]string{`Whoosh! All the goats ran out and ate the flowers.`,
			`The goats ran down the road, and {h} could not catch them.`},
		[]string{`{h.His} {m} and all the neighbors helped to bring the goats back.`,
			`{h.His} {m} took a bag of corn, and one by one the goats came back.`},
		"always closed the gate"},
	{"walk on the thin ice", "it could break", false, nil, []string{"cold", "icy"},
		[]string{`But the ice looked so smooth and strong. {h} took one step, and then another.`,
			`The others said, "Come on, it is fun!" So {h} went out on the ice.`},
		[]string{`Crack! The ice broke, and {h} fell into the cold water.`,
			`Crack! The ice broke, and {h} could not get out of the cold water.`},
		[]string{`{h.His} {m} held out a long stick and pulled {h.him} out.`,
			`{f.Full} ran for help, and {h.his} {m} came with a rope.`},
		"waited until the ice was thick"},
	{"go out without a coat", "it is very cold", true, nil, []string{"cold", "snowy"},
		[]string{`But {h} did not want to wait. {h.He} ran out into the snow.`,
			`"I am not cold," said {h} and ran out.`},
		[]string{`Soon {h} was shaking, and {h.his} nose was red.`,
			`The next day, {h} had a bad cold and had to stay in bed.`},
		[]string{`{h.His} {m} took {h.him} inside and put {h.him} under a thick blanket.`,
			`{h.His} {m} brought {h.him} hot [tea|soup] and sat by the bed.`},
		"put on a coat when it was cold"},
	{"feed the big goose", "it can bite", true, nil, nil,
		[]string{`But {h} felt sorry for the goose and held out a piece of bread.`,
			`"It looks nice," {h} thought and went closer.`},
		[]string{`Snap! The goose bit {h.his} finger and ran after {h.him}.`,
			`The goose was angry. It ran after {h} all around the pond.`},
		[]string{`{h.His} {m} opened an umbrella, and the goose ran away.`,
			`{h.His} {m} picked {h.him} up and carried {h.him} home.`},
		"watched the goose from far away"},
	{"swim past the big stone", "the water is too fast there", false, func(a skill) bool { return a&flies == 0 },
		[]string{"hot", "warm", "sunny"},
		[]string{`But {h} saw something shiny in the water and swam farther and farther.`,
			`"I am a good swimmer," {h} thought.`},
		[]string{`The water took {h} along, faster and faster. "Help!" {h.he} {called}.`,
			`Suddenly, {h} could not get back. The water was too strong.`},
		[]string{`{h} held on to a branch, and {h.his} {m} pulled {h.him} out.`,
			`{h.His} {m} jumped in and brought {h.him} back.`},
		"swam only where it was safe"},
	{"talk to the bees", "they do not like it", false, nil, nil,
		[]string{`But {h} wanted some honey. {h.He} put a {hand} into the hive.`,
			`{h} went up to the hive and knocked on it.`},
		[]string{`Bzzz! The bees came out and flew after {h}. {h.He} ran and ran.`,
			`Ouch! One bee stung {h} on the nose.`},
		[]string{`{h} jumped into the pond, and {h.his} {m} pulled {h.him} out.`,
			`{h.His} {m} put something cool on the nose.`},
		"let the bees work in peace"},
}

// warning: the hero does what was forbidden, gets into trouble and is helped out.
func warning(s *teller) {
	b := pick(s, bans)
	for b.kids && !s.kids || !s.suits(b.suits) {
		b = pick(s, bans)
	}
	if b.weather != nil {
		s.day(b.weather...)
	}
	s.parentIn = true
	s.put("rule", b.rule)
	s.put("why", b.why)
	s.put("after", b.after)
	s.put("topic", "[what had happened|the long day]")
	s.opening()
	s.say(
		`"Do not {rule}," {h.his} {m} always said. "{Why}."`, `{h.His} {m} had one rule: "Do not {rule}!"`,
		`"Please do not {rule}, because {why}," said {h.his} {m}.`,
		`Every day, {h.his} {m} told {h.him}, "Do not {rule}. {Why}."`,
	)
	s.maybe(60, `"[Yes|All right], {M}," said {h}.`, `{h} nodded, but {h.he} did not really listen.`,
		`"I know, I know," said {h}.`)
	s.say(`{Day}, {h} was alone.`, `{Day}, {h.his} {m} was busy.`, `{Day}, {h} forgot what {h.his} {m} had said.`,
		`{Day}, {h} was bored.`)
	s.say(b.tempt...)
	i := s.intn(len(b.trouble))
	s.say(b.trouble[i])
	s.say(
		`{h} was very scared. "I should have listened," {h.he} thought.`, `"Oh, why did I not listen?" said {h}.`,
		`{h} began to cry.`, `Now {h} remembered the words of {h.his} {m}.`,
		`{h} wanted to go back in time, but that was not possible.`,
	)
	s.say(b.rescue[i])
	s.say(
		`"I am sorry, {M}," said {h}. "I did not listen."`, `{h} hugged {h.his} {m}. "I am so sorry," {h.he} said.`,
		`"I will never do that again," said {h}.`, `{h} looked at the ground. "You were right, {M}," {h.he} said.`,
	)
	s.say(
		`"I am glad that you are safe," said {h.his} {m}.`,
		`{h.His} {m} was not angry. {M.he} only held {h.him} tight.`,
		`"I told you because I love you," said {h.his} {m}.`,
		`{h.His} {m} kissed {h.him}. "We all make mistakes," {m.he} said.`,
	)
	s.say(`From that day on, {h} {after}.`, `After that, {h} always listened and {after}.`,
		`And from then on, {h} {after}.`)
	if s.chance(40) {
		s.lesson("rules are there for a reason", "it is wise to listen", "it is better to ask first")
	}
	s.closing()
}
