package storymodel

// phrases are slots with the same alternatives in every story.
var phrases = []slot{
	{"glad", "[happy|happy|glad|very happy|so happy|full of joy|delighted]"},
	{"sad", "[sad|sad|very sad|upset|unhappy]"},
	{"smiled", "[smiled|smiled|grinned|laughed|beamed]"},
	{"called", "[cried|shouted|called]"},
	{"kindly", "[kindly|gently|softly|with a smile|in a warm voice]"},
	{"sadly", "[sadly|in a small voice|quietly|with a sigh|with tears in {h.his} eyes]"},
	{"quickly", "[quickly|at once|right away|as fast as {h.he} could]"},
	{"then", "[Then|Just then|At that moment|A moment later|Suddenly]"},
	{"later", "[After a while|A little later|Soon|Before long|A few minutes later]"},
	{"next day", "[The next day|The next morning|Early the next morning|The day after that]"},
	{"evening", "[That evening|That night|At the end of the day|When the sun went down]"},
	{"night", "[One night|One evening|One dark night|Late one evening]"},
	{"nice", "[nice|kind|good|lovely]"},
	{"great", "[great|wonderful|lovely|very good|clever]"},
	{"carefully", "[carefully|slowly|very carefully|step by step|gently]"},
	{"colour", "[red|blue|yellow|green|orange|purple|pink|white|golden]"},
	{"yum", "[warm|sweet|tasty|yummy|fresh]"},
	{"game", "[tag|hide and seek|catch|follow the leader|ball]"},
}

// thing is an object that can be owned, lost and found.
type thing struct {
	noun  string
	looks string // alternatives for the word before it
	use   string // what its owner does with it
	kids  bool   // animals do not have one
	soars bool   // it can end up high in a tree
	soft  bool   // something small could sleep on it
	harm  string // what happens to it when two pull at it; empty: nothing
	mend  string // what mends that
}

var things = []thing{
	{noun: "ball", looks: "{colour}|{colour}|big|bouncy", use: "bounce it", soars: true},
	{noun: "kite", looks: "{colour}|{colour}|new|big", use: "fly it", soars: true, harm: "a big hole was in it",
		mend: "tape"},
	{noun: "hat", looks: "{colour}|{colour}|soft|warm|funny", use: "wear it", soars: true, soft: true,
		harm: "it had a long rip", mend: "a needle and thread"},
	{noun: "scarf", looks: "{colour}|{colour}|soft|warm|long", use: "wear it", soars: true, soft: true,
		harm: "it had a long rip", mend: "a needle and thread"},
	{noun: "blanket", looks: "{colour}|soft|warm|old", use: "wrap up in it", soft: true, harm: "it had a long rip",
		mend: "a needle and thread"},
	{noun: "drum", looks: "{colour}|{colour}|little|big", use: "play it", harm: "it had a hole in the top",
		mend: "tape"},
	{noun: "bell", looks: "shiny|silver|little|golden", use: "ring it"},
	{noun: "whistle", looks: "shiny|silver|little|{colour}", use: "blow it"},
	{noun: "flag", looks: "{colour}|{colour}|little", use: "wave it", soars: true, harm: "it was in two pieces",
		mend: "a needle and thread"},
	{noun: "toy boat", looks: "{colour}|{colour}|little|wooden", use: "sail it", harm: "the sail came off",
		mend: "glue"},
	{noun: "book", looks: "new|big|old|{colour}", use: "read it", harm: "a page was torn", mend: "tape"},
	{noun: "lantern", looks: "little|old|shiny|{colour}", use: "carry it", harm: "the handle came off", mend: "string"},
	{noun: "basket", looks: "little|new|round|{colour}", use: "carry it", harm: "the handle came off", mend: "string"},
	{noun: "shell", looks: "white|pink|shiny|pretty", use: "listen to it"},
	{noun: "stone", looks: "shiny|white|round|smooth|pretty", use: "hold it"},
	{noun: "feather", looks: "{colour}|long|soft|pretty", use: "look at it", soars: true},
	{noun: "balloon", looks: "{colour}|{colour}|big", use: "hold it", soars: true},
	{noun: "umbrella", looks: "{colour}|{colour}|big|little", use: "open it", harm: "the handle came off",
		mend: "glue"},
	{noun: "pillow", looks: "soft|{colour}|little", use: "hug it", soft: true,
		harm: "it had a hole and the feathers came out", mend: "a needle and thread"},
	{noun: "bucket", looks: "{colour}|{colour}|little", use: "fill it", harm: "the handle came off", mend: "string"},
	{noun: "toy car", looks: "{colour}|{colour}|fast|little", use: "race it", kids: true, harm: "a wheel came off",
		mend: "glue"},
	{noun: "toy train", looks: "{colour}|wooden|long|little", use: "push it", kids: true, harm: "a wheel came off",
		mend: "glue"},
	{noun: "doll", looks: "pretty|little|old|new", use: "hug it", kids: true, harm: "an arm came off",
		mend: "a needle and thread"},
	{noun: "teddy bear", looks: "soft|brown|old|big|little", use: "hug it", kids: true, soft: true,
		harm: "an arm came off", mend: "a needle and thread"},
	{noun: "toy robot", looks: "silver|shiny|{colour}|new", use: "wind it up", kids: true, harm: "an arm came off",
		mend: "glue"},
	{noun: "paper plane", looks: "white|{colour}|big", use: "throw it", kids: true, soars: true,
		harm: "it was in two pieces", mend: "tape"},
}

