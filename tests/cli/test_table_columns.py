"""Columns of tables on the command line: ignored ones, missing values, stray values, names."""

import csv
import json

import numpy as np
import pytest
from typer.testing import CliRunner

import evermix as em
from evermix.cli import app
from evermix.io.sources import open_source
from helpers.commands import evermix

N = 120


def rows():
    """Two groups of people, that differ by age and country."""
    rng = np.random.default_rng(0)
    for i in range(N):
        age = rng.normal([30.0, 70.0][i % 2], 3.0)
        yield {
            "who": f"p{i}",
            "note": rng.choice(["a", "b", "c"]),
            "age": f"{age:.1f}",
            "code": rng.choice([["101", "102"], ["900", "901"]][i % 2]),
        }


def write(path, change=lambda i, row: row, some=rows):
    table = [change(i, row) for i, row in enumerate(some())]
    with open(path, "w", newline="") as file:
        lines = csv.DictWriter(file, list(table[0]))
        lines.writeheader()
        lines.writerows(table)


def replaced(at, column, value):
    return lambda i, row: row | ({column: value} if i in at else {})


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


OPTIONS = ["--id-field", "who", "--ignore", "note", "--quiet"]


def answers(*arguments, status=0):
    found = evermix(*arguments, status=status)
    return [json.loads(line) for line in found.stdout.splitlines()] if not status else found.stderr


@pytest.mark.parametrize("command", ["fit", "stream"])
def test_ignored_columns_are_no_features_and_ids_are_those_of_the_rows(folder, command):
    write("people.csv")
    model = ["--checkpoint", "m.evermix"]
    lines = answers(command, "people.csv", *OPTIONS, "--category", "code", *model)
    assert [line["id"] for line in lines] == [f"p{i}" for i in range(N)]
    mix = em.load("m.evermix")
    assert set(mix.feature_names_in_) == {"age", "code"}
    assert set(mix.levels_["code"]) == {"101", "102", "900", "901"}
    new = answers("predict", "m.evermix", "people.csv", "--quiet")  # read as they were learnt
    assert [line["id"] for line in new] == [line["id"] for line in lines]


@pytest.mark.parametrize("word", ["?", "-999"])
def test_what_stands_for_a_missing_value_is_missing(folder, word):
    write("said.csv", replaced(range(0, N, 7), "age", word))
    write("blank.csv", replaced(range(0, N, 7), "age", ""))
    said = answers("fit", "said.csv", *OPTIONS, "--missing", word)
    assert said == answers("fit", "blank.csv", *OPTIONS)


@pytest.mark.parametrize("command", ["fit", "stream"])
def test_stray_values_are_bad_rows(folder, command):
    write("people.csv", replaced([77], "age", "unknown"))
    run = [command, "people.csv", *OPTIONS]
    said = answers(*run, status=1)
    assert "people.csv: line 79: expected a number in column 'age', got 'unknown'" in said
    assert "--missing" in said
    lines = answers(*run, "--skip-bad")
    assert [line["id"] for line in lines] == [f"p{i}" for i in range(N) if i != 77]


@pytest.mark.parametrize("command", ["fit", "stream"])
def test_marks_among_numbers_are_missing_values(folder, command):
    """Also where they are many; and in columns of words they are words."""

    def marked(i, row):
        changed = {"age": "?" if i % 14 else "-"} if i % 7 == 0 else {}
        return row | changed | ({"note": "-"} if i % 3 == 0 else {})

    options = ["--id-field", "who", "--quiet"]
    write("marks.csv", marked)
    write("blank.csv", lambda i, row: marked(i, row) | ({"age": ""} if i % 7 == 0 else {}))
    lines = answers(command, "marks.csv", *options, "--checkpoint", "m.evermix")
    assert lines == answers(command, "blank.csv", *options)
    assert "-" in em.load("m.evermix").levels_["note"]


