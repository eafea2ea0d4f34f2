"""Arrays whose values are not what they seem are refused wherever rows enter."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import evermix as em

X = np.random.default_rng(0).normal(size=(100, 3))
DATES = np.datetime64("2024-01-01") + np.arange(300).reshape(100, 3)
WRONG = {
    "masked": (np.ma.masked_array(X, X > 1), "masked"),
    "dates": (DATES, "dates or durations"),
    "durations": (DATES - DATES[0], "dates or durations"),
    "frame of dates": (pd.DataFrame(DATES), "dates or durations"),
}


@pytest.mark.parametrize("rows, message", WRONG.values(), ids=WRONG)
def test_masks_and_dates_are_refused(rows, message):
    """By fit, partial_fit and every question."""
    mix = em.Mixture().fit(X)
    before = mix.tally_.stats.copy()
    calls = [em.Mixture().fit, em.Mixture().partial_fit, mix.partial_fit]
    calls += [mix.predict, mix.predict_proba, mix.score_samples, mix.score, mix.groups]
    for call in calls:
        with pytest.raises(TypeError, match=message):
            call(rows)
    assert np.array_equal(mix.tally_.stats, before)


def test_chunks_and_weights_are_refused_too():
    masked = WRONG["masked"][0]
    with pytest.raises(TypeError, match="masked"):
        em.Mixture(engine=em.ADF()).fit(em.Chunks(lambda: iter([X, masked])))
    with pytest.raises(TypeError, match="sample_weight must have no mask"):
        em.Mixture().fit(X, sample_weight=np.ma.masked_array(np.ones(100), np.arange(100) < 5))


@pytest.mark.parametrize("rows", [["one text", "another text"], "One text."])
def test_texts_are_no_rows(rows):
    with pytest.raises(TypeError, match="Count the words of texts"):
        em.Mixture().fit(rows)


@pytest.mark.parametrize("path", ["flats.csv", Path("of 2024/flats.parquet")], ids=str)
@pytest.mark.parametrize("family", ["auto", em.Mixed()])
def test_a_path_is_named_with_what_reads_it(path, family):
    mix = em.Mixture(family)
    for learn in (mix.fit, mix.partial_fit):
        with pytest.raises(
            TypeError, match=r"the path '.*'. Read .* em.Mixture\(\).fit\(pd.read_csv"
        ):
            learn(path)
