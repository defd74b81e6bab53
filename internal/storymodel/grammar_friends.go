package storymodel

// valuables belong to m, and what the hero does is the end of them.
var valuables = []struct{ looks, noun string }{
	{"[blue|big|old|tall]", "vase"}, {"[white|pretty|favorite]", "cup"}, {"[old|little]", "clock"},
	{"[big|green]", "flower pot"},
	{"[pretty|old]", "plate"}, {"[round|old]", "lamp"}, {"[big|old]", "mirror"}, {"[little|white]", "bowl"},
	{"[big|blue]", "jar"},
}

// brokenThing: the hero breaks something of m's and tells the truth in the end.
func brokenThing(s *teller) {
	s.takeThing(func(o thing) bool {
		return o.noun == "ball" || o.noun == "kite" || o.noun == "drum" || o.noun == "balloon" || o.noun == "flag"
	})
	v := pick(s, valuables)
	s.put("v", v.noun)
	s.put("v.a", article(s.text(v.looks)+" "+v.noun))
	s.put("topic", "the broken {v}")
	s.parentIn = true
	s.opening()
	s.say(
		`{h.His} {m} had {v.a}. {M.he} loved it very much.`, `On the table stood {v.a}. It belonged to {h.his} {m}.`,
		`There was {v.a} in the house. "Please be careful with it," {h.his} {m} always said.`,
		`{h.His} {m} had {v.a} that was very dear to {m.him}.`,
	)
	s.say(
		`{Day}, {h} played with {o.a} inside the house.`, `{Day}, {h} was running around the table.`,
		`{Day}, {h} jumped up and down in the room.`, `{Day}, {h} danced around in the kitchen.`,
		`It was raining, so {h} played inside with {o.a}.`, `{Day}, {h} wanted to reach the cookies on the shelf.`,
	)
	s.say(
		`Crash! The {v} fell to the floor and broke.`, `{h} bumped into the table, and the {v} fell down. Crash!`,
		`Then there was a loud crash. The {v} was broken!`,
		`{h} was not careful. The {v} fell and broke into [pieces|many pieces|two pieces].`,
	)
	s.say(
		`{h} was very scared. What would {h.his} {m} say?`, `"Oh no," {h} [said|thought]. "What have I done?"`,
		`{h} stood still. {h.His} heart was beating fast.`, `{h} looked at the pieces and began to cry.`,
	)
	blamed := s.chance(30)
	switch {
	case blamed:
		s.put("pet", pick(s, []string{"cat", "wind", "dog"}))
		if !s.kids {
			s.put("pet", "wind")
		}
		s.say(
			`When {h.his} {m} came in, {h} said, "It was the {pet}." But {h.his} {m} looked at {h.him} for a long time.`,
			`"Who did this?" asked {h.his} {m}. "The {pet}," said {h}. But {h.he} felt [bad|very bad] inside.`,
		)
		s.say(
			`{h} could not eat and could not play. [The lie felt like a stone|The lie was heavy].`,
			`All day long, {h} thought of the lie. {h.He} felt worse and worse.`,
			`That night, {h} could not sleep because of the lie.`,
		)
	case s.chance(50):
		s.say(
			`First, {h} wanted to hide the pieces [under the bed|in a box|behind the door]. But that did not feel right.`,
			`{h} hid the pieces [under the bed|in a box]. But the longer {h.he} waited, the worse {h.he} felt.`,
			`{h} thought about running away. But where could {h.he} go?`,
		)
	}
	s.say(
		`At last, {h} went to {h.his} {m}. "I [broke|have broken] the {v}," {h.he} said. "I am [so|very] sorry."`,
		`{h} took a deep breath and told {h.his} {m} the truth. "It was me. I am sorry about the {v}."`,
		`So {h} said, "I must tell you something. I broke your {v}. I am sorry."`,
	)
	s.say(
		`{h.His} {m} was quiet for a moment. Then {m.he} hugged {h.him}. "Thank you for telling me the truth."`,
		`{h.His} {m} was [sad|a little sad] about the {v}, but {m.he} was not angry. "You were brave to tell me," {m.he} said.`,
		`"I am sad about the {v}," said {h.his} {m}. "But it was good of you to tell me."`,
		`"A {v} is only a thing," said {h.his} {m}. "The truth is worth much more."`,
	)
	s.say(
		`Together, they [picked up|swept up] the pieces.`,
		`They got some glue and put the {v} together again. It was not perfect, but it was [good|strong].`,
		`{h} helped to clean up, piece by piece.`,
		`{h} made a new one out of clay. It was crooked, but {h.his} {m} loved it.`,
		`They glued the {v} together, and now it had [thin lines|a funny pattern] all over.`,
	)
	s.maybe(50, `After that, {h} played [outside|in the garden].`, `"From now on, I will be careful," said {h}.`,
		`{h} felt light and happy again.`)
	if s.chance(60) {
		s.lesson("it is best to tell the truth", "the truth makes the heart light", "it is brave to say sorry",
			"a lie only makes things worse")
	}
	s.closing()
}

