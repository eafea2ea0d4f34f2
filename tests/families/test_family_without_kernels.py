"""A family of 80 lines without compiled verbs learns directions with every kind of engine."""

from pathlib import Path

import numpy as np
import pytest
from scipy.stats import vonmises_fisher
from sklearn.metrics import adjusted_rand_score

import evermix as em
from evermix.testing import check_family
from helpers import directions as module
from helpers.directions import Directions, log_area

D = 4
MEANS = np.eye(D)[:3]


def directions(n, concentration=30.0, seed=0):
    """Rows about three axes, and the axis of each."""
    rng = np.random.default_rng(seed)
    z = rng.integers(0, 3, n)
    laws = [vonmises_fisher(mean, concentration) for mean in MEANS]
    return np.array([laws[k].rvs(1, random_state=rng)[0] for k in z]), z


def test_it_is_short_and_has_no_compiled_part():
    text = Path(module.__file__).read_text(encoding="utf-8")
    assert len(text.splitlines()) <= 80
    assert "kernel" not in text and "numba" not in text


@pytest.mark.parametrize("prior", [0.0, 0.7, np.array([0.0, 2.0, -1.0, 0.0])], ids=repr)
@pytest.mark.parametrize("concentration", [0.1, 10.0, 900.0])
def test_it_obeys_the_laws(concentration, prior):
    check_family(Directions(concentration, prior, n_features=D), directions(25)[0])


def test_the_normaliser_is_that_of_the_sphere():
    """4 pi sinh(z) / z in three columns; the area itself where z is zero, in any number."""
    z = np.array([1e-9, 0.3, 4.0, 80.0])
    np.testing.assert_allclose(log_area(z, 3), np.log(4 * np.pi * np.sinh(z) / z), rtol=1e-12)
    np.testing.assert_allclose(np.exp(log_area(0.0, 2)), 2 * np.pi)
    assert np.all(np.isfinite(log_area(np.array([0.0, 1e-3, 1.0, 1e3, 1e6]), 400)))


def test_a_first_row_has_a_uniform_density():
    x = directions(5)[0]
    family = Directions(20.0, n_features=D)
    density = family.log_predictive(x, family.eta0[None])[:, 0] + family.log_base(x)
    np.testing.assert_allclose(density, -log_area(0.0, D), rtol=1e-10)


def test_it_streams(tmp_path):
    """Batches, a file in between, and one pass are the same; clusters are those of the data."""
    X, z = directions(300)
    whole = em.Mixture(Directions(30.0), random_state=0).partial_fit(X)
    mix = em.Mixture(Directions(30.0), random_state=0)
    for start in range(0, 300, 75):
        mix.partial_fit(X[start : start + 75]).save(tmp_path / "m.evermix")
        mix = em.load(tmp_path / "m.evermix")
    np.testing.assert_array_equal(mix.score_samples(X), whole.score_samples(X))
    assert adjusted_rand_score(z, whole.predict(X)) > 0.9
    rows = whole.sample(20)[0]
    np.testing.assert_allclose(np.linalg.norm(rows, axis=1), 1.0, rtol=1e-9)


@pytest.mark.parametrize(
    "engine", [em.EP(laps=2), em.Gibbs(sweeps=5), em.Slice(sweeps=9), em.FullVB(), em.MemoizedVB()]
)
def test_other_engines_find_the_same_clusters(engine):
    X, z = directions(90)
    mix = em.Mixture(Directions(30.0), engine=engine, random_state=0).fit(X)
    assert adjusted_rand_score(z, mix.labels_) > 0.8  # a young chain has a few clusters too many


def test_rows_of_another_length_are_refused():
    with pytest.raises(ValueError, match=r"rows of length 1, got \[1.0, 1.0\] in row 1"):
        em.Mixture(Directions()).fit(np.array([[1.0, 0.0], [1.0, 1.0]]))
