"""Levels of categories that differ in case or blanks only are one."""

import numpy as np
import pytest

import evermix as em
from evermix.estimators.data.levels import codes_of, with_common_codes
from evermix.io.sources import open_source
from evermix.io.sources.values import objects

SPELLINGS = [["Dog", "dog ", "DOG", "dog"], ["cat", "Cat", " cat", "CAT"]]


def table(n=200, seed=0):
    rng = np.random.default_rng(seed)
    z = np.arange(n) % 2
    species = [SPELLINGS[k][i] for k, i in zip(z, rng.integers(0, 4, n), strict=True)]
    return {"weight": rng.normal(4.0 + 20.0 * z), "species": ["Dog", "cat", *species[2:]]}


def plain(some):
    return some | {"species": [word.strip().capitalize() for word in some["species"]]}


def some_rows(table, rows):
    return {name: values[rows] for name, values in table.items()}


def test_spellings_of_a_level_are_one_level_shown_as_it_was_first_written():
    mix, other = (em.Mixture().fit(some) for some in (table(), plain(table())))
    assert mix.levels_ == {"species": ["Dog", "cat"]}
    assert mix.labels_.tolist() == other.labels_.tolist()
    found = [mix.predict_proba({"weight": [9.0], "species": [word]}) for word in SPELLINGS[0]]
    assert all(np.array_equal(proba, found[0]) for proba in found)
    assert mix.impute({"weight": [4.0], "species": [None]})["species"].tolist() == ["Dog"]


@pytest.mark.parametrize("cut", [3, 77])
def test_levels_of_a_stream_are_those_of_any_cuts(cut, tmp_path):
    family = em.Mixed({"weight": em.Gaussian(), "species": em.Categorical()})
    found, whole = em.Mixture(family), em.Mixture(family).partial_fit(table())
    for start in range(0, 200, cut):
        found.partial_fit(some_rows(table(), slice(start, start + cut)))
        found.save(tmp_path / "m.evermix")
        found = em.load(tmp_path / "m.evermix")
    assert found.levels_ == whole.levels_ == {"species": ["Dog", "cat"]}
    assert np.array_equal(found.state_.tally.stats, whole.state_.tally.stats)


def test_words_come_in_the_same_way_from_files(tmp_path):
    pa, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    parquet.write_table(pa.table(table()), tmp_path / "a.parquet")
    (chunk,) = open_source(tmp_path / "a.parquet").chunks(0, 200)
    assert em.Mixture().fit(chunk.X).levels_ == {"species": ["Dog", "cat"]}


def test_levels_that_older_files_hold_apart_stay_apart():
    known = ["yes", "Yes", "no", "dog "]
    words = objects(["Yes", "yes", "YES", "NO", "dog ", "dog", "maybe", None])
    codes, levels = codes_of("answer", words, known, learning=True)
    assert codes[:-1].tolist() == [1, 0, 0, 2, 3, 3, 4] and np.isnan(codes[-1])
    assert levels == [*known, "maybe"]
    assert codes_of("answer", words, known, learning=False)[0][6] == len(known)


def test_models_with_other_spellings_have_common_codes():
    levels, codes = with_common_codes([["no", "yes"], ["Yes", "maybe", "No"], ["YES", "Yes"]])
    assert levels == ["no", "yes", "maybe", "Yes"]
    assert codes == [[0, 1], [1, 2, 0], [1, 3]]


def test_booleans_numbers_and_words_are_different_levels():
    values = objects([True, 1, "1", "true", 1.0])
    assert codes_of("answer", values, (), learning=True)[0].tolist() == [0, 1, 2, 3, 1]


@pytest.mark.parametrize("before", [(), (0, 5)])
def test_marks_among_levels_that_are_numbers_are_missing(before):
    codes, levels = codes_of("nights", objects([5, "-", 0, "?"]), before, learning=True)
    assert np.isnan(codes).tolist() == [False, True, False, True] and set(levels) == {0, 5}
    words = objects(["a", "-"])
    assert codes_of("kind", words, (), learning=True)[1] == ["a", "-"]
