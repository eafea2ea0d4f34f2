"""The commands as a user types them."""

import json
import subprocess
import sys
import sysconfig
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

import evermix as em
from evermix.cli import app
from evermix.cli.commands.demo import docstrings_of, standard_library
from evermix.cli.options.commands import LEARNING, options_of
from evermix.cli.options.common import COMMON, arranged
from evermix.io import checkpoint

POINTS = ["--checkpoint", "points.evermix"]
TEXTS = ["--checkpoint", "texts.evermix"]

WORDS = {"sea": "ship wave salt harbour sail", "sky": "cloud wing wind feather moon"}


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A working directory with a small source of texts and one of vectors."""
    rng = np.random.default_rng(0)
    with (tmp_path / "texts.jsonl").open("w") as file:
        for i in range(300):
            name = str(rng.choice(["sea", "sky"]))
            text = " ".join(rng.choice(WORDS[name].split(), size=15))
            file.write(json.dumps({"id": f"{name}-{i}", "text": text}) + "\n")
    centres = rng.choice([-9.0, 9.0], size=(400, 1))
    np.save(tmp_path / "points.npy", rng.normal(size=(400, 2)) + centres)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def evermix(*arguments, status=0):
    """Run a command; one that fails must do so without a traceback."""
    result = CliRunner().invoke(app, [str(argument) for argument in arguments])
    assert result.exit_code == status, result.output
    assert result.exception is None or isinstance(result.exception, SystemExit)
    return result


def rows(text):
    return [json.loads(line) for line in text.splitlines()]


@pytest.mark.every_python
def test_version_and_help():
    assert evermix("--version").stdout == f"evermix {em.__version__}\n"
    shown = evermix("--help").stdout
    assert all(command in shown for command in ("demo", "stream", "predict", "info"))


@pytest.mark.parametrize("command", COMMON)
def test_help_has_common_options_and_help_all_the_advanced_ones_too(command):
    options = options_of(command)
    shown = arranged(command, options)
    assert {option.name for option in shown} == {option.name for option in options}
    assert len(shown) == len(options)
    shown = [option for option in shown if not option.argument]
    plain = [option for option in shown if option.panel is None]
    names = {option.name for option in options}
    last = [name for name in ("seed", "quiet") if name in names]
    assert [option.name for option in plain] == [*COMMON[command], *last]
    assert all(option.panel.startswith("Advanced: ") for option in shown[len(plain) :])
    text = evermix(command, "--help").stdout
    assert "--missing" in text or command == "topics"
    assert "--help-all" in text and "Advanced: " not in text and "--max-line" not in text
    short, text = text, evermix(command, "--help-all").stdout
    assert 0 < text.index("--text-field") < text.index("Advanced: ")
    flags = {flag for option in shown for flag in (option.flags or option.flag).split()[:1]}
    assert {flag for flag in flags if flag.split("/")[0] not in text} == set()
    if command in LEARNING:
        assert all(len(option.help) <= 90 for option in plain)
        assert 3 * len(short.splitlines()) < len(text.splitlines())


@pytest.mark.every_python
def test_the_module_reads_a_pipe_and_writes_one(folder):
    """Rows on standard output and nothing else; words for people on standard error."""
    command = [sys.executable, "-m", "evermix", "stream", "-"]
    with open("texts.jsonl", "rb") as file:
        done = subprocess.run(command, stdin=file, capture_output=True, check=True, text=True)
    assert len(rows(done.stdout)) == 300
    assert "evermix: 300 rows" in done.stderr and "model is not kept" in done.stderr


@pytest.mark.every_python
def test_unknown_options_are_usage_errors():
    evermix("stream", "x.jsonl", "--families", "gaussian", status=2)
    said = evermix("stream", "x.jsonl", "--family", "gausian", status=2).stderr
    assert "'gausian' is not one of" in said and "Value error" not in said
    evermix("stream", "x.jsonl", "--resume", "--overwrite", status=2)


def test_stream_writes_a_line_per_row_in_order(folder):
    result = evermix("stream", "texts.jsonl", *TEXTS)
    lines = rows(result.stdout)
    names = [line["id"] for line in rows((folder / "texts.jsonl").read_text())]
    assert [line["id"] for line in lines] == names
    assert all(0 < line["probability"] <= 1 for line in lines)
    assert "300 rows" in result.stderr and "texts.evermix" in result.stderr


def test_texts_of_two_topics_fall_into_their_clusters(folder):
    """The topics share no word."""
    lines = rows(evermix("stream", "texts.jsonl", *TEXTS).stdout)
    pairs = {(line["id"][:3], line["cluster"]) for line in lines}
    assert len(pairs) == len({cluster for _, cluster in pairs})


@pytest.mark.parametrize("options", [[], ["--engine", "adf", "--no-merge"]])
def test_a_row_is_new_where_its_cluster_has_not_been_seen(folder, options):
    seen = set()
    for line in rows(evermix("stream", "points.npy", *POINTS, *options).stdout):
        assert not line["new"] or line["cluster"] not in seen
        seen.add(line["cluster"])
    assert seen and em.load("points.evermix").lineage_.born[0] == 1


def test_a_cluster_that_a_review_has_split_from_another_is_not_new(folder):
    rng = np.random.default_rng(0)
    late = (np.arange(600) >= 200) & (rng.random(600) < 0.5)
    X = rng.normal(size=(600, 2)) + np.where(late[:, None], [3.5, 0.0], 0.0)
    np.save("split.npy", X)
    options = ["--out", "split.jsonl", "--batch", "20", "--quiet"]
    evermix("stream", "split.npy", *options)
    parents = em.load("split.jsonl.evermix").lineage_.parents
    lines = rows(Path("split.jsonl").read_text())
    reported = {line["cluster"]: line["from"] for line in lines if "from" in line}
    assert reported and reported.items() <= parents.items()
    assert not any(line["new"] for line in lines if line["cluster"] in parents)


@pytest.mark.parametrize(("options", "engine"), [([], None), (["--engine", "adf"], em.ADF())])
def test_batches_of_the_command_line_learn_what_partial_fit_learns(folder, options, engine):
    evermix("stream", "points.npy", *POINTS, "--batch", 37, "--quiet", *options)
    arrays, _ = checkpoint.read("points.evermix")
    mix = em.Mixture(engine=engine, random_state=0).partial_fit(np.load("points.npy"))
    assert arrays["state.tally.mass"].tolist() == mix.state_.tally.mass.tolist()


@pytest.mark.every_python
def test_a_limited_run_that_is_resumed_equals_a_whole_one(folder):
    options = ["--batch", 50, "--warmup", 100]
    evermix("stream", "texts.jsonl", "--out", "whole.jsonl", "--checkpoint", "a.evermix", *options)
    part = ["stream", "texts.jsonl", "--out", "part.jsonl", "--checkpoint", "b.evermix"]
    evermix(*part, *options, "--limit", 150)
    assert len((folder / "part.jsonl").read_text().splitlines()) == 150
    evermix(*part, "--resume")
    assert (folder / "part.jsonl").read_bytes() == (folder / "whole.jsonl").read_bytes()


@pytest.mark.parametrize(
    "options",
    [
        ["--prior", "dp", "--concentration", 2],
        ["--prior", "pitman-yor", "--concentration", 2, "--discount", 0.4],
        ["--a", 3, "--sigma", 0.2, "--tau", 2],
        ["--engine", "adf", "--sigma", 0.2, "--birth", 0.3],
        ["--family", "diagonal"],
        ["--family", "fixed"],
        ["--max-clusters", 100, "--seed", 3],
    ],
)
def test_models_can_be_chosen(folder, options):
    evermix("stream", "points.npy", *POINTS, *options)
    described = json.loads(evermix("info", "points.evermix", "--json").stdout)
    assert described["observations"] == 400


@pytest.mark.parametrize("family", ["multinomial", "poisson", "bernoulli"])
def test_count_sources_serve_every_family_of_counts(folder, family):
    lines = [f"1 {1 + i % 2}:1 {3 + i % 2}:1" for i in range(60)]
    (folder / "counts.svmlight").write_text("\n".join(lines) + "\n")
    assert len(rows(evermix("stream", "counts.svmlight", "--family", family).stdout)) == 60


@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        (["--concentration", 2], "--concentration does not belong to --prior nggp"),
        (["--prior", "dp", "--sigma", 0.5], "--sigma does not belong to --prior dp"),
        (
            ["--alpha", 0.5, "--family", "gaussian"],
            "--alpha does not belong to --family gaussian, which takes --mean",
        ),
        (["--sigma", 1.5], "sigma"),
        (["--out", "points.npy"], "must be different files"),
    ],
)
def test_options_that_do_not_fit_are_named(folder, options, complaint):
    assert complaint in evermix("stream", "points.npy", *POINTS, *options, status=1).stderr


def test_the_trace_says_what_each_batch_brought(folder):
    evermix("stream", "texts.jsonl", *TEXTS, "--batch", 100, "--trace", "trace.jsonl")
    events = rows((folder / "trace.jsonl").read_text())
    assert [event["clock"] for event in events] == [100, 200, 300]
    assert sum(event["rows"] for event in events) == 300


@pytest.mark.filterwarnings("default")
def test_a_cap_that_is_reached_warns_in_one_line(folder):
    result = evermix("stream", "points.npy", *POINTS, "--max-clusters", 1, "--family", "fixed")
    assert "evermix: warning: K reached max_clusters=1" in result.stderr


def test_nothing_is_overwritten_unless_wanted(folder):
    (folder / "out.jsonl").write_text("precious\n")
    result = evermix("stream", "texts.jsonl", *TEXTS, "--out", "out.jsonl", status=1)
    assert "exists already" in result.stderr
    assert (folder / "out.jsonl").read_text() == "precious\n"
    evermix("stream", "texts.jsonl", *TEXTS, "--out", "out.jsonl", "--overwrite")
    before = (folder / "texts.evermix").read_bytes()
    assert "--resume" in evermix("stream", "texts.jsonl", *TEXTS, status=1).stderr
    assert (folder / "texts.evermix").read_bytes() == before


@pytest.mark.parametrize("option", ["--out", "--trace", "--checkpoint"])
def test_a_missing_folder_is_found_before_anything_is_lost(folder, option):
    """An old checkpoint survives --overwrite with a mistyped path."""
    evermix("stream", "texts.jsonl", *TEXTS, "--out", "out.jsonl")
    files = [folder / "texts.evermix", folder / "out.jsonl"]
    before = [file.read_bytes() for file in files]
    result = evermix("stream", "texts.jsonl", option, "nowhere/x", "--overwrite", status=1)
    assert "there is no folder for" in result.stderr
    assert [file.read_bytes() for file in files] == before


def test_rows_may_go_to_a_device(folder):
    """A device has no length to go back to: it is written as standard output is."""
    null = ["--out", "/dev/null"]
    evermix("stream", "points.npy", *POINTS, *null, "--every", 100)
    assert "nothing new" in evermix("stream", "points.npy", *POINTS, *null, "--resume").stderr
    evermix("predict", "points.evermix", "points.npy", "--out", "/dev/null")


def test_resume_without_a_checkpoint_starts_from_the_beginning(folder):
    result = evermix("stream", "texts.jsonl", *TEXTS, "--resume")
    assert "no checkpoint texts.evermix, so there is nothing to go on from" in result.stderr
    assert len(rows(result.stdout)) == 300


@pytest.mark.parametrize(
    ("changed", "complaint"),
    [
        (["points.npy", "--out", "out.jsonl"], "held text"),
        (["texts.jsonl", "--batch", 10], "--batch cannot change on the way"),
        (["texts.jsonl", "--out", "other.jsonl"], "--out cannot change"),
        (["texts.jsonl", "--alpha", 2], "the checkpoint was made without it, got 2.0"),
    ],
)
def test_resume_refuses_another_stream(folder, changed, complaint):
    evermix("stream", "texts.jsonl", "--checkpoint", "model.evermix", "--out", "out.jsonl")
    result = evermix("stream", *changed, "--checkpoint", "model.evermix", "--resume", status=1)
    assert complaint in result.stderr


def test_resume_refuses_a_source_of_another_kind_and_foreign_models(folder):
    arguments = ["stream", "texts.jsonl", *TEXTS, "--out", "out.jsonl"]
    evermix(*arguments)
    (folder / "texts.jsonl").write_text('{"vector": [1.0, 2.0]}\n')
    assert "held text" in evermix(*arguments, "--resume", status=1).stderr
    em.Mixture().fit(np.load("points.npy")).save("points.evermix")
    result = evermix("stream", "points.npy", *POINTS, "--resume", status=1)
    assert "points.evermix was saved in Python" in result.stderr


def test_predict_says_what_the_model_says(folder):
    evermix("stream", "points.npy", *POINTS, "--quiet")
    evermix("predict", "points.evermix", "points.npy", "--out", "found.jsonl", "--batch", 64)
    lines = rows((folder / "found.jsonl").read_text())
    mix, X = em.load("points.evermix"), np.load("points.npy")
    assert [line["cluster"] for line in lines] == mix.predict(X).tolist()
    assert [line["log_density"] for line in lines] == pytest.approx(mix.score_samples(X), rel=1e-5)
    proba = mix.predict_proba(X).max(axis=1)
    assert [line["probability"] for line in lines] == pytest.approx(proba, rel=1e-5)
    assert [line["novelty"] for line in lines] == pytest.approx(mix.novelty(X), rel=1e-5)


@pytest.mark.parametrize("engine", ["auto", "adf", "gibbs", "memoizedvb"])
def test_a_row_far_from_all_is_new_to_predict(folder, engine):
    X = np.load("points.npy")
    np.save("new.npy", np.vstack([X[:3], 1e4 + X[:3]]))
    evermix("fit", "points.npy", "--engine", engine, "--out", "fit.jsonl", "--quiet")
    novelty = [
        line["novelty"] for line in rows(evermix("predict", "points.evermix", "new.npy").stdout)
    ]
    assert max(novelty[:3]) < 0.5 < 0.99 < min(novelty[3:])


@pytest.mark.every_python
@pytest.mark.parametrize("columns", [[], ["--hash", 64]])
def test_predict_counts_words_as_the_stream_did(folder, columns):
    evermix("stream", "texts.jsonl", *TEXTS, "--quiet", *columns)
    lines = rows(evermix("predict", "texts.evermix", "texts.jsonl").stdout)
    pairs = {(line["id"][:3], line["cluster"]) for line in lines}
    assert len(pairs) == len({cluster for _, cluster in pairs})


def test_predict_refuses_texts_for_a_model_of_numbers(folder):
    evermix("stream", "points.npy", *POINTS, "--quiet")
    result = evermix("predict", "points.evermix", "texts.jsonl", status=1)
    assert "texts.jsonl holds texts. The model points.evermix was learnt from" in result.stderr


@pytest.mark.every_python
def test_info_tells_what_a_model_holds(folder):
    evermix("stream", "texts.jsonl", *TEXTS, "--quiet")
    described = json.loads(evermix("info", "texts.evermix", "--json", "--top", 2).stdout)
    assert described["observations"] == 300
    assert described["family"].startswith("Multinomial(alpha=0.1")
    assert described["bytes"] == (folder / "texts.evermix").stat().st_size
    topics = [set(text.split()) for text in WORDS.values()]
    assert all(set(cluster["words"]) in topics for cluster in described["clusters"])
    shown = evermix("info", "texts.evermix", "--all").stdout
    assert 0 <= shown.index("words that set it apart") < shown.index("PitmanYor(")


def test_info_rounds_numbers_for_people_only(folder):
    evermix("stream", "points.npy", *POINTS, "--quiet")
    kappa = em.load("points.evermix").model_.family.kappa
    assert (
        f"kappa={kappa!r}"
        in json.loads(evermix("info", "points.evermix", "--json").stdout)["family"]
    )
    assert f"kappa={kappa:.4g}" in evermix("info", "points.evermix", "--all").stdout


@pytest.mark.every_python
def test_docstrings_of_the_standard_library_have_dotted_names():
    files = [path for path in standard_library() if path.name in ("textwrap.py", "tasks.py")]
    found = {doc.id: doc.text for path in files for doc in docstrings_of(path)}
    assert found["asyncio.tasks.wait_for"].startswith("Wait for the single Future")
    assert "textwrap.TextWrapper.wrap" in found
    assert all(len(text.split()) >= 8 for text in found.values())


def test_a_python_without_its_sources_is_reported(tmp_path, monkeypatch):
    monkeypatch.setattr(sysconfig, "get_path", lambda name: str(tmp_path))
    assert "came without the sources" in evermix("demo", status=1).stderr


def test_demo_leaves_a_picture_and_a_model_to_go_on_with(folder, monkeypatch):
    """On a few modules of the library, so that it is quick."""
    some = "asyncio", "email", "logging", "unittest"  # which every Python has
    chosen = [path for path in standard_library() if path.parent.name in some]
    monkeypatch.setattr("evermix.cli.commands.demo.standard_library", lambda: chosen)
    shown = evermix("demo", "--out-dir", "demo").stdout
    assert "words that set it apart" in shown and "evermix info" in shown
    assert (folder / "demo" / "overview.png").read_bytes().startswith(b"\x89PNG")
    page = (folder / "demo" / "report.html").read_bytes()
    assert page.startswith(b"<!doctype html>") and len(page) < 1_000_000
    described = json.loads(evermix("info", "demo/docstrings.evermix", "--json").stdout)
    n = len((folder / "demo" / "docstrings.jsonl").read_text().splitlines())
    assert described["observations"] == n > 500
    evermix("predict", "demo/docstrings.evermix", "demo/docstrings.jsonl")
