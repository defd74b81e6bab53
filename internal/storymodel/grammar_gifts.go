package storymodel

var plants = []struct{ seed, plant, fruit, gift string }{
	{"pumpkin seed", "pumpkin", "a big orange pumpkin", "pumpkin soup"},
	{"sunflower seed", "sunflower", "a flower as tall as a house", "some sunflower seeds"},
	{"bean seed", "bean plant", "long green beans", "bean soup"},
	{"strawberry seed", "strawberry plant", "sweet red berries", "strawberry cake"},
	{"carrot seed", "carrot", "a long orange carrot", "carrot cake"},
	{"apple seed", "apple tree", "a little tree with one red apple", "a piece of the apple"},
	{"rose seed", "rose", "a lovely red rose", "sweet rose tea"},
	{"tomato seed", "tomato plant", "round red tomatoes", "tomato soup"},
	{"melon seed", "melon", "a big green melon", "a piece of sweet melon"},
	{"blueberry seed", "blueberry bush", "small blue berries", "blueberry pie"},
}

// garden: a seed needs care and above all time.
func garden(s *teller) {
	p := pick(s, plants)
	s.put("seed.a", article(p.seed))
	s.put("plant", p.plant)
	s.put("fruit", p.fruit)
	s.put("gift", p.gift)
	s.put("topic", "the [little|brave little] "+p.plant)
	s.parentIn = true
	s.opening()
	if s.friendIn = s.chance(25); s.friendIn {
		s.say(`{Day}, {h} got {seed.a} from {f.full}.`, `{Day}, {h.his} friend {f.full} gave {h.him} {seed.a}.`)
	} else {
		s.say(`{Day}, {h.his} {m} gave {h.him} {seed.a}.`, `{Day}, {h} found {seed.a} in an old box.`,
			`In the spring, {h} wanted to have a garden. {h.His} {m} gave {h.him} {seed.a}.`)
	}
	s.say(
		`{h} dug a hole, put it in and gave it some water.`,
		`{h} planted it in the [sun|garden|soft brown earth] and [watered it|gave it water].`,
		`{h} and {h.his} {m} planted it by the [fence|wall|gate].`,
	)
	s.say(
		`{Next day}, {h} ran out to look. Nothing had happened.`, `{h} sat down and waited. But nothing came up.`,
		`{h} looked at the earth every hour. It was still brown and empty.`,
		`"Is it ready now?" asked {h} the next day. But there was nothing to see.`,
	)
	s.say(
		`"Why does it take so long?" asked {h}.`, `{h} was {sad}. "It is not growing," {h.he} said.`,
		`{h} wanted to dig it up to see what was wrong.`, `"Maybe it does not like me," {h} thought.`,
	)
	s.say(
		`"You must wait," said {h.his} {m}. "Good things take time."`,
		`"It is busy under the ground," said {h.his} {m}. "First, it needs to make roots."`,
		`{h.His} {m} {smiled}. "Give it water, sun and time," {m.he} said.`,
	)
	s.say(
		`So every [day|morning], {h} [gave it water|watered it] and [sang|talked] to it.`,
		`{h} gave it water every day and pulled out the weeds.`,
		`{h} waited and waited. It rained, and then the sun shone.`,
	)
	s.say(
		`One [day|morning], a tiny green leaf came out of the earth.`,
		`Then, after many days, there was something green.`,
		`After a week, {h} saw two small leaves. "It is alive!" {h.he} {called}.`,
	)
	if s.chance(55) {
		s.put("pest", pick(s, []string{"a hungry deer", "a big black bird", "a fat green worm", "a little goat"}))
		switch s.intn(3) {
		case 0:
			s.say(`But then {pest} came and wanted to eat it. {h} [built a small fence|put some sticks] around it.`,
				`One day, {pest} looked at the plant. "Not this one!" {called} {h} and gave it [some grass|an old apple] to eat.`)
		case 1:
			s.say(`Then a storm came. {h} ran out and tied the plant to a stick.`,
				`One night, it was very cold. {h} put a warm cloth over the plant.`)
		default:
			s.say(`Then it did not rain for many days. {h} carried water from the [well|stream], again and again.`,
				`The summer was hot and dry, but {h} never forgot the water.`)
		}
	}
	s.say(`The plant grew and grew.`, `It grew a little every day.`,
		`Soon it was as high as {h.his} knees, and then as high as {h.his} nose.`)
	s.say(`At the end of the summer, {h} found {fruit}!`, `And one day, {h} saw {fruit}!`, `At last, {h} had {fruit}.`)
	if s.friendIn {
		s.say(`{h} called {f} and {h.his} {m}, and they all had {gift}.`, `{h} asked {f} to come, and they had {gift}.`,
			`{f} came to see it, and {h} gave {f} {gift}.`)
	} else {
		s.say(`{h} gave everyone {gift}.`, `{h} and {h.his} {m} had {gift} that day.`,
			`{h} shared it with all the neighbors. They had {gift}.`)
	}
	s.maybe(45, `"It was worth the wait," said {h}.`, `"You took good care of it," said {h.his} {m}.`,
		`It was the best thing that {h} had ever [tasted|seen|had].`)
	if s.chance(50) {
		s.lesson("good things take time", "little things grow when you care for them", "it is good to be patient")
	}
	s.closing()
}

