"""Messages on the command line name options, not Python."""

import csv
import re

import numpy as np
import pytest

import evermix as em
from evermix.cli.advice import in_options
from evermix.engines import ENGINES
from evermix.families import FAMILIES
from evermix.priors import PRIORS
from helpers.commands import evermix, write_tickets

pytestmark = pytest.mark.filterwarnings("default")  # which become lines
RNG = np.random.default_rng(0)
PYTHON = re.compile(r"\bem\.|cluster_ids_|partial_fit|=em|\(X\b")


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A working directory with a table, each of whose rows has a name."""
    ages = RNG.normal(size=200) + RNG.choice([20.0, 60.0], size=200)
    with open(tmp_path / "people.csv", "w", newline="") as file:
        lines = csv.writer(file)
        lines.writerow(["who", "city", "age"])
        lines.writerows(
            [f"p{i}", "Rome" if age < 40 else "Oslo", age] for i, age in enumerate(ages)
        )
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_columns_that_name_rows_are_met_with_options(folder):
    said = evermix("fit", "people.csv", "--out", "a.csv").stderr
    assert "'who'" in said and "--id-field COLUMN" in said and "--ignore COLUMN" in said
    assert not PYTHON.search(said)
    assert (
        "warning"
        not in evermix(
            "fit", "people.csv", "--ignore", "who", "--out", "b.csv", "--checkpoint", "b.evermix"
        ).stderr
    )


def test_errors_name_commands_and_options(folder):
    evermix("fit", "people.csv", "--out", "a.csv")
    for command in (
        ["explain", "people.evermix", "people.csv", "--against", 99],
        ["edit", "people.evermix", "pin", 99],
    ):
        assert "`evermix info MODEL` lists the ids" in evermix(*command, status=1).stderr
    wrong = ["fit", "people.csv", "--family", "gaussian", "--overwrite"]
    said = evermix(*wrong, status=1).stderr
    assert "a table needs --family mixed or --family auto" in said and not PYTHON.search(said)
    gibbs = ["--engine", "gibbs", "--sweeps", 5, "--out", "g", "--checkpoint", "g.evermix"]
    evermix("fit", "people.csv", *gibbs)
    said = evermix("edit", "g.evermix", "merge", 0, 1, status=1).stderr
    assert "--engine adf" in said and not PYTHON.search(said)


def test_a_fit_that_people_have_changed_answers_with_predict(folder):
    evermix("fit", "people.csv", "--id-field", "who", "--out", "a.csv")
    evermix("edit", "people.evermix", "merge", *em.load("people.evermix").cluster_ids_[:2])
    again = ["fit", "people.csv", "--checkpoint", "people.evermix", "--resume", "--out", "b.csv"]
    said = evermix(*again, status=1).stderr
    assert "people.evermix was changed by hand" in said and not PYTHON.search(said)
    assert said.rstrip().endswith("evermix predict people.evermix people.csv")
    assert len(evermix("predict", "people.evermix", "people.csv").stdout.splitlines()) >= 200
    evermix("edit", "people.evermix", "undo")
    evermix(*again)
    assert (folder / "a.csv").read_text() == (folder / "b.csv").read_text()


def test_every_component_has_its_option():
    """Whatever message names a class of engines, families or priors, the option can be given."""
    for role, classes in {"engine": ENGINES, "family": FAMILIES, "prior": PRIORS}.items():
        for name in classes:
            for spelled in (f"em.{name}", f"em.{name}()", f"{role}=em.{name}(1.0)"):
                said = in_options(f"Use {spelled}.")
                option, value = said.removeprefix("Use ").removesuffix(".").split()
                assert option == f"--{role}" and value.replace("-", "") in name.lower()
    assert in_options("nothing to change in em.unknown") == "nothing to change in em.unknown"


@pytest.mark.parametrize(
    "program",
    [
        "em.Mixture().fit(pandas.read_excel('a.xlsx'))",
        "em.Mixture(engine=em.ADF()).fit(load(list(range(3))))",
        "em.Mixture(em.VonMisesFisher())",
        "set_params(engine=em.Gibbs(sweeps=5))",
        "BERTopic(hdbscan_model=em.Mixture())",
        "em.ADF().draws",
    ],
)
def test_programs_stay_python(program):
    assert in_options(f"Use em.ADF(), or {program}.") == f"Use --engine adf, or {program}."
    assert in_options(f"{program} or em.Gibbs() (em.SUGS).").startswith(program)


@pytest.mark.parametrize("command", ["fit", "stream"])
def test_a_spreadsheet_can_be_fitted_in_python(folder, command):
    (folder / "people.xlsx").write_bytes(b"PK\x03\x04")
    said = evermix(command, "people.xlsx", status=1).stderr
    assert re.search(r"em\.Mixture\(\)\.fit\(pandas\.read_excel\('[^']*people\.xlsx'\)\)", said)
    assert "--engine" not in said


def test_files_that_are_no_models_are_refused_with_the_name_of_one(folder):
    write_tickets("texts.jsonl")
    for command in ("report", "info"):
        said = evermix(command, "texts.jsonl", status=1).stderr
        assert "texts.jsonl is not an evermix model" in said and "such as" not in said
    evermix("stream", "texts.jsonl", "--out", "out", "--checkpoint", "texts.evermix")
    said = evermix("report", "texts.jsonl", status=1).stderr
    assert "such as texts.evermix." in said


def test_rows_of_several_files_make_a_report_and_a_split(folder):
    for name, at in (("one.npy", 0.0), ("two.npy", 9.0)):
        np.save(name, RNG.normal(size=(100, 2)) + at)
    evermix("stream", "one.npy", "two.npy", "--out", "out", "--checkpoint", "m.evermix")
    both = ["--rows", "one.npy", "--rows", "two.npy"]
    evermix("report", "m.evermix", *both, "--out", "both.html")
    assert '"x":[' in (page := (folder / "both.html").read_text("utf-8")).replace(" ", "")
    one = evermix("report", "m.evermix", "--rows", "one.npy", "--out", "-").stdout
    assert len(one) < len(page)
    id = int(em.load("m.evermix").cluster_ids_[0])
    evermix("edit", "m.evermix", "split", id, *both)


@pytest.mark.parametrize("option", ["--clusters", "--n-clusters", "--k", "-k", "--n_components"])
@pytest.mark.parametrize("command", ["fit", "stream"])
def test_the_number_of_clusters_is_no_option(command, option):
    for given in ([option, "4"], [f"{option}=4"]):
        said = " ".join(
            evermix(command, "rows.csv", *given, status=2).stderr.replace("│", "").split()
        )
        assert f"no option {option}: the number of clusters is learnt from the rows" in said
        assert "`evermix info MODEL --coarse 4`" in said and "--max-clusters 4" in said
    assert "No such option" in evermix(command, "rows.csv", "--clustering", "4", status=2).stderr


@pytest.mark.parametrize("option", ["--topics", "--n-topics", "--num-topics"])
def test_the_number_of_topics_is_no_option(option):
    said = " ".join(evermix("topics", "x", option, "20", status=2).stderr.replace("│", "").split())
    assert f"no option {option}: the number of topics is learnt" in said
    assert "--coarse 20`" in said and "--max-clusters" not in said


def test_texts_in_a_table_are_clustered_by_an_option(tmp_path):
    lines = [f"Person {i},said {i} and then other things happened" for i in range(100)]
    (tmp_path / "notes.csv").write_text("\n".join(["name,remark", *lines]))
    said = evermix("fit", tmp_path / "notes.csv", status=1).stderr
    assert "--text-field 'remark'" in said
    assert not PYTHON.search(said) and "CountVectorizer" not in said
