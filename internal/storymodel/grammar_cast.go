package storymodel

import "strings"

// person is a child, a grown-up or an animal of the story.
type person struct {
	name string
	kind string // girl, boy, woman, man, or an animal
	she  bool
}

// skill is what an animal does better than others.
type skill uint8

const (
	climbs skill = 1 << iota
	flies
	swims
	tall
)

// animal is a kind that can be hero or friend.
type animal struct {
	kind   string
	skills skill
	hand   string // what it holds things with
}

var animals = []animal{
	{"rabbit", 0, "paw"}, {"fox", 0, "paw"}, {"bear", climbs, "paw"}, {"mouse", 0, "paw"},
	{"duck", flies | swims, "wing"},
	{"frog", swims, "hand"}, {"hedgehog", 0, "paw"}, {"squirrel", climbs, "paw"}, {"turtle", swims, "foot"},
	{"pig", 0, "hoof"}, {"lamb", 0, "hoof"}, {"goat", 0, "hoof"}, {"kitten", climbs, "paw"}, {"puppy", 0, "paw"},
	{"bird", flies, "wing"}, {"deer", tall, "hoof"}, {"badger", 0, "paw"}, {"beaver", swims, "paw"},
	{"otter", swims, "paw"}, {"mole", 0, "paw"}, {"pony", tall, "hoof"}, {"raccoon", climbs, "paw"},
	{"goose", flies | swims, "wing"}, {"cat", climbs, "paw"}, {"dog", 0, "paw"}, {"dragon", flies, "claw"},
	{"lion", 0, "paw"},
	{"monkey", climbs, "hand"}, {"panda", climbs, "paw"}, {"tiger", 0, "paw"}, {"wolf", 0, "paw"},
}

// animalOf returns the animal of a kind, the zero one for a child.
func animalOf(kind string) animal {
	for _, a := range animals {
		if a.kind == kind {
			return a
		}
	}
	return animal{}
}

var (
	girls = strings.Fields(`Lily Mia Anna Emma Ella Lucy Rosa Nina Sara Zoe Ivy Ruby Clara Maya Nora Eva Amy Kate Jane Lena Tara
		Bella Daisy Alice Mina Hana Leila Priya Yuki Fatima Aisha Ines Greta Freya Tessa Molly Poppy Grace Ada June`)
	boys = strings.Fields(`Tom Ben Sam Max Leo Jack Tim Finn Noah Oscar Hugo Theo Adam Luke Dan Paul Eli Jonas Omar Ravi Kenji
		Mateo Ivan Nico Felix Emil Anton Kofi Ali Peter Joe Henry Oliver Toby Milo Arlo Otto Jan Simon David`)
	animalGirls = strings.Fields(`Bella Daisy Hazel Rosie Tilly Willow Clover Dot Penny Mimi Lulu Fern Olive Pearl Honey Maple Bibi
		Nell Cleo Luna Ruby Molly Millie Poppy Nutmeg Flora Wanda Bonnie Pippa Hetty`)
	animalBoys = strings.Fields(`Pip Max Buddy Bruno Benny Rusty Toby Bo Ollie Monty Gus Barney Rufus Chip Moss Fergus Jasper Basil
		Wally Bert Hugo Milo Otis Ned Freddy Harry Dusty Oscar Jumper Murphy`)
	// Names made of syllables: a reader of the stories has to copy a name, since it cannot know them all.
	firsts = strings.Fields(
		"Ba Be Bi Da De Di Fa Fi Ga Ka Ki Ko La Le Li Lo Ma Me Mi Mo Na Ne Ni No Pa Ra Re Ri Ro Sa Se Si So Ta Te Ti " +
			"To Va Vi Za Ze Zo")
	middles   = strings.Fields("ba bi da di ko la li lo ma mi mo na ni no ra ri ro sa su ta ti va vi zu")
	girlEnds  = strings.Fields("la na ra mi lia ya sha")
	boyEnds   = strings.Fields("no ro ko lo mo bo rin las")
	grownUps  = strings.Fields("Rose Green Hill Lane Brown Field Wood Bell Stone Baker")
	helpers   = []string{"owl", "deer", "goose", "horse", "badger", "crow", "turtle", "bear", "goat", "heron"}
	kidTraits = []string{"little", "little", "little", "young", "small", "kind", "shy", "brave", "cheerful", "curious",
		"quiet", "clever", "gentle", "happy", "funny"}
	oldTraits  = []string{"old", "old", "wise", "wise old", "kind", "kind old", "friendly"}
	kidParents = []family{{"mom", true}, {"dad", false}, {"grandma", true}, {"grandpa", false}, {"mom", true},
		{"dad", false}}
	parents = []family{{"mama", true}, {"papa", false}, {"grandma", true}, {"grandpa", false}, {"mama", true},
		{"papa", false}}
)

// family is how a relative is called.
type family struct {
	name string
	she  bool
}

// name returns a name that nobody in the story has yet.
func (s *teller) name(child, she bool) string {
	for {
		var n string
		switch {
		case s.chance(15):
			n = pick(s, firsts)
			if s.chance(40) {
				n += pick(s, middles)
			}
			if she {
				n += pick(s, girlEnds)
			} else {
				n += pick(s, boyEnds)
			}
		case child && she:
			n = pick(s, girls)
		case child:
			n = pick(s, boys)
		case she:
			n = pick(s, animalGirls)
		default:
			n = pick(s, animalBoys)
		}
		if n != s.hero.name && n != s.friend.name && n != s.helper.name {
			return n
		}
	}
}

