"""Later tables on the command line are read by what the model knows of its columns."""

import json

import numpy as np
import pytest

import evermix as em
from helpers.commands import evermix
from helpers.tables import N, stays, write_csv


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    path = tmp_path_factory.mktemp("model")
    write_csv(
        path / "a.csv",
        ({**row, "temp": "-"} if i % 10 == 3 else row for i, row in enumerate(stays())),
    )
    evermix("fit", path / "a.csv", "--checkpoint", path / "a.evermix", "--out", path / "out.csv")
    return path / "a.evermix"


def predicted(model, *arguments):
    """The answers without ids, and what was said."""
    found = evermix("predict", model, *arguments)
    lines = [json.loads(line) for line in found.stdout.splitlines()]
    return [{k: v for k, v in line.items() if k != "id"} for line in lines], found.stderr


def test_marks_among_numbers_are_missing_in_files_of_any_length(folder, model):
    change = {"temp": "-", "nights": "?"}
    first = next(stays())
    for name, gone in ("short.csv", change), ("blank.csv", dict.fromkeys(change, "")):
        write_csv(name, [first | gone, first])
    write_csv("long.csv", [first | change, *stays()])
    short, blank, long = (predicted(model, f"{name}.csv")[0] for name in ("short", "blank", "long"))
    assert short[0] == blank[0] == long[0] and len(long) == N + 1
    explained = evermix("explain", model, "short.csv", "--json").stdout
    assert explained == evermix("explain", model, "blank.csv", "--json").stdout


def test_a_word_among_numbers_is_named_with_its_line_and_what_to_do(folder, model):
    first = next(stays())
    write_csv("b.csv", [first, first | {"temp": "cold"}])
    said = evermix("predict", model, "b.csv", status=1).stderr
    assert "line 3: expected a number in column 'temp', got 'cold'" in said
    assert "--missing cold" in said
    assert len(predicted(model, "b.csv", "--missing", "cold")[0]) == 2


def test_columns_of_another_case_are_named(folder, model):
    write_csv("b.csv", [{name.upper(): value for name, value in row.items()} for row in stays(9)])
    said = evermix("predict", model, "b.csv", status=1).stderr
    assert "holds a table with other columns" in said and "'TEMP' for 'temp'" in said


def test_marks_in_a_short_file_are_missing_in_a_fit_too(folder):
    short = [row | {"temp": "?"} if i % 5 == 0 else row for i, row in enumerate(stays(15))]
    write_csv("a.csv", short)
    said = evermix("fit", "a.csv", "--out", "out.csv").stderr
    assert "missing cells: 3 of 60 (temp 3)" in said
    write_csv("b.csv", [short[1] | {"temp": "cold"}, *stays(18)])
    said = evermix("fit", "b.csv", "--out", "out.csv", "--overwrite", status=1).stderr
    assert "column 'temp' must hold numbers, got 'cold'" in said and "--missing VALUE" in said


def test_a_stream_goes_on_with_marks_in_a_short_file(folder):
    write_csv("a.csv", stays())
    write_csv("b.csv", [next(stays()) | {"temp": "-"}])
    for name in ("a.csv", "b.csv"):
        evermix("stream", name, "--checkpoint", "m.evermix", "--resume", "--out", "out.jsonl")
    assert em.load("m.evermix").state_.clock == N + 1


def test_no_warning_of_columns_that_were_found_by_their_names(folder):
    """In a file, for a model of a data frame: the mixture gets numbers without names."""
    pd = pytest.importorskip("pandas")
    X = np.random.default_rng(0).normal(size=(80, 2)) * [1.0, 50.0]
    table = pd.DataFrame(X, columns=["width", "height"])
    em.Mixture(random_state=0).fit(table).save("m.evermix")
    for name, columns in ("a.csv", ["width", "height"]), ("b.csv", ["height", "width"]):
        table[columns].to_csv(name, index=False)
    (found, said), again = (predicted("m.evermix", name) for name in ("a.csv", "b.csv"))
    assert again == (found, said) and "warning" not in said
    assert "warning" not in evermix("explain", "m.evermix", "a.csv").stderr


def test_digits_with_leading_zeros_are_names(folder, model):
    mix = em.load(model)
    assert sorted(mix.levels_["zip"]) == ["01067", "10115", "50667", "80331"]
    write_csv("b.csv", [next(stays()) | {"zip": "10115"}])  # without a leading zero
    (one,), _ = predicted(model, "b.csv")
    row = {**next(stays()), "temp": float(next(stays())["temp"]), "nights": 0, "zip": "10115"}
    assert one["cluster"] == mix.predict({name: [value] for name, value in row.items()})[0]
    write_csv("c.csv", [next(stays()) | {"zip": "99999"}])
    assert predicted(model, "c.csv")[0][0]["novelty"] > one["novelty"]


