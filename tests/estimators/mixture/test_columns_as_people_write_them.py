"""Columns of tables as people write them: names of rows, dates and small whole numbers."""

import warnings

import numpy as np
import pandas as pd
import pytest

import evermix as em

N = 400


def flats():
    """Two kinds of flats, on any floor."""
    rng = np.random.default_rng(0)
    kind = np.arange(N) % 2
    size = np.where(kind, rng.normal(95.0, 10.0, N), rng.normal(30.0, 4.0, N))
    return pd.DataFrame({"size": size, "heating": np.where(kind, "gas", "oil")}), kind


def test_names_of_rows_are_ignored_if_some_rows_are_there_twice():
    table, _ = flats()
    names = [f"F{i}" for i in range(N)]
    names[7] = names[8] = names[9]
    with pytest.warns(UserWarning, match="'no' holds too many different words"):
        mix = em.Mixture().fit(table.assign(no=names))
    assert mix.model_.family.ignored == ("no",)
    np.testing.assert_array_equal(mix.labels_, em.Mixture().fit(table).labels_)
    words = [f"w{i % 200}" for i in range(N)]  # each of them twice
    with pytest.warns(UserWarning, match="'word' holds too many different words"):
        mix = em.Mixture().fit(table.assign(word=words))
    assert mix.model_.family.ignored == ("word",)
    words = [f"w{i % 100}" for i in range(N)]  # each of them four times
    with pytest.warns(UserWarning, match="'word' has 100 different words in 400 rows"):
        mix = em.Mixture().fit(table.assign(word=words))
    assert mix.model_.family.ignored == ()


def test_words_of_the_first_rows_may_come_again():
    """A stream chooses by its first rows, in which most of 40 towns are there once or twice."""
    table, _ = flats()
    mix = em.Mixture().partial_fit(table.assign(town=[f"t{7 * i % 40}" for i in range(N)])[:100])
    assert mix.model_.family.ignored == ()


@pytest.mark.parametrize(
    "date",
    ["%d.%m.%Y", "%m/%d/%Y", "%m/%d/%y", "%Y/%m/%d", "%d.%m.%y", "%d-%m-%Y", "%Y-%m-%d %H:%M"]
    + ["%d %B %Y", "%b %d, %Y", "%d.%m.%Y %H:%M:%S"],
)
def test_dates_as_people_write_them_are_ignored(date):
    table, _ = flats()
    days = pd.date_range("2024-01-25", periods=30)[np.arange(N) % 30].strftime(date)
    with pytest.warns(UserWarning, match="'from' holds dates: it is ignored"):
        mix = em.Mixture().fit(table.assign(**{"from": days}))
    assert mix.model_.family.ignored == ("from",)


@pytest.mark.parametrize("words", [["1.2.3", "2.0.1"], ["12-34", "7-11"], ["may 1", "march"]])
def test_versions_and_other_words_are_no_dates(words):
    table, _ = flats()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        mix = em.Mixture().fit(table.assign(word=[words[i % 2] for i in range(N)]))
    assert mix.model_.family.ignored == ()


@pytest.mark.parametrize("way", ["fit", "partial_fit"])
def test_small_whole_numbers_do_not_make_a_cluster_each(way):
    """On the log scale, floors 0, 1, 2, ... would be clusters without any width."""
    table, kind = flats()
    rng = np.random.default_rng(1)
    floors = np.where(kind, rng.integers(0, 5, N), rng.geometric(0.25, N).clip(0, 15))
    floors = pd.Series(floors, dtype=float).mask(rng.random(N) < 0.05)
    mix = getattr(em.Mixture(random_state=0), way)(table.assign(floor=floors))
    assert mix.n_clusters_ == 2
    assert np.mean((mix.labels_ == mix.labels_[0]) == (kind == kind[0])) > 0.98
