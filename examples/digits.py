"""Births and merges: a variational fit of digits, beside one with a fixed number of clusters."""

from sklearn.datasets import load_digits
from sklearn.decomposition import PCA

import evermix as em
from pictures import save

X = PCA(10, random_state=0).fit_transform(load_digits().data)
engines = {"MemoizedVB": em.MemoizedVB(laps=15), "FullVB, K = 20": em.FullVB(15, truncation=20)}
family = em.Gaussian().candidates(X)[0]
fits = {
    name: em.Mixture(family, em.DP(1.0), engine, random_state=0).fit(X)
    for name, engine in engines.items()
}
save(em.plot.bound(fits, title="1,797 digits"), "digits")
