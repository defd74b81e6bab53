package storymodel

// lostThing: the hero misses something dear, looks for it, and gets it back.
func lostThing(s *teller) {
	s.takeThing(nil)
	s.takePlace(nil)
	s.opening()
	s.say(
		`{h} had {o.a}. {h.He} [loved to|liked to] {o.use}.`,
		`{h.His} favorite thing was {o.a}. {h.He} took it everywhere.`,
		`For {h.his} birthday, {h} got {o.a}. {h.He} loved it [very much|more than anything].`,
		`{h.His} {m} gave {h.him} {o.a}, and {h} never went anywhere without it.`,
		`{h} had {o.a}, and every day {h.he} wanted to {o.use}.`,
	)
	end := s.intn(4)
	s.goOut(end == 0 || end == 2)
	s.maybe(40, scenes...)
	s.say(
		`But when it was time to go home, {o.the} was [gone|not there].`,
		`{later}, {h.he} looked around. Where was {o.the}?`,
		`But then {h} stopped. {O.the} was gone!`,
		`When {h} wanted to {o.use}, {h.he} could not find it.`,
		`{h.He} [put|laid] {o.the} down for [a moment|a short time]. When {h.he} came back, it was gone.`,
	)
	s.say(
		`"Oh no!" {called} {h}. "my {o} is gone!"`,
		`"Where is my {o}?" asked {h} {sadly}.`,
		`{h} was {sad}. A [big|small] tear ran down {h.his} face.`,
		`{h.His} heart beat fast. "I have lost my {o}!" {h.he} {called}.`,
		`{h} [began|started] to cry. "my {o}! I can't find it!"`,
	)
	switch end {
	case 0: // alone, with advice
		s.comfort()
		s.say(
			`"Where did you have it last?" asked {m.he}. {h} thought [hard|about it|for a moment].`,
			`"Think of all the places where you played," said {h.his} {m}.`,
			`"Let us look for it together," {m.he} said.`,
		)
		s.search()
		s.foundIt()
		s.maybe(50, `{h.His} {m} {smiled}. "[Looking slowly|Looking twice] is better than crying," {m.he} said.`,
			`"We found it together," said {h.his} {m}.`)
		s.lesson("it is good to put things in a safe place", "it helps to stop and think",
			"two can search better than one",
			"it is wise to take care of what you love")
	case 1: // the friend kept it
		s.search()
		s.friendIn = true
		s.say(
			`{Then}, {h.his} friend {f.full} came [running|by|up the path]. "Is this your {o}?" asked {f}. "I found it {spot3}."`,
			`{Then}, {h} saw {h.his} friend {f.full}. {f} was holding {o.the}! "It was {spot3}," said {f}. "I kept it safe for you."`,
			`{Then}, {h.his} friend {f.full} called, "Look what I found {spot3}!" It was {o.the}.`,
		)
		s.thanks("f")
		s.say(
			`{f} and {h} took turns to {o.use}.`, `Then they played {game} together.`,
			`"Do you want to {o.use} too?" asked {h}. {f} nodded.`,
			`"You may {o.use} too," said {h}.`,
		)
		s.maybe(50, `{h} learned that a good friend is worth more than any {o}.`,
			`It is good to have a friend who helps.`,
			`{h} knew how lucky {h.he} was to have such a friend.`)
	case 2: // somebody small sleeps on it, or plays with it
		s.search()
		guest := pick(s, []string{"kitten", "puppy", "baby bird", "tiny mouse", "baby squirrel", "little duck"})
		s.put("guest", guest)
		s.put("guest.a", article(guest))
		if s.object.soft {
			s.say(
				`Then {h} looked {spot3}. There was {o.the}, and {guest.a} was sleeping on it!`,
				`{Spot3}, {h.he} saw {o.the}. But what was that? {guest.A} was sleeping on it!`,
			)
			s.say(
				`"[It must be cold|It must be tired|It looks so cozy]," said {h} {kindly}. "I will wait."`,
				`{h} did not want to wake the {guest}. {h.He} sat down and waited.`,
				`"Shh," said {h.his} {m}. "Let it sleep a little."`,
			)
			s.say(
				`When the {guest} woke up, it [ran off|looked at {h} and left] and {h} took {o.the} home.`,
				`After a nap, the {guest} [ran away|hopped away], and {h} had {o.the} back.`,
				`{h} gave the {guest} some [dry leaves|soft grass] for a bed, and then {h.he} took {o.the} home.`,
			)
		} else {
			s.say(
				`Then {h} heard a [small|funny] sound {spot3}. {guest.A} was playing with {o.the}!`,
				`Then {h} looked {spot3}. There was {o.the}, and next to it sat {guest.a}!`,
			)
			s.say(
				`"You like my {o} too!" {h} {smiled}.`,
				`The {guest} looked at {h} with big eyes. {h} [could not be angry|had to laugh].`,
				`"So it was you!" said {h}, and {h.his} {m} laughed.`,
			)
			s.say(
				`{h} gave the {guest} a [leaf|nut|flower] to play with and took {o.the} back.`,
				`{h} let the {guest} play a little longer. Then {h.he} took {o.the} home.`,
				`The {guest} [ran off|went away], and {h} had {o.the} back.`,
			)
		}
		s.put("topic", "the "+guest)
		s.maybe(40, `From that day on, {h} kept {o.the} close.`, `"Next time I will take better care of it," said {h}.`)
	default: // a helper has seen it
		s.newHelper()
		s.search()
		s.say(
			`{later}, {h} met {k.first}. "Have you seen my {o}?" asked {h}.`,
			`There {h} saw {k.first}. "Please help me," said {h}. "I have lost my {o}."`,
			`{k.First} saw {h} and asked, "Why are you so sad?" "I have lost my {o}," said {h}.`,
		)
		s.say(
			`"I saw something {spot3}," said {k}. "Come with me."`,
			`"Did you look {spot3}?" asked {k}. {h} shook {h.his} head.`,
			`{K} thought for a moment. "Try to look {spot3}," {k.he} said.`,
		)
		s.foundIt()
		s.thanks("k")
		s.lesson("it is good to ask for help", "asking is better than crying", "there is always someone who can help")
	}
	s.closing()
}

