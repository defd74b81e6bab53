package storymodel

// foundThing: the hero finds something that another misses, and gives it back.
func foundThing(s *teller) {
	s.takeThing(nil)
	s.takePlace(nil)
	s.opening()
	s.goOut(false)
	s.say(
		`{Spot1}, {h.he} found {o.a}.`, `{Then}, {h} saw something {spot1}. It was {o.a}!`,
		`{h} found {o.a} {spot1}. Nobody was there.`, `{h} saw {o.a} lying {spot1}.`,
	)
	s.say(
		`"[What a lovely {o}|How nice|Wow]! Now it is mine," {h} [said|thought].`,
		`It was so [pretty|nice] that {h} wanted to keep it.`,
		`{h} picked it up. {h.He} had always wanted {o.a}.`,
		`{h} picked it up and played with it for a [long time|while].`,
	)
	s.friendIn = true
	s.say(
		`{later}, {h.he} saw {h.his} friend {f.full}. {f} was crying.`,
		`{Next day}, {h} met {f.full}. {f} looked very sad.`,
		`On the way home, {h.he} met {f.full}. {f} was looking for something.`,
		`Then {f.full} came by with tears in {f.his} eyes.`,
	)
	s.say(
		`"What is wrong?" asked {h}. "I lost my {o}," said {f}. "It was a present from my {m}."`,
		`"Why are you crying?" asked {h}. "My {o} is gone," said {f}. "I [looked|searched] everywhere."`,
		`"Have you seen my {o}?" asked {f}. "It is my favorite thing."`,
	)
	s.say(
		`{h} felt hot. {h.He} liked the {o}, but it was not {h.his} {o}.`,
		`{h} did not say anything. {h.He} wanted to keep the {o}, but {f} was so sad.`,
		`{h} looked at the ground. It was hard to give the {o} away, but {h.he} knew what was right.`,
		`For a moment, {h} wanted to run away. Then {h.he} thought of how sad {f} was.`,
	)
	s.say(
		`"I found it {spot1}," said {h} and gave {o.the} back.`,
		`"Here is your {o}," said {h}. "I found it {spot1}."`,
		`{h} held out {o.the}. "Is this yours? It was {spot1}."`,
	)
	s.say(
		`{f} jumped for joy. "Thank you! You are a true friend!"`,
		`{f} {smiled} and hugged {h}. "You found it! Thank you, {h}!"`,
		`{f} dried {f.his} eyes. "Thank you for telling me the truth," {f.he} said.`,
	)
	s.say(
		`"Do you want to {o.use} too?" asked {f}. They played until it was dark.`,
		`From that day on, {f} let {h} {o.use} whenever {h.he} wanted.`,
		`{Next day}, {f} gave {h} a [little|small] present: a [sweet red apple|bag of nuts|jar of honey|drawing of the two of them].`,
		`"You may {o.use} too," said {f}. And {h} was happier than before.`,
	)
	if s.chance(55) {
		s.lesson("it feels good to be honest", "a friend is better than {o.a}", "giving back is better than keeping",
			"it is right to give back what you find")
	}
	s.closing()
}

// little is an animal's child, and who has lost it.
type little struct {
	kind, mother, sound, clue string
}

var littles = []little{
	{"duckling", "duck", "peep, peep", "small wet tracks"},
	{"chick", "hen", "cheep, cheep", "some yellow corn"},
	{"lamb", "sheep", "baa, baa", "a bit of white wool"},
	{"kitten", "cat", "meow, meow", "tracks of soft paws"},
	{"puppy", "dog", "yip, yip", "tracks of big paws"},
	{"baby bird", "bird", "tweet, tweet", "a brown feather"},
	{"calf", "cow", "moo, moo", "big tracks in the mud"},
	{"baby goose", "goose", "honk, honk", "a white feather"},
}

