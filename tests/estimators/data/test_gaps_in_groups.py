"""Blocks of several columns learn nothing from rows that lack some of them, and a fit says so."""

import warnings

import numpy as np
import pytest

import evermix as em

N = 400


def table(share, whole=False):
    """Return rows of two clusters; this share of them has gaps, in one column or ``whole``."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(N, 3)) + 9.0 * rng.integers(0, 2, size=(N, 1))
    gone = np.arange(N) < round(share * N)
    order = rng.permutation(N)  # so that the first rows are like the others
    X[np.ix_(gone, [0, 1] if whole else [1])] = np.nan
    return dict(zip(["age", "income", "x"], X[order].T, strict=True))


GROUP = {("age", "income"): em.Gaussian(), "x": em.Gaussian()}
SAID = (
    r"some of the columns 'age', 'income' \(25 %\).* block of its own, "
    r"em.Mixed\(\{'age': em.Gaussian\(\), 'income': em.Gaussian\(\)\}\)"
)


@pytest.mark.parametrize("engine", [None, em.FullVB(truncation=4), em.MemoizedVB(batch_size=50)])
def test_a_fit_names_the_columns_and_what_to_do_once(engine):
    mix = em.Mixture(em.Mixed(GROUP), engine=engine, random_state=0)
    with pytest.warns(UserWarning, match=SAID) as said:
        mix.fit(table(0.25))
    assert len(said) == 1
    mix.predict(table(0.25))  # says nothing


def test_rows_in_chunks():
    X = np.column_stack(list(table(0.25).values()))
    family = em.Mixed({(0, 1): em.Gaussian(), 2: em.Gaussian()})
    with pytest.warns(UserWarning, match=r"columns 0, 1 \(2\d %\).*\{0: em.Gaussian\(\), 1: em"):
        em.Mixture(family, engine=em.ADF(), random_state=0).fit(em.Chunks([X[:90], X[90:]]))


@pytest.mark.parametrize(
    ("blocks", "rows"),
    [
        (GROUP, table(0.2)),
        (GROUP, table(0.5, whole=True)),  # blocks of one column would not learn more
        (dict.fromkeys(["age", "income", "x"], em.Gaussian()), table(0.5)),
        ({("age", "income", "x"): em.DiagonalGaussian()}, table(0.5)),  # columns are independent
    ],
    ids=["few", "all gone", "apart", "independent"],
)
def test_where_nothing_is_lost_nothing_is_said(blocks, rows):
    with warnings.catch_warnings(action="error"):
        em.Mixture(em.Mixed(blocks), random_state=0).fit(rows)


def test_chosen_groups_leave_such_columns_out():
    with warnings.catch_warnings(action="error"):
        em.Mixture(random_state=0).fit(table(0.5))
