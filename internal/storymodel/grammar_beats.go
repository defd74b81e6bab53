package storymodel

// Beats that many plots share.

// opening introduces the hero.
func (s *teller) opening() {
	if s.chance(15) {
		s.hobbyIn = true
		s.say(
			`[Once upon a time|Once|Once upon a time], there was {h.a} who loved {hobby}. {h.His} name was {h}.`,
			`{h} was {h.a} who loved {hobby} [very much|more than anything|best of all].`,
			`[Once upon a time, there was|There once was] {h.a} named {h}. {h} loved {hobby}[| very much| more than anything].`,
		)
		return
	}
	s.say(
		`[Once upon a time|Once upon a time|Once|Long ago], there was {h.a} named {h}.`,
		`Once upon a time, there was {h.a} [named|called] {h}. {h.He} lived {home}.`,
		`Once upon a time, {h.a} [named|called] {h} lived {home}.`,
		`[There once was|There once lived|There was once] {h.a} [named|called] {h}.`,
		`{h} was {h.a} who lived {home}.`,
		`{h} was {h.a}. {h.He} lived with {h.his} {m} {home}.`,
		`{Home}, there lived {h.a}. {h.His} name was {h}.`,
		`{Home} lived {h.a} [named|called] {h}.`,
		`{h} lived with {h.his} {m} {home}. {h.He} was {h.a}.`,
	)
	if s.chance(40) {
		s.hobbyIn = true
		s.say(
			`{h} loved {hobby}[| very much| more than anything].`,
			`{h.He} loved {hobby}[| very much| more than anything].`,
			`[Best of all|Most of all], {h.he} loved {hobby}.`,
			`What {h.he} liked best was {hobby}.`,
			`Every day, {h.he} spent [some|a lot of] time {hobby}.`,
		)
	}
}

// meetFriend names the friend, who has known the hero before.
func (s *teller) meetFriend() {
	s.friendIn = true
	if s.kids {
		s.say(
			`{h.His} best friend was {f.a} named {f}.`,
			`{h} had a [good|dear|best] friend named {f}.`,
			`{F.a} named {f} lived next door. {h} and {f} [were good friends|played together every day].`,
			`{h} and {h.his} friend {f} did everything together.`,
			`{h} and {f} were [best|good|very good] friends.`,
		)
		return
	}
	s.say(
		`{h.His} best friend was {f.a} named {f}.`,
		`{h} had a [good|dear] friend, {f.a} named {f}.`,
		`{F.a} named {f} lived [next door|close by|not far away]. {h} and {f} [were good friends|played together every day].`,
		`{h} and {h.his} friend {f.full} did everything together.`,
		`{h} and {f.full} were [best|good|very good] friends.`,
	)
}

// scenery returns what can be said of the weather.
func scenery(weather string) string {
	switch weather {
	case "windy":
		return "[The wind was [strong|wild] and the leaves were dancing.|The wind [whistled|sang] in the trees." +
			"|White clouds were racing over the sky.|The wind pulled at everything.]"
	case "cloudy":
		return "[[Big|Gray|Soft] clouds covered the sky.|There was no sun, but it was warm.|The air was cool " +
			"and still.]"
	}
	return "[The sun was shining[| and the sky was blue].|Birds were singing [in the trees|everywhere].|The sky was " +
		"clear and the air was warm." +
		"|It was a [lovely|beautiful|perfect] day to be outside.|The sun [felt warm|shone brightly] and a soft wind " +
		"was blowing.]"
}

// goOut sends the hero to the place, together with m if need be, and lets the day begin.
func (s *teller) goOut(together bool) {
	if together {
		s.parentIn = true
		s.say(
			`{Day}, {h} went {p.to} with {h.his} {m}.`,
			`{Day}, {h} and {h.his} {m} went {p.to}.`,
			`{Day}, {h.his} {m} took {h} {p.to}.`,
			`{Day}, {h} and {h.his} {m} were {p.at}.`,
		)
	} else {
		s.say(
			`{Day}, {h} went {p.to}.`,
			`{Day}, {h} went {p.to} [to play|all alone|after breakfast|after lunch].`,
			`{Day}, {h} [was|was playing] {p.at}.`,
			`{Day}, {h} was allowed to play {p.at}.`,
		)
	}
	s.maybe(25, `{scenery}`)
	s.maybe(35, `{h} {p.did}.`, `{h.He} {p.did} and {p.did2}.`, `First, {h.he} {p.did}. Then {h.he} {p.did2}.`)
}

