"""Shapes: clusters that no valley of the density parts are one group."""

from sklearn.datasets import make_moons

import evermix as em
from evermix.report.canvas import PALETTE
from pictures import save

X, _ = make_moons(1000, noise=0.06, random_state=0)
mix = em.Mixture(random_state=0).fit(X)
axes = em.plot.clusters(mix, X, title=f"{mix.n_clusters_} clusters, coloured by group")
axes.clear()
axes.scatter(*X.T, s=12, color=[PALETTE[group] for group in mix.groups(X)])
save(axes, "moons")