// lostLittleOne: the hero finds an animal's child and looks for its mother.
func lostLittleOne(s *teller) {
	s.takePlace(nil)
	l := pick(s, littles)
	for l.kind == s.hero.kind || l.mother == s.hero.kind || l.mother == s.friend.kind || l.kind == s.friend.kind {
		l = pick(s, littles)
	}
	s.put("b", l.kind)
	s.put("b.a", article("[little|tiny|small] "+l.kind))
	s.put("mother", l.mother)
	s.put("sound", l.sound)
	s.put("clue", l.clue)
	s.put("topic", "the little "+l.kind)
	s.opening()
	withFriend := s.chance(40)
	if withFriend {
		s.meetFriend()
		s.say(`{Day}, {h} and {f} [went|walked] {p.to}.`, `{Day}, they went {p.to} together.`)
	} else {
		s.goOut(false)
	}
	s.say(
		`{Then}, {h} heard a [sound|small voice]. "{Sound}!" It was {b.a}, {spot1}.`,
		`{Spot1}, {h} saw {b.a}. "{Sound}!" it cried.`,
		`{Then}, {h} heard something {spot1}. "{Sound}!" There sat {b.a}, all alone.`,
	)
	if s.kids {
		s.say(`The {b} was [cold and scared|shaking|all alone]. "Where is your mother?" asked {h}.`,
			`"Oh, you poor little thing," said {h}. "Have you lost your mother?"`,
			`{h} looked around. There was no mother {mother} to be seen.`)
	} else {
		s.say(`"I have lost my mother," said the {b}. "I ran after a [butterfly|leaf], and then she was gone."`,
			`"Why are you crying?" asked {h}. "I can't find my mother," said the {b}.`,
			`"I want my mother!" cried the {b}. "I do not know the way home."`)
	}
	s.say(
		`"Don't be afraid," said {h} {kindly}. "We will find her."`,
		`{h} [felt sorry for it|could not leave it alone]. "I will help you," {h.he} said.`,
		`"Come with me," said {h}. "Your mother must be looking for you."`,
	)
	if withFriend {
		s.say(`{f} looked {spot2}, but there was nobody.`,
			`"I will look {spot2}," said {f}. But no {mother} was there.`,
			`{f} called as loud as {f.he} could, but nobody answered.`)
	} else {
		s.say(`First, they looked {spot2}. Nobody was there.`, `They walked and walked, but they saw no {mother}.`,
			`{h} carried the {b} {carefully}.`)
	}
	if s.chance(45) {
		s.say(`{Then}, {h} saw {clue} on the ground. "Look!" {h.he} {called}. They followed the path.`,
			`{Spot3}, {h.he} found {clue}. "She was here!" said {h}.`)
	} else {
		s.newHelper()
		s.say(`On the way, they met {k.first}. "Have you seen a mother {mother}?" asked {h}.`,
			`{later}, {k.first} came by. "Did you see a mother {mother}?" asked {h}.`)
		s.put("where", pick(s, []string{"behind the hill", "by the old bridge", "near the big oak", "behind the mill",
			"at the end of the path"}))
		s.say(`"Yes," said {k}. "She is {where}, and she is very worried."`,
			`"I heard a {mother} calling {where}," said {k}.`,
			`"I did," said {k}. "She was calling for her baby {where}."`)
		s.say(`They ran there side by side.`, `So they hurried on.`, `They went there as fast as they could.`)
	}
	s.say(
		`And there was the mother {mother}! The {b} ran to her.`,
		`Soon they heard a loud call. The mother {mother} came running and [kissed|hugged] her baby.`,
		`At last, they saw the mother {mother}. The {b} was so happy that it [jumped|danced] around her.`,
	)
	if s.kids {
		s.say(`The {mother} looked at {h} as if to say thank you.`, `The {b} looked back once more, and {h} waved.`,
			`{h} {smiled}. "Now you are safe," {h.he} said.`)
	} else {
		s.say(`"Thank you for bringing my baby back," said the mother {mother}.`,
			`"You are so kind," said the {mother}. "How can I thank you?"`,
			`"I was so worried!" said the mother {mother}. "Thank you, {h}."`)
	}
	s.maybe(50, `{h} felt warm inside.`, `It is a good feeling to help someone small.`, `{h} went home {glad}.`,
		`From then on, the {b} came to visit {h} [every week|every day].`)
	s.closing()
}