// quarrel: two pull at one thing, it breaks, they make up.
func quarrel(s *teller) {
	s.takeThing(func(o thing) bool { return o.harm != "" })
	s.put("harm", s.object.harm)
	s.put("mend", s.object.mend)
	s.takePlace(nil)
	s.opening()
	s.meetFriend()
	s.say(
		`{Day}, they found {o.a} {p.at}.`, `{Day}, {h} brought {o.a} {p.to}.`,
		`{Day}, {h.his} {m} gave them {o.a} to share.`,
		`{Day}, {h} and {f} were playing {p.at} with {o.a}.`,
	)
	s.say(
		`"I want to {o.use}!" said {h}. "No, I want to {o.use}!" said {f}.`,
		`"It is my turn," said {f}. "No, it is mine!" {called} {h}.`,
		`Both of them wanted to {o.use}. Nobody wanted to wait.`,
		`"Give it to me!" {called} {h}. "I had it first!" {called} {f}.`,
	)
	s.say(
		`{h} pulled on one side, and {f} pulled on the other. Then {o.the} fell down, and {harm}.`,
		`They pulled at {o.the}, harder and harder. Then it happened: {harm}!`,
		`They both pulled at {o.the} with all their might. Oh no! {Harm}.`,
	)
	s.say(
		`"Look what you did!" {called} {f}. {h} was angry too and ran away.`,
		`{h} looked at {f}, and {f} looked at {h}. Now nobody could {o.use}.`,
		`They were both so angry that they did not talk to each other.`,
		`{f} began to cry. {h} wanted to cry too.`,
	)
	s.maybe(70,
		`{h} sat alone under a tree. It was no fun without {f}.`,
		`{h} went home. "What is wrong?" asked {h.his} {m}, and {h} told {m.him} everything.`,
		`For a long time, it was very quiet.`, `{h} thought about it. Was {o.a} more important than a friend?`,
	)
	s.say(
		`At last, {h} went to {f} and said, "I am sorry." "I am sorry too," said {f}.`,
		`"I am sorry," said {f}. "It was my fault." "It was my fault too," said {h}.`,
		`{h} gave {f} a hug. "I do not want to fight," {h.he} said. "You are my friend."`,
	)
	s.say(
		`They got {mend} and mended {o.the} together.`,
		`With {mend} and a little time, they made {o.the} as good as new.`,
		`"Let us fix it," said {f}. {f} held {o.the}, and {h} worked with {mend}.`,
		`{h.His} {m} gave them {mend}, and they mended it side by side.`,
	)
	s.say(
		`After that, they took turns. First {f}, then {h}.`,
		`"You go first," said {h}. "No, you go first," said {f}, and they both laughed.`,
		`Now they had a rule: each of them could {o.use} for a while, and then it was time to swap.`,
		`From that day on, they always took turns.`,
	)
	if s.chance(40) {
		s.lesson("sharing is better than fighting", "taking turns is fun", "it is good to say sorry",
			"a fight has no winner")
	}
	s.closing()
}

