"""Levels of categories that differ in case or blanks only are one."""

import numpy as np
import pytest

import evermix as em
from evermix.cli.input.model_rows import known_kinds
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


@pytest.mark.parametrize("postcode", ["08516", "28516"])  # the zero says that digits are names
@pytest.mark.parametrize("mark", ["-", "?"])
def test_cells_of_postcodes_are_the_same_in_files_and_in_tables(tmp_path, postcode, mark):
    z = np.arange(80) % 2
    X = {
        "size": np.char.mod("%.3f", np.random.default_rng(0).normal(4 * z)).astype(object),
        "postcode": np.where(np.arange(80) % 9, np.where(z, postcode, "10115"), "-").astype(object),
    }

    def read(X, **known):
        rows = [",".join(row) for row in zip(*X.values(), strict=True)]
        (tmp_path / "a.csv").write_text("\n".join([",".join(X), *rows]))
        return next(open_source(tmp_path / "a.csv", kind="table", **known).chunks(0, 99)).X

    later = X | {"postcode": np.where(z, postcode, mark).astype(object)}
    of_file = em.Mixture(random_state=0).fit(read(X, category=("postcode",) * (postcode[0] != "0")))
    of_table = em.Mixture(random_state=0).fit(X)  # 28516 is a number there
    assert postcode[0] != "0" or of_file.levels_ == of_table.levels_
    for mix in [of_file, of_table][: 1 + (postcode[0] == "0")]:
        known = {name: known_kinds(mix)[name] for name in ("numbers", "codes")}
        for rows in (X, later):
            scores = mix.score_samples(read(rows, **known))
            np.testing.assert_allclose(mix.score_samples(rows), scores, rtol=1e-9)


@pytest.mark.parametrize("seed", range(3))
def test_marks_among_numbers_are_missing_in_any_order_of_rows(seed):
    rows = np.random.default_rng(seed).permutation(40)
    numbers = objects([*[0, 5, "-", "?"] * 9, 7, 7, "n/a", None])[rows]
    with_a_word = objects([*[0, 5] * 15, "many", "-", *[0] * 8])[rows]
    for values, expected in ((numbers, {0, 5, 7}), (with_a_word, {0, 5, "many"})):
        codes, levels = codes_of("nights", values, (), learning=True)
        assert set(levels) == expected
        assert np.isnan(codes).tolist() == [v in ("-", "?", "n/a", None) for v in values]
        again, same = codes_of("nights", values[:3], levels, learning=True)
        assert np.array_equal(again, codes[:3], equal_nan=True) and same == levels
    words = objects(["-", 5, "low", "high"] * 10)[rows]  # of which "-" may be one
    codes, levels = codes_of("kind", words, (), learning=True)
    assert set(levels) == {"-", 5, "low", "high"}
    assert codes_of("kind", objects(["-"]), levels, learning=True)[0] == levels.index("-")


@pytest.mark.parametrize(
    "values", [[0, 5], [0.25, 1.5, 2.75, 3.25, 4.5, 5.75, 6.5, 7.25, 8.5, 9.75, 11.5]]
)
def test_marks_before_numbers_change_nothing(values):
    some = [values[i % len(values)] for i in range(200)]
    kinds = ["a" if 2 * i < len(values) else "b" for i in [j % len(values) for j in range(200)]]
    marked, blank = ({"x": [gone, *some[1:]], "kind": kinds} for gone in ("-", None))
    mix, other = (em.Mixture(random_state=0).fit(x) for x in (marked, blank))
    assert repr(mix.model_.family) == repr(other.model_.family) and mix.levels_ == other.levels_
    np.testing.assert_array_equal(mix.predict_proba(marked), other.predict_proba(blank))