def test_a_message_names_all_words_among_numbers(folder):
    words = {40: "on request", 60: "tba", 80: "tba"}
    write("people.csv", lambda i, row: row | ({"age": words[i]} if i in words else {}))
    said = answers("fit", "people.csv", *OPTIONS, status=1)
    assert "line 42: expected a number in column 'age', got 'on request'" in said
    options = ["--missing", "on request", "--missing", "tba"]
    assert "--missing 'on request' --missing tba)" in said
    assert len(answers("fit", "people.csv", *OPTIONS, *options)) == N


def test_a_gap_anywhere_in_the_first_rows_makes_a_table(folder):
    def numbers():
        for row in rows():
            yield {"age": row["age"], "code": row["code"]}

    write("people.csv", replaced([50], "age", ""), numbers)
    assert len(answers("fit", "people.csv", "--quiet")) == N
    assert hasattr(em.load("people.evermix"), "levels_")


def test_columns_must_be_there(folder):
    write("people.csv")
    said = answers("fit", "people.csv", "--ignore", "nobody", status=1)
    assert "there is no column 'nobody'. The columns are 'who', 'note', 'age', 'code'" in said
    for option in ("--id-field", "--text-field"):
        said = answers("fit", "people.csv", option, "nobody", status=1)
        assert "there is no column 'nobody'. The columns are 'who', 'note', 'age', 'code'" in said
    answers("fit", "people.csv", *OPTIONS)
    said = answers("predict", "people.evermix", "people.csv", "--id-field", "hwo", status=1)
    assert "there is no column 'hwo'" in said
    np.save("points.npy", np.eye(3))
    assert "is for tables" in answers("fit", "points.npy", "--missing", "?", status=1)


@pytest.mark.parametrize("command", ["fit", "stream"])
def test_one_word_of_a_row_is_no_text(folder, command):
    write("people.csv", lambda i, row: row | {"note": ["red", "blue", "green"][i % 3]})
    with open("people.csv") as file, open("texts.csv", "w") as other:
        other.write(file.read().replace("note", "text", 1))
    out = ["--out", "out.jsonl", "--overwrite"]
    said = evermix(command, "people.csv", "--text-field", "note", *out).stderr
    assert "only column 'note' is read" in said and "Without --text-field, all" in said
    table = ["--kind", "table", "--id-field", "who"]
    said = evermix(command, "texts.csv", *out).stderr
    assert "only column 'text' is read" in said and "With --kind table, all" in said
    assert "only column" not in evermix(command, "texts.csv", *out, *table).stderr
    lines = ["old red wine,1", "cold white beer,2", "hot black tea,3"] * 20
    (folder / "texts.csv").write_text("\n".join(["text,n", *lines]))
    assert "only column" not in evermix(command, "texts.csv", *out).stderr


@pytest.mark.parametrize("command", [["fit"], ["stream"], ["topics", "--prior", "hdp"]])
def test_columns_beside_a_text_are_said_to_be_ignored(folder, command):
    lines = ["a,old red wine,1,x", "b,cold white beer,2,y", "c,red beer,3,z"] * 20
    (folder / "texts.csv").write_text("\n".join(["id,text,n,kind", *lines]))
    line = "texts are read from column 'text': column{} ignored.\n"

    def said(*options):
        draws = ["--draws", "2", "--burn-in", "2"] if command[0] == "topics" else []
        out = ["--out", "out.json", "--overwrite", *draws]
        return evermix(command[0], "texts.csv", *out, *command[1:], *options).stderr

    assert line.format("s 'n', 'kind' are") in said()
    assert line.format(" 'kind' is") in said("--ignore", "n")
    assert "ignored" not in said("--ignore", "n", "--ignore", "kind") + said("--quiet")
    assert "ignored" not in said("--id-field", "n", "--ignore", "kind", "--ignore", "id")


