"""Births on samples of rows."""

import numpy as np

import evermix as em
from evermix.engines.variational import memoized
from evermix.engines.variational.moves import birth


def test_clusters_too_costly_for_a_sample_are_found_by_what_its_rows_stand_for(monkeypatch):
    rng = np.random.default_rng(0)
    scales = np.repeat([[0.2, 0.1], [0.1, 0.2]], 4, axis=1)
    y = rng.integers(0, 2, 8000)
    X = scales[y] * rng.normal(size=(8000, 8))
    family = em.Gaussian(np.zeros(8), 0.01, 20.0, np.eye(8))
    monkeypatch.setattr(memoized, "SAMPLE", 500)
    monkeypatch.setattr(birth, "ROWS", 500)
    monkeypatch.setattr(birth, "MOST_ROWS", 500)

    def fit():
        return em.Mixture(family, em.DP(1.0), em.MemoizedVB(batch_size=2000), random_state=0).fit(X)

    both = fit()
    assert both.n_clusters_ == 2
    monkeypatch.setattr(birth, "ATTEMPTS", birth.ATTEMPTS[:-1])
    monkeypatch.setattr(birth, "STAGES", len(birth.ATTEMPTS))
    one = fit()
    assert one.n_clusters_ == 1 and one.lower_bound_ < both.lower_bound_ - 100