// scenes are small things that happen while the hero plays.
var scenes = []string{
	`{h} saw a [small|blue|yellow] butterfly and ran after it.`,
	`A [funny|small|black] bug sat on {h.his} {hand} and flew away again.`,
	`{h} met a big dog and said hello.`,
	`It was so much fun that {h} forgot everything else.`,
	`{h} lay down and looked at the clouds.`,
	`{h} saw something shiny, but it was only [a wet leaf|a drop of water|an old spoon].`,
}

// search looks at two wrong spots.
func (s *teller) search() {
	s.put("junk", pick(s, []string{"an old shoe", "a gray stone", "a red leaf", "a sleepy frog", "a small bug",
		"a broken cup", "a feather", "two snails"}))
	s.say(
		`{h} looked {spot1}, but it was not there. {h.He} looked {spot2}, but there was only {junk}.`,
		`First, {h.he} looked {spot1}. Nothing! Then {h.he} looked {spot2}. There was [only|nothing but] {junk}.`,
		`{h} [searched|looked] everywhere. {Spot1} there was nothing. {Spot2} there was only {junk}.`,
		`Was it {spot1}? No. Was it {spot2}? No, there was only {junk}.`,
		`{h} looked {spot1}. {h.He} found {junk}, but no {o}. {h.He} looked {spot2}, but it was not there [either|at all].`,
		`{h} looked {spot1} and {spot2}, but {h.he} found only {junk}.`,
	)
}

// foundIt ends the search.
func (s *teller) foundIt() {
	s.say(
		`Then {h} looked {spot3}. There it was! [It was a little dirty, but {h}|The {o} was a bit wet, but {h}|{h}] was {glad}.`,
		`{h} ran to look {spot3}. "[Here it is|I found it|There you are]!" {h.he} {called}.`,
		`And there, {spot3}, was {o.the}! {h} [hugged it|jumped for joy|laughed out loud].`,
		`{Spot3}, something caught {h.his} eye. It was {o.the}! {h} was {glad}.`,
	)
}

