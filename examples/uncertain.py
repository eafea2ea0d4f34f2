"""How sure it is: the share of draws of a sampler in which two rows are together."""

import numpy as np

import evermix as em
from pictures import save

rng = np.random.default_rng(0)
X = rng.normal(size=(150, 2)) + np.repeat([[0.0, 0.0], [2.6, 0.0], [9.0, 0.0]], 50, axis=0)
engine = em.Gibbs(sweeps=300, chains=2)
mix = em.Mixture(em.FixedGaussian(1.0, 25.0), em.DP(1.0), engine, random_state=0).fit(X)
save(em.plot.co_clustering(mix, title="Two clusters that overlap, and one apart"), "uncertain")