def test_fields_of_json_lines_must_be_there(folder):
    lines = [{"text": "so it is", "number": 7}, {"text": "so it was", "name": "b"}]
    (folder / "t.jsonl").write_text("".join(f"{json.dumps(line)}\n" for line in lines))
    said = answers("fit", "t.jsonl", "--id-field", "nobody", status=1)
    assert "there is no field 'nobody'. The fields are 'name', 'number', 'text'." in said
    said = answers("stream", "t.jsonl", "--time-field", "yaer", status=1)
    assert "line 1: there is no field 'yaer'. The fields are 'text', 'number'" in said
    # One of the first records has it.
    lines = answers("stream", "t.jsonl", "--id-field", "name", "--hash", "64", "--quiet")
    assert [line["id"] for line in lines] == [0, "b"]


def test_live_sources_say_if_the_first_row_lacks_a_field(folder):
    lines = "".join(json.dumps({"text": f"so it is {i}", "no": i}) + "\n" for i in range(5))
    run = ["stream", "-", "--hash", "64", "--id-field"]
    said = CliRunner().invoke(app, [*run, "number"], input=lines)
    assert said.exit_code == 0 and said.stderr.count("has no field 'number'") == 1
    assert "its fields are 'no', 'text'" in said.stderr
    assert "has no field" not in CliRunner().invoke(app, [*run, "no"], input=lines).stderr


@pytest.mark.parametrize("command", ["fit", "stream"])
def test_columns_of_numbers_have_the_names_of_the_file(folder, command):
    def numbers():
        for row in rows():
            yield {"age": row["age"], "code": row["code"]}

    write("people.csv", some=numbers)
    evermix(command, "people.csv", "--out", "out.csv", "--checkpoint", "m.evermix", "--quiet")
    mix = em.load("m.evermix")
    assert mix.column_names_ == ["age", "code"] and "feature_names_in_" not in vars(mix)
    traits = [trait.column for card in mix.cards() for trait in card.traits]
    assert set(traits) <= {"age", "code"} and (traits or mix.n_clusters_ == 1)
    assert "age" in evermix("explain", "m.evermix", "people.csv", "--limit", 1).stdout
    mix.partial_fit(np.array([[30.0, 1.0]]))  # rows without names are no surprise


def test_amounts_in_strings_of_parquet_are_numbers(tmp_path):
    pa, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    amounts = [f"${1000 + i:,}.50" for i in range(40)]
    columns = {"paid": [*amounts, None, "many"], "rate": ["12%"] * 42, "zip": ["01234"] * 42}
    for kind in (pa.string(), pa.large_string()):
        table = pa.table({name: pa.array(cells, kind) for name, cells in columns.items()})
        parquet.write_table(table, tmp_path / "a.parquet")
        source = open_source(tmp_path / "a.parquet", skip_bad=True)
        (chunk,) = source.chunks(0, 100)
        assert chunk.X["paid"].tolist() == [1000.5 + i for i in range(40)] + [None]
        assert set(chunk.X["rate"]) == {12.0} and set(chunk.X["zip"]) == {"01234"}
        assert "row 41: expected a number in column 'paid', got 'many'" in source.complaints[0]
        source = open_source(tmp_path / "a.parquet", category=("paid",))
        assert next(source.chunks(0, 100)).X["paid"][0] == amounts[0]


def test_parquet_has_the_same_options(folder):
    pa, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    table = list(rows())
    columns = {name: [row[name] for row in table] for name in table[0]}
    columns["age"] = [-999.0 if i % 7 == 0 else float(age) for i, age in enumerate(columns["age"])]
    columns["code"] = [int(code) for code in columns["code"]]
    parquet.write_table(pa.table(columns), "people.parquet")
    write("people.csv", replaced(range(0, N, 7), "age", "-999"))
    options = [*OPTIONS, "--overwrite", "--missing", "-999", "--category", "code"]
    found = [answers("fit", f"people.{kind}", *options) for kind in ("parquet", "csv")]
    assert found[0] == found[1]
