"""A stream: how many clusters there are after so many rows, how large, how well predicted."""

import numpy as np

import evermix as em
from pictures import save

rng = np.random.default_rng(0)
centres = rng.normal(scale=8.0, size=(12, 2))
known = np.repeat([4, 8, 12], 1000)  # clusters that rows may be of
X = centres[rng.integers(0, known)] + rng.normal(size=(3000, 2))
mix = em.Mixture(random_state=0)
for batch in np.array_split(X, 60):
    mix.partial_fit(batch)
save(em.plot.stream(mix, title="Four clusters, then eight, then twelve"), "stream")
