package layers

// NormSites lists the norms of the path this state runs, in forward order.
func (s *State) NormSites() []NormSite { return sitesOf(s.norms) }

// NormSitesOf lists the norms of a model in forward order, as State.NormSites does, without a device: for a trace that
// another program made. In the arena form the norm after an output projection with a bias adds that bias only where the
// model's weights are loaded; the batch form depends on the config alone.
func NormSitesOf(m *Model, arena bool) []NormSite { return sitesOf(modelNorms(m, arena)) }

func sitesOf(list []norm) []NormSite {
	sites := make([]NormSite, len(list))
	for i, n := range list {
		sites[i] = n.NormSite
	}
	return sites
}

// Form says which fused kernel this state runs: NormsBatch or NormsArena.
func (s *State) Form() Norms {
	if s.arena.Valid() {
		return NormsArena
	}
	return NormsBatch
}
