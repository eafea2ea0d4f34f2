"""Clusters in a table of measurements: irises, without their species."""

from sklearn.datasets import load_iris

import evermix as em
from pictures import save

X = load_iris().data
mix = em.Mixture(random_state=0).fit(X)
save(em.plot.clusters(mix, X, columns=(2, 3), title="Irises"), "flowers")