// food is a treat that can be shared.
var foods = []struct{ one, many, dish string }{
	{"cookie", "cookies", "a plate of"}, {"berry", "berries", "a basket of"}, {"apple", "apples", "a bag of"},
	{"pear", "pears", "a basket of"},
	{"cake", "cakes", "a box of little"}, {"nut", "nuts", "a bag of"}, {"pancake", "pancakes", "a plate of"},
	{"plum", "plums", "a bowl of"},
	{"cherry", "cherries", "a bowl of"}, {"carrot", "carrots", "a basket of"}, {"muffin", "muffins", "a plate of"},
	{"peach", "peaches", "a bag of"},
}

// sharing: the hero keeps a treat from the friend, and it does not taste good.
func sharing(s *teller) {
	f, back := pick(s, foods), pick(s, foods)
	for back == f {
		back = pick(s, foods)
	}
	s.put("food2", back.dish+" "+back.many)
	s.put("many2", back.many)
	s.put("one", f.one)
	s.put("one.a", article(f.one))
	s.put("many", f.many)
	s.put("dish", f.dish+" "+f.many)
	s.put("topic", "the {yum} {many}")
	s.takePlace(nil)
	s.opening()
	s.maybe(50, `{h} loved to eat {many}.`, `There was nothing that {h} liked more than {many}.`,
		`{Many} were {h.his} favorite food.`)
	s.say(
		`{Day}, {h.his} {m} gave {h} {dish}.`, `{Day}, {h} got {dish} from {h.his} {m}.`,
		`{Day}, {h} and {h.his} {m} made {dish}.`,
		`{Day}, {h} came {p.to} with {dish}.`,
	)
	s.friendIn = true
	s.say(
		`{Then}, {h.his} friend {f.full} came by. "[May I have one|Can I have {one.a}], please?" asked {f}.`,
		`{f.Full} saw the {many} and came closer. "They smell so good," said {f}. "Can I try one?"`,
		`{F.full}, {h.his} best friend, had forgotten {f.his} lunch. {F.he} looked at the {many} and said, "I am so hungry."`,
	)
	refused := s.chance(75)
	if refused {
		s.say(
			`"No," said {h}. "They are all mine."`,
			`{h} shook {h.his} head. "[There are not enough|I want them all]," {h.he} said.`,
			`{h} held the {many} tight. "No! They are mine."`,
			`But {h} did not want to share. {h.He} turned around and ate alone.`,
		)
		s.say(
			`{f} was [sad|very sad|upset] and walked away.`, `{f} said nothing and sat down far away.`,
			`A tear ran down {f}'s face, and {f.he} went away.`,
		)
		s.say(
			`{h} ate one {one}, and then another. But they did not taste good anymore.`,
			`{h} ate and ate, until {h.his} tummy hurt. And {h.he} was all alone.`,
			`{h} looked at the {many}. Somehow, {h.he} was not hungry anymore.`,
			`{h} wanted to play {game}, but there was nobody to play with.`,
		)
		s.maybe(45,
			`"Why do you look so sad?" asked {h.his} {m}. "Because I was not nice to {f}," said {h}.`,
			`{h} remembered how {f} had once shared {f.his} lunch with {h.him}.`,
			`"I was not a good friend," {h} thought.`,
		)
		s.say(
			`{h} ran after {f}. "I am sorry," {h.he} said. "Please take some {many}."`,
			`So {h} went to look for {f}. "[Here|Look], half of the {many} are for you," {h.he} said. "I am sorry."`,
			`{h} found {f} {spot1}. "I am sorry that I did not share," {h.he} said and gave {f} the biggest {one}.`,
		)
	} else {
		s.say(
			`{h} looked at the {many}. There was only one left for each of them. "Of course," {h.he} said.`,
			`{h} wanted to eat them all. But {f} was {h.his} friend, so {h.he} [gave {f} half|gave {f} the biggest one].`,
			`"Yes," said {h}. "One for you, and one for me."`,
		)
	}
	s.say(
		`{f} {smiled}. "Thank you, {h}. [They are so good|This is the best {one} ever]!"`,
		`{f.His} eyes [lit up|grew big]. "For me? Thank you!"`,
		`"Thank you," said {f}, and they ate together {spot2}.`, `{f} took a bite and {smiled}. "Thank you!"`,
	)
	s.say(
		`The {many} tasted much better now.`, `With a friend, every {one} tasted [twice as good|better].`,
		`They ate and laughed until all the {many} were gone.`, `Then they played {game} all afternoon.`,
	)
	s.maybe(45,
		`{Next day}, {f} brought {food2} and shared {f.his} {many2} with {h}.`,
		`{Next day}, {f} came with {food2}. "Now it is my turn to share," {f.he} said.`,
	)
	if s.chance(50) {
		s.lesson("sharing makes everything taste better", "sharing is fun", "it feels good to share",
			"a friend is better than a full plate")
	}
	s.closing()
}