var gifts = []struct{ what, from, trouble, fix, joy string }{
	{"card", "paper and paint", "the paint fell over and made a big spot on the card",
		"{h} turned the spot into a yellow sun", "put it on the wall"},
	{"necklace", "shells and string", "the string broke, and the shells rolled everywhere",
		"{h} picked them up, one by one, and took a stronger string", "put it on at once"},
	{"cake", "flour, eggs and honey", "the cake came out flat and a bit burned", "{h} put berries and cream on top",
		"ate two big pieces"},
	{"picture", "paint and a big piece of paper", "the wind blew the picture into the mud",
		"{h} started again, and the second one was even better", "hung it over the bed"},
	{"crown", "flowers and grass", "the flowers hung their heads", "{h} put them into water until they stood up again",
		"wore it all day"},
	{"song", "words that came from the heart", "{h} forgot the last line", "{h} made up a new line that was even nicer",
		"wanted to hear it again and again"},
	{"bag", "cloth and thread", "one side was longer than the other", "{h} sewed a red button on the short side",
		"took it everywhere"},
	{"wooden bird", "wood and paint", "one wing broke off",
		"{h} glued it on, and now the bird looked as if it could fly", "put it by the window"},
	{"scarf", "soft wool", "{h} saw a big hole in the middle", "{h} closed the hole with a little wool flower",
		"wore it even in the house"},
	{"box", "wood and shells", "the lid did not fit", "{h} worked on it until it closed with a click",
		"kept all dear things in it"},
}

// present: the hero has no money, makes something, and that is worth more.
func present(s *teller) {
	g := pick(s, gifts)
	s.put("gift", g.what)
	s.put("gift.a", article(g.what))
	s.put("from", g.from)
	s.put("trouble", g.trouble)
	s.put("fix", g.fix)
	s.put("joy", g.joy)
	s.put("topic", "the "+g.what)
	s.opening()
	key := "m"
	s.parentIn = true
	s.put("x", "{h.his} {m}")
	s.put("y", "{h.his} {m}")
	s.put("y.s", "{h.his} {m}'s")
	if s.chance(45) {
		key = "f"
		s.meetFriend()
		s.put("x", "{f}")
		s.put("y", "{f}")
		s.put("y.s", "{f}'s")
	}
	s.put("x.he", "{"+key+".he}")
	s.put("x.his", "{"+key+".his}")
	s.put("x.him", "{"+key+".him}")
	s.say(
		`The next day was the birthday of {y}.`, `Soon it would be {y.s} birthday.`,
		`{Day}, {h} remembered that tomorrow was {y.s} birthday.`,
		`{X} had been sick for a week, and {h} wanted to bring {x.him} something.`,
	)
	s.say(
		`{h} wanted to give {x.him} something special, but {h.he} had no money.`,
		`"What can I give {x.him}?" {h} thought. {h.He} had only one coin.`,
		`{h} looked in the shops, but everything cost too much.`,
		`{h} thought and thought. What would make {x.him} happy?`,
	)
	if s.chance(40) {
		s.newHelper()
		s.say(`{h.He} asked {k.first} for help. "Make something yourself," said {k}.`,
			`"What do you do best?" asked {k.first}, who lived close by. "Start with that."`)
	}
	s.say(`Then {h} had an idea. {h.He} would make {gift.a}!`, `"I know! I will make {gift.a}," {h.he} said.`,
		`So {h} decided to make {gift.a}.`)
	s.say(
		`{h.He} took {from} and worked [all afternoon|in secret|until it was dark].`,
		`{h.He} needed {from}. It was not easy, but it was fun.`, `With {from}, {h.he} sat down and began.`,
	)
	if s.chance(75) {
		s.say(`But then {trouble}!`, `But {trouble}.`, `But when {h} was almost done, {trouble}.`)
		s.maybe(55, `"Oh no," said {h}. "Now it is too late."`, `{h} almost cried.`, `{h} wanted to throw it away.`,
			`For a moment, {h} did not know what to do.`)
		s.say(`But {fix}.`, `Then {fix}.`, `{h} thought for a moment. Then {fix}.`)
	}
	s.say(
		`{Next day}, {h} gave {x} the {gift}. "I made it for you," {h.he} said.`,
		`When the time came, {h} held out the {gift} with a red face.`,
		`{Next day}, {h} went to {x} with the {gift}. {h.His} heart beat fast.`,
	)
	s.say(
		`{X} had tears in {x.his} eyes. "[It is beautiful|It is perfect]," {x.he} said.`,
		`{X} {smiled} from ear to ear. "You made this for me?"`,
		`"This is the best present of all," said {x}.`, `{X} hugged {h} and did not let go for a long time.`,
	)
	s.maybe(60, `{X} {joy}.`)
	if s.chance(50) {
		s.lesson("the best presents come from the heart", "you do not need money to make someone happy",
			"a present made with love is the best one")
	}
	s.closing()
}
