"""`evermix fit` as a user types it."""

import json
import shutil
import signal

import numpy as np
import pytest
from typer.testing import CliRunner

import evermix as em
from evermix.cli import app
from evermix.cli.runs.lap_log import LapLog
from evermix.io import checkpoint
from helpers.variants import slow_but

WORDS = {"sea": "ship wave salt harbour sail", "sky": "cloud wing wind feather moon"}
SAMPLED = [
    "--engine",
    "gibbs",
    "--sweeps",
    "8",
    "--chains",
    "2",
    "--learn",
    "a",
    "--learn",
    "sigma",
]
ENGINES = {
    "auto": ([], None),
    "ep": (["--engine", "ep", "--laps", "6"], em.EP(laps=6)),
    "adf": (["--engine", "adf", "--no-merge"], em.ADF(merge=None)),
    "gibbs": (SAMPLED, em.Gibbs(8, chains=2, hyperpriors={"a": em.Gamma(), "sigma": em.Beta()})),
    "slice": (["--engine", "slice", "--sweeps", "6", "--hybrid"], em.Slice(6, hybrid=True)),
    "memoizedvb": (
        ["--engine", "memoizedvb", "--laps", "6", "--batch-size", "40", "--no-deletes"]
        + ["--stride", "2"],
        em.MemoizedVB(laps=6, batch_size=40, deletes=False, stride=2),
    ),
    "fullvb": (
        ["--engine", "fullvb", "--truncation", "4", "--start", "random", "--top", "3"],
        em.FullVB(truncation=4, start="random", top=3),
    ),
    "stochasticvb": (
        ["--engine", "stochasticvb", "--delay", "5", "--kappa", "0.7", "--laps", "3"],
        em.StochasticVB(laps=3, delay=5.0, kappa=0.7),
    ),
    "rcrp": (["--engine", "rcrp"], em.RCRP()),
    "sugs": (["--engine", "sugs", "--merge"], em.SUGS(merge=5.0)),
    "onlinecrp": (["--engine", "onlinecrp"], em.OnlineCRP()),
    "dpmeans": (
        ["--engine", "dpmeans", "--laps", "3", "--penalty", "40"],
        em.DPMeans(penalty=40.0, laps=3),
    ),
}


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A working directory with a small source of texts and one of vectors."""
    rng = np.random.default_rng(0)
    with (tmp_path / "texts.jsonl").open("w") as file:
        for i in range(120):
            name = str(rng.choice(["sea", "sky"]))
            text = " ".join(rng.choice(WORDS[name].split(), size=15))
            file.write(json.dumps({"id": f"{name}-{i}", "text": text}) + "\n")
    centres = rng.choice([-9.0, 9.0], size=(150, 1))
    np.save(tmp_path / "points.npy", rng.normal(size=(150, 2)) + centres)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def evermix(*arguments, status=0):
    """Run a command; one that fails must do so without a traceback."""
    result = CliRunner().invoke(app, [str(argument) for argument in arguments])
    assert result.exit_code == status, result.output
    assert result.exception is None or isinstance(result.exception, SystemExit)
    return result


def fails(*arguments):
    """Run a command that must fail, and return its error, which may follow the family."""
    *before, said = evermix(*arguments, status=1).stderr.strip().splitlines()
    assert said.startswith("evermix: error: ")
    assert all(line.startswith("evermix: the family is ") for line in before)
    return said


def rows(text):
    return [json.loads(line) for line in text.splitlines()]


def described(path):
    return json.loads(evermix("info", path, "--json").stdout)


def assert_same_model(one, other):
    ours, theirs = checkpoint.read(one)[0], checkpoint.read(other)[0]
    assert ours.keys() == theirs.keys()
    assert [name for name in ours if ours[name].tobytes() != theirs[name].tobytes()] == []


# ---- what is found ---------------------------------------------------------------------------


@pytest.mark.parametrize("name", ENGINES)
def test_the_command_line_finds_what_the_estimator_finds(folder, name):
    options, engine = ENGINES[name]
    result = evermix("fit", "points.npy", "--seed", 3, *options)
    mix = em.Mixture(engine=engine, random_state=3).fit(np.load("points.npy"))
    lines = rows(result.stdout)
    assert [line["id"] for line in lines] == list(range(150))
    assert [line["cluster"] for line in lines] == mix.labels_.tolist()
    assert [line["probability"] for line in lines] == pytest.approx(mix.probabilities_, rel=1e-5)
    densities = mix.score_samples(np.load("points.npy"))
    assert [line["log_density"] for line in lines] == pytest.approx(densities, rel=1e-5)
    assert f"150 rows; {mix.n_clusters_} clusters; " in result.stderr
    assert "checkpoint points.evermix" in result.stderr
    assert described("points.evermix")["engine"] == repr(mix.learner_.engine)


def test_rows_that_were_met_in_several_laps_are_counted_once(folder):
    evermix("fit", "points.npy", *ENGINES["dpmeans"][0])
    found = json.loads(evermix("info", "points.evermix", "--json").stdout)
    assert found["observations"] == 150 and found["finished"]


def test_the_summary_of_a_sampler_tells_how_far_its_draws_can_be_trusted(folder):
    pytest.importorskip("arviz")
    said = evermix("fit", "points.npy", *SAMPLED).stderr
    assert "16 sweeps; " in said and " clusters on average over 8 draws of 2 chains" in said
    assert "log joint: R-hat " in said and "ESS " in said


def test_rows_held_out_are_scored_apart(folder):
    assert (
        "per row held out"
        in evermix("fit", "points.npy", "--engine", "ep", "--validation", 0.3).stderr
    )


@pytest.mark.parametrize("columns", [[], ["--hash", 64]])
@pytest.mark.parametrize("options", [[], ["--engine", "gibbs", "--sweeps", 10]])
def test_texts_of_two_topics_fall_into_their_clusters(folder, columns, options):
    """From texts to clusters, and from the model to the clusters of texts."""
    found = rows(evermix("fit", "texts.jsonl", *columns, *options).stdout)
    predicted = rows(evermix("predict", "texts.evermix", "texts.jsonl").stdout)
    for lines in (found, predicted):
        assert [line["id"] for line in lines] == [line["id"] for line in found]
        pairs = {(line["id"][:3], line["cluster"]) for line in lines}
        assert len(pairs) == len({cluster for _, cluster in pairs})
    for cluster in described("texts.evermix")["clusters"]:
        names = [set(name.split("/")) for name in cluster["words"]]  # words of one hash
        assert names
        assert any(all(name & set(topic.split()) for name in names) for topic in WORDS.values())


def test_the_vocabulary_is_counted_over_all_texts(folder):
    with (folder / "texts.jsonl").open("a") as file:
        file.write('{"text": "zebra zebra zebra zebra zebra zebra zebra zebra zebra"}\n' * 40)
    evermix("fit", "texts.jsonl", "--vocabulary", 1, "--engine", "adf", "--quiet")
    assert checkpoint.read("texts.evermix")[1]["extra"]["text"]["words"] == ["zebra"]


@pytest.mark.parametrize("family", ["multinomial", "poisson", "bernoulli"])
def test_count_sources_serve_every_family_of_counts(folder, family):
    lines = [f"1 {1 + i % 2}:1 {3 + i % 2}:1" for i in range(60)]
    (folder / "counts.svmlight").write_text("\n".join(lines) + "\n")
    found = evermix("fit", "counts.svmlight", "--family", family, "--engine", "adf").stdout
    assert len(rows(found)) == 60


def test_the_trace_tells_of_every_lap_once(folder, monkeypatch):
    """Laps of several batches are reported as one."""
    monkeypatch.setattr("evermix.engines.base.ROWS", 40)
    evermix(
        "fit", "points.npy", "--engine", "ep", "--laps", 3, "--tol", 0, "--trace", "trace.jsonl"
    )
    events = rows((folder / "trace.jsonl").read_text())
    assert [event["lap"] for event in events] == [0, 1, 2]
    assert [event["rows"] for event in events] == [150] * 3
    evermix("fit", "points.npy", *SAMPLED, "--trace", "trace.jsonl", "--overwrite")
    events = rows((folder / "trace.jsonl").read_text())
    assert [event["scalars"]["chain"] for event in events] == [0.0] * 8 + [1.0] * 8
    assert all({"log_joint", "K", "a", "sigma"} <= event["scalars"].keys() for event in events)


def test_laws_of_hyperparameters_are_named_as_options_are(folder):
    options = ["--engine", "gibbs", "--sweeps", 4, "--prior", "pitman-yor"]
    options += ["--learn", "concentration=gamma:2,1", "--learn", "discount", "--learn", "alpha"]
    evermix("fit", "texts.jsonl", *options, "--learn", "alpha", status=1)
    evermix("fit", "texts.jsonl", *options)
    laws = {"alpha": em.Gamma(2, 1), "discount": em.Beta(), "family.alpha": em.Gamma()}
    assert em.load("texts.evermix").engine == em.Gibbs(sweeps=4, hyperpriors=laws)


# ---- what is refused -------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        (["--sweeps", 5], "--engine auto, which takes no options of its own. It belongs to gibbs,"),
        (["--engine", "ep", "--sweeps", 5], "does not belong to --engine ep, which takes --laps"),
        (["--engine", "ep", "--learn", "a"], "--learn does not belong to --engine ep"),
        (["--engine", "ep", "--laps", 0], "laps must be"),
        (["--engine", "gibbs", "--laps", 5], "--laps does not belong to --engine gibbs"),
        (["--engine", "gibbs", "--no-merge"], "--merge does not belong to --engine gibbs"),
        (["--engine", "gibbs", "--hybrid"], "--hybrid does not belong to --engine gibbs"),
        (["--engine", "slice", "--augmented"], "--augmented does not belong to --engine slice"),
        (["--engine", "adf", "--shuffle"], "--shuffle does not belong to --engine adf"),
        (["--engine", "ep", "--no-births"], "--births does not belong to --engine ep"),
        (["--engine", "memoizedvb", "--birth", 0.1], "--birth does not belong to --engine memo"),
        (["--engine", "fullvb", "--no-merges"], "--merges does not belong to --engine fullvb"),
        (["--engine", "memoizedvb", "--delay", 2], "--delay does not belong to --engine memo"),
        (["--engine", "memoizedvb", "--a", 2], "--a does not belong to --prior dp"),
        (["--engine", "memoizedvb", "--prior", "nggp"], "MemoizedVB needs a prior with the"),
        (["--engine", "stochasticvb", "--kappa", 0.2], "kappa must lie in [0.5, 1], got 0.2"),
        (["--engine", "memoizedvb", "--spill", "nowhere"], "--spill wants a folder, there is none"),
        (["--engine", "fullvb", "--spill", "."], "--spill does not belong to --engine fullvb"),
        (["--engine", "fullvb", "--tol", -1], "tol must be >= 0 nats, got -1.0"),
        (
            ["--engine", "memoizedvb", "--start", "points.npy"],
            "SOURCE and --start must be",
        ),
        (["--engine", "gibbs", "--burn-in", 300], "burn_in must lie in"),
        (["--engine", "slice", "--prior", "pitman-yor"], "PitmanYor"),
        (["--engine", "gibbs", "--learn", "discount"], "takes a, sigma, tau, alpha"),
        (["--engine", "gibbs", "--learn", "sigma=gamma:1,1"], "asks for em.Beta"),
        (["--engine", "gibbs", "--learn", "a=normal:1,1"], "a=gamma:1,1"),
        (["--engine", "gibbs", "--learn", "a=gamma:1"], "got 'a=gamma:1'"),
        (["--engine", "gibbs", "--learn", "family.beta"], "no 'family.beta' that can be learnt"),
        (["--engine", "ep", "--validation", 1.5], "validation must lie in"),
        (["--prior", "dp", "--sigma", 0.5], "--sigma does not belong to --prior dp"),
        (["--out", "points.npy"], "must be different files"),
        (["--out", "nowhere/out.jsonl"], "there is no folder for"),
        (["--out", "."], "is a folder, where a file was wanted"),
        (["--trace", "/dev/null"], "/dev/null is a device or a pipe"),
        (["--trace", "-"], "--trace wants a file"),
        (["--checkpoint", "/dev/null", "--overwrite"], "/dev/null is a device or a pipe"),
        (["--max-clusters", 10**20], "max_clusters is far too large"),
    ],
)
def test_options_that_do_not_fit_are_named(folder, options, complaint):
    assert complaint in fails("fit", "points.npy", *options)
    assert not (folder / "points.evermix").exists()


def test_unknown_options_are_usage_errors(folder):
    evermix("fit", "points.npy", "--engine", "hmc", status=2)
    evermix("fit", "points.npy", "--seed", -1, status=2)
    evermix("fit", "points.npy", "--laps", "many", status=2)
    evermix("fit", "points.npy", "--resume", "--overwrite", status=2)


def test_bad_rows_are_named_and_can_be_left_out(folder):
    lines = [f"{i % 2},{i % 3}" for i in range(30)]
    lines[11] = "1,nan"
    (folder / "bad.csv").write_text("\n".join(lines) + "\n")
    said = fails("fit", "bad.csv")
    assert "bad.csv: line 12" in said and "--skip-bad" in said
    result = evermix("fit", "bad.csv", "--skip-bad", "--engine", "ep", "--laps", 1)
    assert "29 rows, 1 blank or bad row skipped" in result.stderr and "line 12" in result.stderr
    evermix("fit", "bad.csv", "--resume", "--laps", 2)  # bad rows are left out again


@pytest.mark.parametrize("source", ["..", "/", "nowhere.npy", "nowhere*.npy", "nowhere/"])
def test_sources_that_are_no_files_are_named(folder, source):
    said = fails("fit", source)
    assert "expected files" in said or "no such file" in said or "no file matches" in said


def test_sources_with_nothing_to_learn_say_what_to_change(folder):
    (folder / "texts.jsonl").write_text('{"text": "lake"}\n{"text": "hill"}\n')
    said = fails("fit", "texts.jsonl")
    assert "On the command line: --hash" in said
    np.save("points.npy", np.full((3, 2), np.nan))
    assert "no rows that can be learnt" in fails("fit", "points.npy", "--skip-bad")


def test_nothing_is_overwritten_unless_wanted(folder):
    (folder / "out.jsonl").write_text("precious\n")
    arguments = ["fit", "points.npy", "--engine", "ep", "--laps", 1]
    assert "exists already" in fails(*arguments, "--out", "out.jsonl")
    evermix(*arguments)
    assert "--resume" in fails(*arguments, "--seed", 1)
    assert "Choose another" in fails(*arguments, "--out", "out.jsonl", "--resume")
    assert (folder / "out.jsonl").read_text() == "precious\n"
    evermix(*arguments, "--out", "out.jsonl", "--overwrite")
    assert len(rows((folder / "out.jsonl").read_text())) == 150


# ---- stopping and going on -------------------------------------------------------------------


def stop_after(monkeypatch, steps, number=signal.SIGINT):
    """Send a signal to this process when so many steps and ends of laps have been reported."""
    whole, reported = LapLog.add, []

    def add(log, info):
        reported.append(info)
        if len(reported) == steps:
            signal.raise_signal(number)
        return whole(log, info)

    monkeypatch.setattr(LapLog, "add", add)


INTERRUPTED = {
    "auto": [],
    "ep": ["--engine", "ep", "--laps", "4", "--tol", "0", "--shuffle"],
    "ep-strided": [
        "--engine",
        "ep",
        "--laps",
        "3",
        "--tol",
        "0",
        "--batch-size",
        "40",
        "--stride",
        "2",
    ],
    "gibbs": SAMPLED,
    "adf": ["--engine", "adf"],
    "memoizedvb": ["--engine", "memoizedvb", "--batch-size", "40", "--start", "random"]
    + ["--laps", "4"],
    "fullvb": ["--engine", "fullvb", "--truncation", "4", "--laps", "5", "--tol", "0"],
    "stochasticvb": ["--engine", "stochasticvb", "--batch-size", "40", "--laps", "4"],
}


@pytest.mark.parametrize("number", slow_but([signal.SIGINT], [signal.SIGINT, signal.SIGTERM]))
@pytest.mark.parametrize("name", INTERRUPTED)
def test_a_stopped_fit_that_is_resumed_equals_a_whole_one(folder, monkeypatch, name, number):
    """Stopped within a lap, also the first, or a chain; only the files must be named again."""
    monkeypatch.setattr("evermix.engines.base.ROWS", 40)
    files = ["--checkpoint", "whole.evermix", "--trace", "whole.trace", "--out", "whole.jsonl"]
    evermix("fit", "points.npy", *INTERRUPTED[name], *files)
    files = ["--checkpoint", "m.evermix", "--trace", "m.trace", "--out", "m.jsonl"]
    stop_after(monkeypatch, {"auto": 2, "adf": 3, "ep-strided": 2}.get(name, 7), number)
    stopped = evermix("fit", "points.npy", *INTERRUPTED[name], *files, status=128 + number)
    assert "Stopped after " in stopped.stderr and "of at most" in stopped.stderr
    places = "--out m.jsonl --trace m.trace"
    again = f"fit points.npy --checkpoint m.evermix {places} --resume"
    assert stopped.stderr.rstrip().endswith(again)
    assert not (folder / "m.jsonl").exists()
    assert len(rows(evermix("predict", "m.evermix", "points.npy").stdout)) == 150
    found = described("m.evermix")
    assert found.get("finished", False) is False and found["source"].endswith("points.npy")
    evermix(*again.split())
    assert_same_model("m.evermix", "whole.evermix")
    assert (folder / "m.jsonl").read_bytes() == (folder / "whole.jsonl").read_bytes()
    events = [
        [event | {"seconds": 0} for event in rows((folder / name).read_text())]
        for name in ("m.trace", "whole.trace")
    ]
    assert events[0] == events[1]
    if name != "adf":
        assert described("m.evermix")["finished"] is True


def test_info_tells_how_far_a_sampler_has_come(folder, monkeypatch):
    stop_after(monkeypatch, 14)
    evermix("fit", "points.npy", *SAMPLED, status=130)
    found = described("points.evermix")
    assert (found["laps"], found["finished"]) == (7, False)
    assert (found["chains"], found["draws"], found["observations"]) == (2, 3, 150)
    assert "born" not in found["clusters"][0]
    shown = evermix("info", "points.evermix").stdout
    assert "finished" in shown and "draws" in shown


def test_a_fit_that_is_stopped_before_its_first_step_leaves_nothing(folder, monkeypatch):
    def read(*arguments, **settings):
        signal.raise_signal(signal.SIGINT)

    monkeypatch.setattr("evermix.cli.commands.fit.read_rows", read)
    assert "Nothing was learnt yet" in evermix("fit", "points.npy", status=130).stderr
    assert not (folder / "points.evermix").exists()


def test_a_finished_fit_that_is_resumed_writes_its_rows_again(folder):
    """Also to another file, and it may be given more laps."""
    evermix("fit", "points.npy", "--engine", "ep", "--laps", 2, "--tol", 0, "--out", "out.jsonl")
    before = (folder / "out.jsonl").read_bytes()
    (folder / "out.jsonl").unlink()
    evermix("fit", "points.npy", "--out", "out.jsonl", "--resume")
    assert (folder / "out.jsonl").read_bytes() == before
    said = evermix("fit", "points.npy", "--resume", "--laps", 4, "--out", "more.jsonl").stderr
    assert "4 laps" in said and described("points.evermix")["laps"] == 4
    assert len(rows((folder / "more.jsonl").read_text())) == 150


def test_a_finished_chain_may_be_given_more_sweeps_and_other_chains(folder):
    """If the draws are those that it would have kept from the start."""
    out = ["--out", "out.jsonl"]
    evermix("fit", "points.npy", "--engine", "gibbs", "--sweeps", 6, *out)
    said = fails("fit", "points.npy", *out, "--resume", "--sweeps", 9)
    assert "burn-in of 3 sweeps" in said and "one of 4" in said and "points.evermix" in said
    evermix("fit", "points.npy", *out, "--resume", "--sweeps", 9, "--burn-in", 3)
    assert "begun with sweeps=9" in fails("fit", "points.npy", *out, "--resume", "--sweeps", 8)
    evermix("fit", "points.npy", *out, "--resume", "--chains", 2)
    whole = ["--engine", "gibbs", "--sweeps", 9, "--burn-in", 3, "--chains", 2]
    evermix("fit", "points.npy", *whole, "--checkpoint", "whole.evermix")
    assert_same_model("points.evermix", "whole.evermix")
    assert em.load("points.evermix").engine == em.Gibbs(sweeps=9, burn_in=3, chains=2)


def test_a_fit_that_has_settled_goes_on_with_a_smaller_tolerance(folder):
    evermix("fit", "points.npy", "--engine", "ep", "--laps", 5, "--tol", 1, "--out", "out.jsonl")
    assert described("points.evermix")["laps"] == 2
    evermix("fit", "points.npy", "--out", "out.jsonl", "--resume", "--tol", 0)
    assert described("points.evermix")["laps"] == 5
    assert em.load("points.evermix").engine == em.EP(laps=5, tol=0.0)


def test_rows_of_a_resumed_fit_do_not_go_where_its_trace_is(folder):
    evermix("fit", "points.npy", "--engine", "ep", "--laps", 1, "--trace", "trace.jsonl")
    (folder / "trace.jsonl").write_text("")  # as if it had been stopped before its first line
    files = ["--trace", "trace.jsonl", "--out", "trace.jsonl"]
    said = fails("fit", "points.npy", "--resume", "--laps", 2, *files)
    assert "must be different files" in said


def test_resume_without_a_checkpoint_starts_from_the_beginning(folder):
    result = evermix("fit", "points.npy", "--resume")
    assert "no checkpoint points.evermix, so there is nothing to go on from" in result.stderr
    assert len(rows(result.stdout)) == 150


@pytest.mark.parametrize(
    ("changed", "complaint"),
    [
        (["texts.jsonl", "--out", "out.jsonl"], "when the checkpoint m.evermix was made"),
        (["points.npy", "--engine", "gibbs"], "--engine cannot change on the way"),
        (["points.npy", "--shuffle"], "the checkpoint was made without it, got True"),
        (["points.npy", "--seed", 2], "--seed cannot change"),
        (["points.npy", "--validation", 0.3], "--validation cannot change"),
        (["points.npy", "--sweeps", 9], "--sweeps cannot change"),
    ],
)
def test_resume_refuses_another_fit(folder, changed, complaint):
    evermix(
        "fit",
        "points.npy",
        "--engine",
        "ep",
        "--laps",
        1,
        "--checkpoint",
        "m.evermix",
        "--out",
        "out.jsonl",
    )
    assert complaint in fails("fit", *changed, "--checkpoint", "m.evermix", "--resume")


def test_resume_refuses_rows_that_have_changed_and_checkpoints_of_streams(folder):
    evermix("fit", "points.npy", "--engine", "ep", "--laps", 1, "--out", "out.jsonl")
    np.save("points.npy", np.load("points.npy") + 1.0)
    said = fails("fit", "points.npy", "--out", "out.jsonl", "--resume")
    assert "other rows than there are now" in said and "--overwrite" in said
    assert "is a checkpoint of `evermix fit`, not of a stream" in fails(
        "stream", "points.npy", "--checkpoint", "points.evermix", "--resume"
    )
    evermix("stream", "texts.jsonl", "--out", "o", "--checkpoint", "texts.evermix")
    assert "Go on with `evermix stream ... --resume`" in fails("fit", "texts.jsonl", "--resume")


def test_a_fit_goes_on_wherever_its_files_are(folder):
    """Rows are known by what they are: a folder may be copied or moved."""
    evermix("fit", "points.npy", "--engine", "ep", "--laps", 1, "--out", "out.jsonl")
    shutil.copytree(folder, folder / "moved")
    evermix("fit", "points.npy", "--resume", "--laps", 3, "--out", "out.jsonl")
    again = ["--checkpoint", "moved/points.evermix", "--resume", "--out", "new.jsonl"]
    evermix("fit", "moved/points.npy", *again, "--laps", 3)
    assert (folder / "new.jsonl").read_text() == (folder / "out.jsonl").read_text()
    np.save("points.npy", np.load("moved/points.npy") + 1.0)
    said = fails("fit", "points.npy", *again)
    assert "other rows than there are now" in said and "sample_weight" not in said