def test_digits_with_leading_zeros_are_names_in_all_files_of_a_source(folder):
    write_csv("1.csv", stays())
    write_csv("2.csv", (row | {"zip": "10115"} for row in stays()))
    found = evermix("fit", "1.csv", "2.csv", "--checkpoint", "m.evermix", "--out", "out.csv")
    assert "column 'zip' holds digits with leading zeros" in found.stderr
    assert len(em.load("m.evermix").levels_["zip"]) == 4


@pytest.mark.filterwarnings("always")
def test_other_columns_are_ignored_or_missing_and_named(folder, model):
    first = next(stays())
    write_csv("more.csv", [first | {"shoe": "9", "note": "x"}])
    (more,), said = predicted(model, "more.csv")
    assert "warning: the model does not know the columns 'shoe', 'note' of the table" in said
    write_csv("same.csv", [first])
    assert predicted(model, "same.csv")[0] == [more]
    few = {name: first[name] for name in ("temp", "nights")}
    write_csv("few.csv", [few])
    found, said = predicted(model, "few.csv")
    assert (
        "warning: the table lacks the columns 'kind', 'zip': they are missing in all rows." in said
    )
    write_csv("blank.csv", [few | {"kind": "", "zip": ""}])
    assert predicted(model, "blank.csv")[0] == found
    write_csv("one.csv", [{"temp": "11.0"}])
    said = evermix("predict", model, "one.csv", status=1).stderr
    assert "lacks the columns 'nights', 'kind', 'zip'" in said and "At least half" in said


@pytest.mark.filterwarnings("always")
def test_numbers_alone_are_found_by_the_names_of_their_columns(folder):
    numbers = [
        {"a": f"{float(row['temp']):.2f}", "b": f"{i % 7 + 0.5}"} for i, row in enumerate(stays())
    ]
    write_csv("a.csv", numbers)
    evermix("fit", "a.csv", "--out", "out.csv")
    write_csv("b.csv", ({"kind": "x", "b": row["b"], "a": row["a"]} for row in numbers))
    found, said = predicted("a.evermix", "b.csv")
    assert "does not know the columns 'kind' of b.csv" in said
    assert found == predicted("a.evermix", "a.csv")[0]


@pytest.mark.filterwarnings("always")
@pytest.mark.parametrize("command", ["fit", "stream"])
def test_runs_go_on_where_the_file_has_one_column_more(folder, command):
    write_csv("a.csv", stays())
    run = [command, "a.csv", "--checkpoint", "m.evermix", "--out", "out.csv"]
    evermix(*run)
    before = em.load("m.evermix").state_
    write_csv("a.csv", (row | {"shoe": "9"} for row in stays()))
    if command == "stream":  # whose rows were read: others follow
        write_csv("b.csv", (row | {"shoe": "9"} for row in stays(seed=1)))
        run[1:2] = ["b.csv"]
    said = evermix(*run, "--resume").stderr
    assert "does not know the columns 'shoe'" in said
    after = em.load("m.evermix").state_
    assert after.clock == before.clock + (N if command == "stream" else 0)


@pytest.mark.filterwarnings("always")
def test_a_fit_does_not_go_on_with_a_column_less(folder):
    write_csv("a.csv", stays())
    run = ["fit", "a.csv", "--checkpoint", "m.evermix", "--out", "out.csv"]
    evermix(*run)
    write_csv("a.csv", ({k: v for k, v in row.items() if k != "kind"} for row in stays()))
    said = evermix(*run, "--resume", status=1).stderr
    assert (
        "cannot go on from m.evermix with" in said and "the table lacks the column 'kind'" in said
    )
    assert "put the old files back" in said


def test_levels_that_were_never_met_are_counted_and_named(folder, model):
    some = list(stays())
    for row, kind in zip(some, ["ferret", "A ", "Ferret", "elephant", "-"], strict=False):
        row["kind"] = kind
    write_csv("b.csv", some)
    said = predicted(model, "b.csv", "--batch", "2")[1].splitlines()
    assert said[-1] == (
        "evermix: kind: 4 rows with levels that were never met: ferret, elephant, -"
    )
    write_csv("same.csv", stays())
    assert "never met" not in predicted(model, "same.csv")[1]


@pytest.mark.filterwarnings("default:column 'zip'")
def test_cells_of_columns_that_are_ignored_may_be_anything(folder):
    """Codes with leading zeros, too many to be categories; one of them is a word."""
    some = [row | {"zip": f"{i:05d}"} for i, row in enumerate(stays(400))]
    some[250]["zip"] = "D-123"
    write_csv("a.csv", some)
    assert "'zip' holds too many" in evermix("fit", "a.csv", "--out", "out.csv").stderr
    assert len(predicted("a.evermix", "a.csv")[0]) == 400


def test_a_bad_row_of_a_short_json_table_is_left_out(folder, model):
    some = [{"temp": 10.0, "nights": 0, "kind": "a", "zip": "01067"}] * 3
    some.append(some[0] | {"temp": "oops"})
    (folder / "b.jsonl").write_text("".join(json.dumps(row) + "\n" for row in some))
    assert len(predicted(model, "b.jsonl", "--skip-bad")[0]) == 3
