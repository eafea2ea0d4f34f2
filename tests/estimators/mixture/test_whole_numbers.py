"""Ranges of columns that have held whole numbers only end with whole numbers."""

import json

import numpy as np
import pandas as pd
import pytest

import evermix as em
from evermix.estimators.data.whole import from_spec, whole_columns
from evermix.estimators.packing import registry
from helpers.commands import evermix


def table(n=300, fraction=0.0, seed=0):
    """Return amounts of two kinds of parties: of guests, whole numbers, and of bills."""
    rng = np.random.default_rng(seed)
    z = np.arange(n) % 2
    guests = np.floor(np.exp(1.0 + 2.2 * z + 0.6 * rng.normal(size=n)))
    guests[-1] += fraction
    return pd.DataFrame({"guests": guests, "bill": np.exp(3 + 2 * z + 0.4 * rng.normal(size=n))})


def have_whole_ends(traits):
    """Whether the ranges of each column all end with whole numbers, of traits as plain data."""
    found = {}
    for trait in traits:
        ends = [*(trait["range"] or ()), *(trait["range_elsewhere"] or ())]
        whole = all(float(end).is_integer() for end in ends)
        found[trait["column"]] = found.get(trait["column"], True) and whole
    return found


def on_cards(mix, **names):
    return have_whole_ends(t.to_dict() for card in mix.cards(**names) for t in card.traits)


def streamed(table, size=60):
    mix = em.Mixture(random_state=0)
    for start in range(0, len(table), size):
        mix.partial_fit(table[start : start + size])
    return mix


WHOLE, NOT = {"guests": True, "bill": False}, {"guests": False, "bill": False}


@pytest.mark.parametrize("learnt", [em.Mixture(random_state=0).fit, streamed])
@pytest.mark.parametrize(("fraction", "expected"), [(0.0, WHOLE), (0.5, NOT)])
def test_on_cards_before_and_after_a_file(learnt, fraction, expected, tmp_path):
    mix = learnt(table(fraction=fraction))
    mix.save(tmp_path / "m.evermix")
    for model in (mix, em.load(tmp_path / "m.evermix")):
        assert on_cards(model) == expected


def test_a_later_fraction_ends_it_and_a_refused_or_asked_row_does_not():
    mix = streamed(table())
    mix.predict(table(fraction=0.5))
    with pytest.raises(ValueError, match="infinity"):
        mix.partial_fit(table(fraction=np.inf))
    assert on_cards(mix) == WHOLE
    mix.partial_fit(table(fraction=0.5, seed=1))
    assert on_cards(mix) == NOT
    assert on_cards(mix.partial_fit(table())) == NOT  # since they were not all whole
    assert on_cards(mix.fit(table())) == WHOLE  # which forgets everything


def test_missing_values_single_rows_and_arrays_that_lie_in_files(tmp_path):
    X, names = table().to_numpy(), ["guests", "bill"]
    np.save(tmp_path / "x.npy", X)
    mapped = np.load(tmp_path / "x.npy", mmap_mode="r")
    for rows in (X, mapped, em.Chunks([X[:100], X[100:]])):
        mix = em.Mixture(random_state=0).fit(rows)
        assert on_cards(mix, names=names) == WHOLE
    mix.partial_fit(X[:1])  # a row alone takes another way
    assert on_cards(mix, names=names) == WHOLE
    mix.partial_fit(X[:1] + 0.5)
    assert on_cards(mix, names=names) == NOT
    gaps = table()
    gaps.loc[::7, "guests"] = np.nan
    assert on_cards(em.Mixture(random_state=0).fit(gaps))["guests"]


def test_a_merged_model_has_whole_numbers_where_all_have():
    first = em.Mixture(random_state=0).fit(table().to_numpy())
    for fraction, expected in ((0.0, [True, False]), (0.5, [False, False])):
        second = em.Mixture(first.model_.family, random_state=0)
        second.fit(table(fraction=fraction, seed=1).to_numpy())
        assert em.merge([first, second]).whole_.tolist() == expected


@pytest.mark.parametrize("command", ["fit", "stream"])
def test_files_on_the_command_line(command, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for fraction, expected in ((0.0, WHOLE), (0.5, NOT)):
        table(fraction=fraction).to_csv("x.csv", index=False)
        evermix(command, "x.csv", "--out", "o.csv", "--checkpoint", "m.evermix", "--overwrite")
        clusters = json.loads(evermix("info", "m.evermix", "--json").stdout)["clusters"]
        assert have_whole_ends(t for one in clusters for t in one["traits"]) == expected


def test_of_older_files_it_is_not_known():
    mix = streamed(table())
    arrays, header = mix.to_file()
    assert header.pop("whole") == [0]
    older = em.Mixture.from_file((arrays, header), registry(()))
    assert on_cards(older) == NOT
    assert on_cards(older.partial_fit(table())) == NOT


@pytest.mark.parametrize("bad", ["0", [2], [-1], [0, 0], [1, 0], [True], [0.0], [None]])
def test_a_file_that_names_no_columns_is_refused(bad):
    with pytest.raises(ValueError, match="whole numbers"):
        from_spec(bad, 2)


def test_parts_of_rows_have_together_what_all_have():
    rng = np.random.default_rng(0)
    X = rng.integers(0, 9, (10_000, 3)).astype(float)
    X[-1, 1], X[0, 2] = 0.5, np.nan
    assert whole_columns(X).tolist() == [True, False, True]
    for cut in (1, 4096, 9999):
        parts = whole_columns(X[cut:], whole_columns(X[:cut]))
        assert parts.tolist() == [True, False, True]


def test_rows_that_are_refused_change_nothing():
    X = np.random.default_rng(0).integers(0, 90, size=(2000, 2)).astype(float)
    mix = em.Mixture(em.Gaussian()).partial_fit(X)
    with pytest.raises(ValueError, match="sample_weight"):
        mix.partial_fit(X[:2] + 0.5, sample_weight=[1.0, 2.0, 3.0])
    assert mix.whole_.all()
