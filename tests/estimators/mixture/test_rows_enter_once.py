"""Rows are checked once where they enter, and observers learn what happened to them."""

import pickle
from dataclasses import dataclass

import numpy as np
import pytest

import evermix as em
from helpers.mixture_cases import assert_same_model, blobs

X, _ = blobs(9000, D=3)


@dataclass(frozen=True)
class Counted(em.Gaussian):
    """A family that counts the rows that it is shown."""

    def __post_init__(self):
        object.__setattr__(self, "seen", {"check": [], "candidates": []})

    def check(self, X):
        self.seen["check"].append(X.shape[0])

    def candidates(self, X):
        self.seen["candidates"].append(X.shape[0])
        return super().candidates(X)


def test_a_fit_checks_every_row_once_block_by_block():
    """Blocks fit into the cache, so that all checks and the digest read memory once."""
    family = Counted()
    em.Mixture(family).fit(X)
    assert family.seen["check"] == [4096, 4096, 808]


def test_the_first_partial_fit_computes_candidates_from_the_first_rows_once():
    """One row is enough to refuse invalid hyperparameters while rows wait."""
    family = Counted()
    mix = em.Mixture(family, engine=em.ADF()).partial_fit(X[:600])
    mix.partial_fit(X[600:1200]).partial_fit(X[1200:1201])
    assert family.seen["candidates"][0] == 1 and family.seen["check"] == [600, 600]
    assert set(family.seen["candidates"][1:]) == {1000}
    assert mix.model_.family.seen["check"] == [1]


@pytest.mark.parametrize("place", [3, 5000])
@pytest.mark.parametrize("value", [np.nan, np.inf, 1e200])
def test_rows_that_need_no_conversion_raise_the_same_errors_as_others(place, value):
    """Arrays of the right type and width take a short way."""
    mix = em.Mixture(engine=em.ADF()).partial_fit(X[:1500])
    bad = X.copy()
    bad[place, 1] = value
    messages = set()
    for rows in (bad, bad.tolist(), np.asfortranarray(bad)):
        for method in (mix.partial_fit, mix.predict, em.Mixture(em.Gaussian()).fit):
            with pytest.raises(ValueError) as caught:
                method(rows)
            messages.add(str(caught.value))
    assert len(messages) == 1
    with pytest.raises(ValueError, match="X has 2 features, but Mixture is expecting 3"):
        mix.partial_fit(X[:1, :2])
    assert mix.state_.clock == 1500


def test_the_family_names_the_row_among_all_rows():
    counts = np.ones((9000, 2))
    counts[8000, 1] = -1.0
    for family in (em.Poisson(), em.Multinomial()):
        with pytest.raises(ValueError, match="in row 8000, column 1"):
            em.Mixture(family).fit(counts)


def test_observers_of_partial_fit_are_called_after_every_step():
    """They get what the history would hold, and see labels of the rows learnt so far."""
    steps = []
    mix = em.Mixture(engine=em.ADF()).partial_fit(X[:1000])
    mix.partial_fit(X, observers=[lambda mix, info: steps.append((info, mix.state_.clock))])
    assert [info.rows for info, _ in steps] == [4096, 4096, 808]
    assert [info.clock for info, _ in steps] == [clock for _, clock in steps]
    held = [one for info, _ in steps for one in (info.summary(), *info.reviews)]
    assert held == mix.history_[-len(held) :]
    assert_same_model(mix, em.Mixture(engine=em.ADF()).partial_fit(X[:1000]).partial_fit(X))


def test_observers_are_called_when_rows_that_wait_are_learnt():
    """Those of the call with which there are enough; questions before that change nothing."""
    first, last = [], []
    mix = em.Mixture().partial_fit(X[:20], observers=[lambda *call: first.append(call)])
    again = pickle.loads(pickle.dumps(mix))
    assert again.n_clusters_ and mix.n_clusters_ and mix.history_ and not first
    mix.partial_fit(X[20:70], observers=[lambda *call: last.append(call)])
    assert not first and all(observed is mix for observed, _ in last)
    assert [info.rows for _, info in last] == [70]
    assert [info.clock for info in last[0][1].reviews] == [64]


def test_observers_must_be_callables():
    mix = em.Mixture()
    for observers in (3, [3]):
        with pytest.raises(TypeError, match="observers must be"):
            mix.partial_fit(X, observers=observers)
