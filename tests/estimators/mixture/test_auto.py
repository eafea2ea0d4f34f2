"""Families that "auto" chooses in streams, and what it says of them."""

import logging

import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import adjusted_rand_score

import evermix as em

RNG = np.random.default_rng(0)
TRUTH = RNG.integers(2, size=300)
YES_NO = (RNG.random((300, 12)) < np.where(TRUTH, 0.9, 0.1)[:, None]).astype(float)
PEOPLE = np.column_stack(
    [
        np.where(TRUTH, 30, 60) + RNG.normal(0, 5, 300).round(),
        np.where(TRUTH, 40, 20) + RNG.normal(0, 4, 300).round(),
        RNG.integers(1, 4, 300),
        RNG.random(300) < np.where(TRUTH, 0.8, 0.2),
    ]
)
COUNTS = RNG.poisson(0.2 + 0.8 * (np.arange(40) % 2 == TRUTH[:, None])).astype(np.int64)
COUNTS[:, 2:] *= RNG.random((300, 38)) < 0.4
HOLES = PEOPLE[:, :2].copy()
HOLES[40::7, 1] = np.nan


@pytest.mark.parametrize(
    ("X", "family"),
    [(YES_NO, em.Bernoulli), (PEOPLE, em.Mixed), (COUNTS, em.Multinomial), (HOLES, em.Mixed)],
    ids=["yes/no", "levels", "counts", "holes"],
)
@pytest.mark.parametrize("frame", [False, True])
def test_cuts_of_a_stream_do_not_change_the_family(X, family, frame):
    models = []
    for cut in (1, 7, 300):
        mix = em.Mixture(random_state=0)
        for start in range(0, 300 if cut > 1 else 120, cut):
            rows = X[start : min(start + cut, 120) if cut < 300 else 120]
            if len(rows):
                mix.partial_fit(pd.DataFrame(rows).rename(columns=str) if frame else rows)
        assert type(mix.model_.family) is family
        models.append(mix)
    if not frame:
        for mix in models[:-1]:
            np.testing.assert_array_equal(mix.tally_.stats, models[-1].tally_.stats)


def test_a_stream_that_waits_is_saved_and_goes_on(tmp_path):
    whole = em.Mixture(random_state=0).partial_fit(YES_NO[:50]).partial_fit(YES_NO[50:])
    mix = em.Mixture(random_state=0).partial_fit(YES_NO[:50])
    mix.save(tmp_path / "m.evermix")
    again = em.load(tmp_path / "m.evermix").partial_fit(YES_NO[50:])
    assert type(again.model_.family) is em.Bernoulli
    np.testing.assert_array_equal(again.tally_.stats, whole.tally_.stats)
    assert adjusted_rand_score(TRUTH, again.predict(YES_NO)) > 0.8


def test_columns_of_levels_are_no_gaussians():
    for X in (PEOPLE, pd.DataFrame(PEOPLE, columns=list("abcd"))):
        mix = em.Mixture(random_state=0).fit(X)
        assert mix.n_clusters_ == 2
        assert adjusted_rand_score(TRUTH, mix.labels_) > 0.95


def test_the_choice_is_logged_once_and_kept(caplog, tmp_path):
    with caplog.at_level(logging.INFO, "evermix"):
        mix = em.Mixture(random_state=0).fit(YES_NO)
        assert [record.getMessage() for record in caplog.records] == [
            "the family is Bernoulli: all values are 0 or 1."
        ]
        caplog.clear()
        stream = em.Mixture(random_state=0)
        for start in range(0, 300, 30):
            stream.partial_fit(YES_NO[start : start + 30])
        assert len(caplog.records) == 1
        caplog.clear()
        em.Mixture(em.Bernoulli()).fit(YES_NO)
        assert not caplog.records
    assert mix.family_reason_ == stream.family_reason_ == "all values are 0 or 1"
    mix.save(tmp_path / "m.evermix")
    assert em.load(tmp_path / "m.evermix").family_reason_ == mix.family_reason_
    mix.set_params(family=em.Bernoulli()).fit(YES_NO)
    assert not hasattr(mix, "family_reason_")


def test_the_reason_of_a_table_says_which_column_is_taken_as_what():
    rng = np.random.default_rng(0)
    income = np.exp(8 + 2 * rng.normal(size=100))
    table = {"age": rng.normal(size=100), "income": income, "city": ["Rome", "Oslo"] * 50}
    table["id"] = [f"p{i}" for i in range(100)]
    with pytest.warns(UserWarning, match="'id' holds too many different words"):
        reason = em.Mixture().fit(table).family_reason_
    assert reason.startswith("columns are taken as numbers (")
    assert reason.endswith("on the log scale (income), categories (city), ignored (id)")
    assert "age" in reason
