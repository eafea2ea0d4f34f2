"""Births and merges: variational fits of digits that begin with 3 and with 40 clusters."""

from sklearn.datasets import load_digits
from sklearn.decomposition import PCA

import evermix as em
from pictures import save

X = PCA(10, random_state=0).fit_transform(load_digits().data)
engines = {
    "MemoizedVB from 3": em.MemoizedVB(laps=15, start="random", truncation=3),
    "MemoizedVB from 40": em.MemoizedVB(laps=15, start="random", truncation=40),
    "FullVB, always 20": em.FullVB(15, truncation=20),
}
family = em.Gaussian().candidates(X)[0]
fits = {
    name: em.Mixture(family, em.DP(1.0), engine, random_state=0).fit(X)
    for name, engine in engines.items()
}
save(em.plot.bound(fits, title="1,797 digits"), "digits")