// takeThing binds o to an object that suits the hero and the test.
func (s *teller) takeThing(suits func(thing) bool) {
	for {
		o := pick(s, things)
		if o.kids && !s.kids || suits != nil && !suits(o) {
			continue
		}
		s.object = o
		full := s.text("["+o.looks+"]") + " " + o.noun
		s.put("o", "["+o.noun+"|"+o.noun+"|"+full+"]")
		s.put("o.full", full)
		s.put("o.a", article(full))
		s.put("o.the", "the {o}")
		s.put("o.use", o.use)
		s.put("topic", "the "+full)
		return
	}
}

// place is somewhere to go, with what to do and where to look there.
type place struct {
	name     string
	at       string // in front of the name: "in", "at", "by"
	kids     bool   // for children alone
	tree     string // something tall there; empty: nothing
	spots    []string
	pastimes []string // past tense
}

var places = []place{
	{"the park", "in", true, "a tall tree",
		[]string{"under the bench", "behind the big tree", "near the pond", "in the tall grass", "by the gate",
			"next to the swings"},
		[]string{"played on the swings", "fed the ducks", "ran up and down the hill", "rolled in the grass",
			"watched the dogs play"}},
	{"the beach", "at", true, "",
		[]string{"behind a big rock", "under the towel", "in the wet sand", "next to an old boat", "near the water",
			"under a heap of seaweed"},
		[]string{"jumped over the waves", "looked for shells", "dug a deep hole", "ran along the water",
			"made a castle of sand"}},
	{"the garden", "in", false, "an old apple tree",
		[]string{"behind the rose bush", "under the apple tree", "by the fence", "next to the well",
			"in the flower bed", "between the carrots"},
		[]string{"watched the bees", "chased a butterfly", "looked at the flowers", "hopped from stone to stone",
			"smelled the roses"}},
	{"the playground", "at", true, "a tall tree",
		[]string{"under the slide", "behind the wall", "next to the swings", "in the sandbox", "by the seesaw",
			"under the bench"},
		[]string{"went down the slide", "played on the swings", "dug in the sandbox", "ran in circles",
			"climbed on the ropes"}},
	{"the lake", "by", false, "a tall tree",
		[]string{"behind the reeds", "next to an old boat", "between two rocks", "under a bush", "near the water",
			"in the wet sand"},
		[]string{"threw stones into the water", "watched the fish", "splashed in the water", "looked for frogs",
			"walked along the water"}},
	{"the farm", "on", true, "a tall tree",
		[]string{"behind the barn", "in the hay", "under the cart", "by the gate", "next to the hen house",
			"near the pigs"},
		[]string{"fed the hens", "jumped in the hay", "petted the lambs", "watched the cows", "helped to carry water"}},
	{"the forest", "in", false, "a very tall tree",
		[]string{"under a bush", "behind a fallen tree", "between the roots of an old tree", "by the stream",
			"in a heap of leaves", "next to the mushrooms"},
		[]string{"looked for berries", "jumped over logs", "listened to the birds", "ran between the trees",
			"picked up leaves"}},
	{"the meadow", "in", false, "a lonely tall tree",
		[]string{"in the tall grass", "behind a big stone", "among the flowers", "by the stream", "under a bush",
			"near the fence"},
		[]string{"chased butterflies", "rolled in the grass", "picked flowers", "ran with the wind",
			"looked at the clouds"}},
	{"the river", "by", false, "a tall tree",
		[]string{"under the bridge", "behind the reeds", "between two rocks", "next to a log", "in the mud",
			"under a bush"},
		[]string{"threw stones into the water", "watched the fish", "jumped from rock to rock",
			"sailed leaves on the water", "splashed in the water"}},
	{"the hill", "on", false, "a crooked tall tree",
		[]string{"behind a rock", "in the tall grass", "under a bush", "by the path", "next to a log",
			"among the flowers"},
		[]string{"rolled down the slope", "looked at the clouds", "ran with the wind", "picked flowers",
			"looked at the world below"}},
	{"the market", "at", true, "",
		[]string{"under a fruit stand", "behind a cart", "by the fountain", "next to the bread", "behind a big basket",
			"under a table"},
		[]string{"looked at the flowers", "smelled the fresh bread", "tasted a sweet apple", "listened to the music",
			"counted the pumpkins"}},
	{"the school yard", "in", true, "a tall tree",
		[]string{"under the bench", "by the gate", "behind the wall", "next to the steps", "under a bush",
			"near the door"},
		[]string{"played tag", "ran in circles", "jumped over a rope", "played with the others", "hopped on one leg"}},
}