// newcomer: somebody new is alone, and the hero makes the first step.
func newcomer(s *teller) {
	s.takeThing(nil)
	s.takePlace(nil)
	s.opening()
	s.put("topic", "{h.his} new friend")
	s.put("f.a", article(s.text("[little|young|shy|quiet|small]")+" "+s.friend.kind))
	s.say(
		`{Day}, {f.a} named {f} moved in next door.`, `{Day}, someone new came {p.to}. It was {f.a} named {f}.`,
		`{Day}, {h} saw {f.a} sitting alone {spot1}. {f.His} name was {f}.`,
		`{Day}, there was {f.a} {p.at} whom nobody knew. {f.His} name was {f}.`,
	)
	s.say(
		`The others were playing {game}, but {f} only watched.`,
		`Nobody talked to the new {f.kind}. {f} looked at the ground.`,
		`{f} did not say a word and hid {spot2}.`, `{f} was too shy to talk to anyone.`,
	)
	s.say(
		`{h} remembered how it felt to be alone.`,
		`{h} wanted to be kind. "Hello," {h.he} said. "My name is {h}." But {f} did not answer.`,
		`"Leave {f.him} alone," said the others. But {h} felt sorry for the new {f.kind}.`,
		`"{F.he} looks sad," {h} thought. "What can I do?"`,
	)
	s.say(
		`{h} had an idea. {h.He} got {h.his} {o.full} and sat down next to {f}. "Do you want to {o.use}?" {h.he} asked.`,
		`So {h} went home and got {h.his} {o.full}. "Look," {h.he} said to {f}. "We can take turns with it."`,
		`{h} sat down next to {f} and held out {h.his} {o.full}. "You can {o.use} if you like," {h.he} said.`,
		`{h} put {h.his} {o.full} down in front of {f}. "This is my favorite {o}," {h.he} said. "You may try it."`,
	)
	s.say(
		`{f} looked up. "Really?" {f.he} asked. Then {f.he} {smiled} for the first time.`,
		`Slowly, {f} came closer. "Thank you," {f.he} said. "My name is {f}."`,
		`At first, {f} was quiet. But then {f.he} laughed, and {h} laughed too.`,
		`"I like it," said {f} in a small voice. "At home, I had one like that."`,
	)
	s.friendIn = true
	s.say(
		`They played together all afternoon. {f} knew [many|some] new games.`,
		`{later}, the others came too, and they all played {game}.`,
		`It turned out that {f} was very [funny|good at telling stories|good at {game}].`,
		`{f} told {h} about {f.his} old home, far away behind the hills.`,
	)
	s.maybe(60,
		`"I was so afraid that nobody would like me," said {f}. "I like you," said {h}.`,
		`"Will you be my friend?" asked {f}. "I already am," said {h}.`,
		`"Come again tomorrow," said {h}. And {f} did.`, `That was the day when {h} and {f} became friends.`,
	)
	if s.chance(45) {
		s.lesson("a kind word can open a heart", "every friend was once someone new",
			"it only takes a small step to make a friend", "nobody should be left alone")
	}
	s.closing()
}