// thanks lets the hero thank the one bound to key, who was named before.
func (s *teller) thanks(key string) {
	name := "{" + key + "}"
	if key == "m" {
		name = "{h.his} {m}"
	}
	s.put("x", name)
	s.put("x.call", "{"+key+".call}")
	s.put("x.he", "{"+key+".he}")
	s.say(
		`"Thank you, {x.call}!" said {h}[| with a big smile| happily].`,
		`"Oh, thank you!" {called} {h} and hugged {x}.`,
		`{h} gave {x} a [big|long|warm] hug. "Thank you [so|very] much," {h.he} said.`,
		`"You are [so kind|very kind|the best], {x.call}," said {h}. "Thank you!"`,
		`{h} thanked {x} [again and again|with all {h.his} heart|with a big hug].`,
	)
	s.maybe(35,
		`"[You are welcome|It was nothing|I am glad I could help]," said {x}[| {kindly}].`,
		`{X} {smiled}. "[That is what friends are for|I was glad to help|Any time]," {x.he} said.`,
		`"Any time," said {x} and {smiled}.`,
	)
}

// comfort lets m calm the hero.
func (s *teller) comfort() {
	s.say(
		`"[Do not|Don't] [cry|worry|be sad]," said {h.his} {m}[| {kindly}].`,
		`{h.His} {m} [hugged|held] {h.him} and said, "[Do not|Don't] [cry|worry]. [It will be all right|We will find a way]."`,
		`{h.His} {m} took {h.his} {hand}. "[Let us think|We will find a way|It will be all right]," {m.he} said.`,
		`"It is all right," said {h.his} {m} and dried {h.his} tears.`,
	)
}

// lesson ends with what the hero has learned; each text can follow "that".
func (s *teller) lesson(texts ...string) {
	s.put("lesson", s.text(pick(s, texts)))
	s.say(
		`{h} learned that {lesson}.`,
		`{h} [had learned|now knew|understood] that {lesson}.`,
		`From that day on, {h} [knew|always remembered|never forgot] that {lesson}.`,
		`"[Remember, |You see, |]{lesson}," said {h.his} {m}[| {kindly}].`,
		`"I have learned something today," {h.he} [said|thought]. "{Lesson}."`,
		`And {h} never forgot that {lesson}.`,
	)
}

// closing ends the story.
func (s *teller) closing() {
	switch {
	case s.hobbyIn && s.chance(60):
		s.say(s.hobby.last)
	case s.friendIn && s.chance(55):
		s.say(
			`{h} and {f} [played|laughed|stayed] together until the sun went down.`,
			`From then on, {h} and {f} were [even better|the best of] friends.`,
			`{h} and {f} sat [side by side|together] and were {glad}.`,
			`[After that|From that day on], {h} and {f} [played together every day|shared everything|were never far apart].`,
			`"You are my best friend," said {f}. "And you are mine," said {h}.`,
			`{h} and {f} looked at each other and {smiled}.`,
			`"[Shall we play|Will you come] again tomorrow?" asked {f}. "Yes!" {called} {h}.`,
		)
	case !s.parentIn && s.chance(30):
		s.say(
			`{Evening}, {h} told {h.his} {m} [everything|all about it|the whole story].`,
			`When {h} came home, {h.he} told {h.his} {m} [everything|all about it]. "[Well done|I am proud of you|That was good of you]," {m.he} said.`,
		)
	default:
		s.say(
			`{Evening}, {h} went to sleep with a [smile|happy heart|smile on {h.his} face].`,
			`It was [the best day ever|a day to remember|a very good day].`,
			`{h} was {glad}, and so was {h.his} {m}.`,
			`{h.His} {m} was very proud of {h.him}.`,
			`{Evening}, {h} {smiled} and closed {h.his} eyes. What a day it had been!`,
			`{Evening}, they all had [warm soup|hot tea and cake|sweet berries|bread and honey] together.`,
			`"Come here," said {h.his} {m} and gave {h.him} a [kiss|hug].`,
			`{h} could not stop smiling.`,
			`{Evening}, {h} was tired but {glad}.`,
		)
	}
}