// stuckThing: wind or a throw takes something up where the hero cannot reach.
func stuckThing(s *teller) {
	s.takeThing(func(o thing) bool { return o.soars })
	s.takePlace(func(p place) bool { return p.tree != "" })
	s.day("windy", "windy", "sunny", "cloudy")
	s.opening()
	s.say(
		`{h} had {o.a} and [loved|liked] to {o.use}.`, `{h.His} {m} had given {h.him} {o.a}.`,
		`{h} got {o.a} from {h.his} {m}. {h.He} wanted to {o.use} all day.`,
	)
	key := "f"
	if s.kids && s.chance(50) {
		key = "m"
	}
	s.goOut(key == "m")
	s.maybe(30, scenes...)
	if s.object.noun == "ball" {
		s.say(`{h} threw {o.the} [high into the air|as high as {h.he} could]. It got stuck in {p.tree}!`,
			`{h} kicked {o.the} too hard. It flew up and up and got stuck in {p.tree}.`)
	} else {
		s.say(`{Then}, [a strong wind came and|the wind grew strong and] took {o.the}. It flew up and got stuck in {p.tree}!`,
			`But the wind took {o.the} [out of {h.his} {hands}|away]. It landed high up in {p.tree}.`,
			`Whoosh went the wind, and {o.the} was gone. It was stuck at the top of {p.tree}!`)
	}
	s.say(
		`"Oh no! My {o}!" {called} {h}.`, `{h} looked up. {O.the} was so high! {h.He} felt {sad}.`,
		`"Come down!" {called} {h}, but {o.the} did not move.`,
	)
	s.put("first", pick(s, []string{
		`{h} jumped as high as {h.he} could, but the branch was too high.`,
		`{h} shook the tree with all {h.his} might, but only leaves fell down.`,
		`{h} threw a stick at it, but the stick got stuck too.`,
		`{h} stood on a big stone, but {h.he} was still too small.`,
		`{h} tried to reach it with a long stick, but the stick was too short.`,
	}))
	s.say(`{first}`)
	s.maybe(40, `{h} sat down under the tree and [cried|did not know what to do].`,
		`"I will never get it back," said {h} {sadly}.`,
		`{h} tried again, but it was no use.`)
	switch {
	case key == "m":
		s.say(
			`{h.His} {m} [saw it|came to look|heard {h.him}]. "I have an idea," {m.he} said. {M.he} [got|brought] a long ladder and climbed up.`,
			`{h} ran to {h.his} {m}. "Please help me!" {h.His} {m} [got|took] a broom and pushed {o.the} out of the tree.`,
		)
	case s.kids:
		s.friendIn = true
		s.say(
			`{Then}, {h.his} friend {f} came by. "[Climb on my back|Stand on my shoulders]!" said {f}. Now {h} could reach the branch.`,
			`{h.His} friend {f} had an idea. "You push me up," said {f}. {h} pushed, and {f} [caught|got] {o.the}.`,
			`"I can help," said {h.his} friend {f}. {f} was good at climbing. Up and up {f.he} went.`,
		)
	default:
		s.friendIn = true
		s.newFriend(func(a skill) bool { return a&(climbs|flies|tall) != 0 })
		s.say(`{Then}, {h.his} friend {f.full} came by. "What is wrong?" asked {f}.`,
			`{f.Full} saw {h} and asked, "Why are you sad?"`,
			`{h} called {h.his} friend {f.full}.`)
		s.say(`"My {o} is stuck in the tree," said {h}.`,
			`{h} pointed at the tree. "I can't reach my {o}," {h.he} said.`)
		switch a := animalOf(s.friend.kind).skills; {
		case a&climbs != 0:
			s.say(`"I am good at climbing," said {f}. {F.he} climbed up, branch by branch.`,
				`"I can climb!" said {f} and went up the tree at once.`)
		case a&flies != 0:
			s.say(`"I have wings," said {f} and flew up to the branch.`,
				`"I can fly up there!" said {f} and spread {f.his} wings.`)
		default:
			s.say(`"I am tall," said {f} and stretched {f.his} long neck.`,
				`{f} was very tall. {F.he} stood on {f.his} back legs and reached up.`)
		}
	}
	s.say(`Soon, {o.the} was back in {h.his} {hands}.`, `Down came {o.the}, and {h} caught it.`,
		`A moment later, {h} had {o.the} back.`,
		`"[Here you are|Got it|There]!" And {h} had {o.the} again.`)
	s.thanks(key)
	s.maybe(50, `[After that|From then on], {h} held on to {o.the} [tightly|with both {hands}].`,
		`{h} learned that nobody has to do everything alone.`, `{h} was glad that {h.he} had asked for help.`,
		`"Next time I will hold it [tight|better]," said {h}.`)
	if key == "f" {
		s.maybe(50, `Then {h} let {f} {o.use} too.`, `"Now it is your turn to {o.use}," {h} said to {f}.`)
	}
	s.closing()
}
