package storymodel

// plot is one shape of story.
type plot struct {
	name  string
	suits func(skill) bool // whether an animal can be its hero; nil: any
	tell  func(*teller)
}

var plots = []plot{
	{"lost thing", nil, lostThing},
	{"stuck in a tree", func(a skill) bool { return a&(climbs|flies) == 0 }, stuckThing},
	{"found thing", nil, foundThing},
	{"lost little one", nil, lostLittleOne},
	{"broken thing", nil, brokenThing},
	{"quarrel", nil, quarrel},
	{"sharing", nil, sharing},
	{"afraid", nil, afraid},
	{"noise in the night", nil, nightNoise},
	{"building", nil, building},
	{"learning", nil, learning},
	{"garden", nil, garden},
	{"present", nil, present},
	{"rain", nil, rainyDay},
	{"helping", nil, helping},
	{"race", nil, race},
	{"warning", nil, warning},
	{"new friend", nil, newcomer},
}