// bind binds a person to key and its forms: key.he, key.him, key.his, key.self; key.kind, the bare word; key.a, the
// first mention ("a shy rabbit"); key.full, the name with the animal's kind ("Pip the rabbit").
func (s *teller) bind(key string, p person, traits []string) {
	s.put(key, p.name)
	s.pronouns(key, p.she)
	s.put(key+".call", p.name)
	s.put(key+".kind", p.kind)
	s.put(key+".a", article(pick(s, traits)+" "+p.kind))
	if s.kids {
		s.put(key+".full", p.name)
	} else {
		s.put(key+".full", p.name+" the "+p.kind)
	}
}

func (s *teller) pronouns(key string, she bool) {
	if she {
		s.put(key+".he", "she")
		s.put(key+".him", "her")
		s.put(key+".his", "her")
		s.put(key+".self", "herself")
		return
	}
	s.put(key+".he", "he")
	s.put(key+".him", "him")
	s.put(key+".his", "his")
	s.put(key+".self", "himself")
}

// someone returns a child or an animal, unlike the kinds given.
func (s *teller) someone(suits func(skill) bool, not ...string) person {
	she := s.chance(50)
	if s.kids {
		kind := "boy"
		if she {
			kind = "girl"
		}
		return person{s.name(true, she), kind, she}
	}
again:
	for {
		a := pick(s, animals)
		if suits != nil && !suits(a.skills) {
			continue
		}
		for _, k := range not {
			if a.kind == k {
				continue again
			}
		}
		return person{s.name(false, she), a.kind, she}
	}
}

// begin binds what every story may use: h the hero, f a friend, m the one who looks after the hero and M how that one
// is called, home, hobby. suits tests an animal for the hero.
func (s *teller) begin(suits func(skill) bool) {
	s.kids = s.chance(50)
	s.hero = s.someone(suits)
	s.bind("h", s.hero, kidTraits)
	s.hands()
	s.newFriend(nil)
	s.newParent()
	home := pick(s, homes)
	if s.chance(50) {
		home = pick(s, animalHomes)
		if s.kids {
			home = pick(s, kidHomes)
		}
	}
	if s.kids && s.chance(8) {
		home = "in a castle [by the sea|on a hill|near a forest|in the mountains]"
		s.hero.kind = "prince"
		if s.hero.she {
			s.hero.kind = "princess"
		}
		s.bind("h", s.hero, kidTraits)
	}
	s.put("home", s.text(home))
	s.hobby = pick(s, hobbies)
	s.put("hobby", s.hobby.doing)
	s.put("topic", "[the adventure|the big adventure]")
	s.day("sunny", "warm", "windy", "cloudy", "bright")
}

// hands binds what the hero holds things with.
func (s *teller) hands() {
	one := "hand"
	if !s.kids {
		one = animalOf(s.hero.kind).hand
	}
	many := one + "s"
	switch one {
	case "foot":
		many = "feet"
	case "hoof":
		many = "hooves"
	}
	s.put("hand", one)
	s.put("hands", many)
}

// suits tells whether the hero passes a test on animals; a child always does.
func (s *teller) suits(test func(skill) bool) bool {
	return s.kids || test == nil || test(animalOf(s.hero.kind).skills)
}

// loves tells whether the hero's hobby is the one.
func (s *teller) loves(doing string) bool { return s.hobby.doing == doing }

// newFriend binds f, an animal that can do what suits asks for. Most often one of the two is a girl and one is not,
// which leaves no doubt who "she" is.
func (s *teller) newFriend(suits func(skill) bool) {
	s.friend = s.someone(suits, s.hero.kind)
	for s.friend.she == s.hero.she && s.chance(60) {
		s.friend = s.someone(suits, s.hero.kind)
	}
	s.bind("f", s.friend, kidTraits)
}

// newParent binds m, the one who looks after the hero.
func (s *teller) newParent() {
	list := parents
	if s.kids {
		list = kidParents
	}
	m := pick(s, list)
	s.put("m", m.name)
	s.put("m.call", upperFirst(m.name))
	s.pronouns("m", m.she)
}

// newHelper binds k, a grown-up whom the hero meets: for a child Miss Rose, for an animal the old owl.
func (s *teller) newHelper() {
	she := s.chance(50)
	if s.kids {
		title, kind := "Uncle ", "man"
		name := s.name(true, false)
		if she {
			title, kind = "Miss ", "woman"
			name = pick(s, grownUps)
			if s.chance(40) {
				title, name = "Aunt ", s.name(true, true)
			}
		}
		s.helper = person{title + name, kind, she}
		s.bind("k", s.helper, oldTraits)
		s.put("k.first", s.helper.name)
		return
	}
	kind := pick(s, helpers)
	for kind == s.hero.kind || kind == s.friend.kind {
		kind = pick(s, helpers)
	}
	s.helper = person{"the " + kind, kind, she}
	trait := pick(s, oldTraits)
	s.bind("k", s.helper, []string{trait})
	s.put("k.call", upperFirst(kind))
	s.put("k.first", article(trait+" "+kind))
}

// day binds the weather: {day} is "One sunny morning".
func (s *teller) day(kinds ...string) {
	weather := pick(s, kinds)
	s.put("weather", weather)
	s.put("scenery", scenery(weather))
	s.put("day", "[One {weather} [day|morning|afternoon]|One {weather} day|One day]")
}