// takePlace binds p to a place that suits the hero and the test.
func (s *teller) takePlace(suits func(place) bool) {
	for {
		p := pick(s, places)
		if p.kids && !s.kids || suits != nil && !suits(p) {
			continue
		}
		s.place = p
		s.put("p", p.name)
		s.put("p.at", p.at+" "+p.name)
		s.put("p.to", "to "+p.name)
		s.put("p.tree", p.tree)
		i := s.intn(len(p.pastimes))
		s.put("p.did", p.pastimes[i])
		s.put("p.did2", p.pastimes[(i+1+s.intn(len(p.pastimes)-1))%len(p.pastimes)])
		// Three different spots: two to look at in vain, and the right one.
		i = s.intn(len(p.spots))
		step := 1 + s.intn(2)
		for n, key := range []string{"spot1", "spot2", "spot3"} {
			s.put(key, p.spots[(i+n*step)%len(p.spots)])
		}
		return
	}
}

// hobby is what the hero loves to do, and how it comes back at the end.
type hobby struct {
	doing string
	last  string
}

var hobbies = []hobby{
	{"singing", "{Evening}, {h} sang a [little|new|happy] song about {topic}."},
	{"drawing", "{Evening}, {h} drew a [big|little|nice] picture of {topic}."},
	{"painting", "{Evening}, {h} painted a [big|little|bright] picture of {topic}."},
	{"telling stories", "{Evening}, {h} told everyone the [whole|long] story of {topic}."},
	{"dancing", "{h} was so happy that {h.he} danced [around and around|like a leaf in the wind]."},
	{"running", "{h} was so happy that {h.he} ran [three times|twice] around the house."},
	{"looking at the stars", "{Evening}, {h} looked at the stars and thought of {topic}."},
	{"reading", "{Evening}, {h} read a book in bed, but {h.he} was still thinking of {topic}."},
	{"whistling", "{h} whistled a [happy|little] tune [as loud as {h.he} could|for the rest of the day]."},
	{"picking flowers", "{Next day}, {h} picked [some flowers|a flower] to remember the day."},
	{"counting things", "{Evening}, {h} counted all the good things of the day."},
	{"dreaming", "{Evening}, {h} had a [lovely|wonderful] dream about {topic}."},
	{"baking", "{Next day}, {h} baked a [sweet|little|big] cake for everyone."},
	{"jumping", "{h} was so happy that {h.he} jumped [high into the air|up and down]."},
	{"listening to music", "{Evening}, {h} listened to some [soft|quiet] music and smiled."},
	{"making up games", "{Next day}, {h} made up a new game about {topic}."},
}

var homes = []string{
	"in a [small|little|cozy] house [by the sea|near the forest|on a hill|by the river]",
	"in a [small|quiet|little] village", "at the end of a [quiet|long] road",
	"[near|by|next to] a [big|green|quiet] [forest|lake|meadow]", "at the foot of a [green|high] hill",
	"in a [green|quiet|sunny] valley",
}

var kidHomes = []string{
	"in a [big|busy|noisy] city", "in a [little|quiet|sunny] town", "on a [small|little|big] farm",
	"in a [white|yellow|red|blue] house with a [small|big] garden", "in a tall house with many stairs",
}

var animalHomes = []string{
	"[in|at the edge of] a [deep|green|big|quiet] forest", "under the roots of an old oak tree",
	"by a [quiet|little|blue] pond", "in a meadow full of flowers", "behind an old [barn|mill|garden wall]",
}
