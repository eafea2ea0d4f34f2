"""`evermix stream` with every engine that learns rows once, and with forgetting."""

import json
import re
from datetime import timedelta

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet
from typer.testing import CliRunner

import evermix as em
from evermix.cli import app
from evermix.cli.options.mixture import parse_half_life, parts
from evermix.engines import ENGINES
from evermix.estimators.mixture.calendar import shown_time
from evermix.io import checkpoint
from evermix.state import FADED

POINTS = ["--checkpoint", "points.evermix"]
HOURLY = ["--checkpoint", "hours.evermix"]
LATE = ["--checkpoint", "late.evermix"]
BAD = ["--checkpoint", "bad.evermix"]

N = 1500
RNG = np.random.default_rng(0)
PLACE = np.arange(N) * 3 // N  # one place after another
X = RNG.normal(size=(N, 2)) + 15.0 * np.c_[PLACE, -PLACE]
HOURS = np.cumsum(RNG.exponential(size=N))
DATES = np.datetime64("2024-01-01", "us") + (3600e6 * HOURS).astype("timedelta64[us]")
NAMES = [name.lower() for name, engine in ENGINES.items() if engine.streams]


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A working directory with dated points in every format that has fields, and plain ones."""
    monkeypatch.chdir(tmp_path)
    np.save("points.npy", X)
    write("points.jsonl", DATES)
    lines = (f"{x!r},{y!r},{when}\n" for (x, y), when in zip(X.tolist(), DATES, strict=True))
    (tmp_path / "points.csv").write_text("x,y,when\n" + "".join(lines))
    parquet.write_table(pa.table({"x": X[:, 0], "when": DATES, "y": X[:, 1]}), "points.parquet")
    return tmp_path


def write(path, times):
    with open(path, "w") as file:
        for x, when in zip(X.tolist(), times, strict=False):
            when = when if isinstance(when, float) else str(when)
            file.write(json.dumps({"vector": x, "when": when}) + "\n")


def evermix(*arguments, status=0):
    """Run a command; one that fails must do so in one line."""
    result = CliRunner().invoke(app, [str(argument) for argument in arguments])
    assert result.exit_code == status, result.output
    said = result.stderr.strip().splitlines()
    said = [line for line in said if not line.startswith("evermix: the family is ")]
    assert status != 1 or (len(said) == 1 and said[0].startswith("evermix: error: "))
    return result


def fails(*arguments):
    return evermix(*arguments, status=1).stderr.strip().splitlines()[-1]


def rows(text):
    return [json.loads(line) for line in text.splitlines()]


def masses(path):
    return checkpoint.read(path)[0]["state.tally.mass"].tolist()


# ---- engines ---------------------------------------------------------------------------------


def test_the_command_line_knows_every_engine():
    """`fit` has all, `stream` those that learn rows as they come."""
    for streaming, names in ((False, {name.lower() for name in ENGINES}), (True, set(NAMES))):
        assert parts((), streaming).engine.classes.keys() == names


@pytest.mark.parametrize("name", NAMES)
def test_a_stream_learns_what_the_engine_learns(folder, name):
    (engine,) = [engine for known, engine in ENGINES.items() if known.lower() == name]
    lines = rows(evermix("stream", "points.npy", *POINTS, "--engine", name, "--batch", 170).stdout)
    mix = em.Mixture(engine=engine(), random_state=0)
    for some in np.split(X, range(1020, N, 170)):
        mix.partial_fit(some)
    assert masses("points.evermix") == mix.state_.tally.mass.tolist()
    assert [line["cluster"] for line in lines[-140:]] == mix.labels_.tolist()
    assert "faded" not in lines[0]
    found = json.loads(evermix("info", "points.evermix", "--json").stdout)
    assert found["engine"] == repr(engine()) and found["K"] == mix.n_clusters_
    assert found["prior"] == repr(mix.model_.prior) and "forgetting" not in found


def test_options_of_engines_reach_them(folder):
    for options, engine in (
        ([], None),
        (["--engine", "adf", "--birth", 0.2, "--no-merge"], em.ADF(birth=0.2, merge=None)),
        (["--engine", "adf", "--merge"], em.ADF()),
        (["--engine", "sugs", "--merge"], em.SUGS(merge=em.ADF().merge)),
        (["--engine", "sugs"], em.SUGS(merge=None)),
        (["--engine", "dpmeans", "--penalty", 50], em.DPMeans(penalty=50.0)),
    ):
        evermix("stream", "points.npy", *POINTS, *options, "--overwrite", "--limit", 100)
        assert em.load("points.evermix").engine == engine


@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        (["--engine", "sugs", "--birth", 0.1], "--birth does not belong to --engine sugs"),
        (["--engine", "sugs", "--penalty", 9], "--penalty does not belong to --engine sugs, which"),
        (
            ["--engine", "rcrp", "--no-merge"],
            "--engine rcrp, which takes --rule",
        ),
        (["--engine", "dpmeans", "--merge"], "--engine dpmeans, which takes --penalty."),
        (["--engine", "rcrp", "--prior", "nggp"], "it needs the prior DP"),
        (["--engine", "dpmeans", "--family", "gaussian"], "works with the family FixedGaussian"),
        (["--half-life", "soon"], "--half-life wants a number of rows, or a duration such as"),
        (["--half-life", "7y"], "got '7y'"),
        (["--half-life", "0"], "half_life must be finite and above 0"),
        (["--half-life", "-3d", "--time-field", "when"], "half_life must be finite and above 0"),
        (["--half-life", "7d"], "every row needs a date: name the field or column"),
        (["--half-life", "90", "--time-field", "when"], "must be a duration such as 12h or 7d"),
        (
            ["--half-life", "90", "--time-field", "day"],
            "line 1: there is no field 'day'",
        ),
    ],
)
def test_options_that_do_not_fit_are_named(folder, options, complaint):
    assert complaint in fails("stream", "points.jsonl", *POINTS, *options)
    assert not (folder / "points.evermix").exists()


def test_engines_that_come_back_to_their_rows_are_no_engines_of_a_stream():
    evermix("stream", "points.npy", "--engine", "gibbs", status=2)


# ---- half-lives and times --------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("1000", 1000),
        ("0.5", 0.5),
        ("45s", timedelta(seconds=45)),
        ("30m", timedelta(minutes=30)),
        ("12h", timedelta(hours=12)),
        ("7d", timedelta(days=7)),
        ("1.5d", timedelta(days=1.5)),
        ("2w", timedelta(weeks=2)),
    ],
)
def test_half_lives_are_numbers_or_durations(text, wanted):
    assert parse_half_life(text, "when") == em.Exponential(wanted)


def test_times_are_shown_as_they_may_have_been_written():
    for text in ("2024-05-31", "2024-05-31T18:30:00", "1969-12-31T23:59:59.250000"):
        seconds = (np.datetime64(text) - np.datetime64(0, "s")) / np.timedelta64(1, "s")
        assert shown_time(seconds, dated=True) == text
    assert shown_time(2.5, dated=False) == 2.5


@pytest.mark.parametrize("name", NAMES)
def test_rows_are_forgotten_as_partial_fit_does(folder, name):
    (engine,) = [engine for known, engine in ENGINES.items() if known.lower() == name]
    evermix("stream", "points.npy", *POINTS, "--engine", name, "--half-life", 60, "--batch", 130)
    mix = em.Mixture(engine=engine(), forgetting=em.Exponential(60.0), random_state=0)
    assert masses("points.evermix") == mix.partial_fit(X).state_.tally.mass.tolist()


@pytest.mark.parametrize("source", ["points.jsonl", "points.csv", "points.parquet"])
def test_dates_are_forgotten_as_partial_fit_does(folder, source):
    evermix("stream", source, *POINTS, "--half-life", "2d", "--time-field", "when", "--batch", 130)
    plan = em.Exponential(timedelta(days=2))
    mix = em.Mixture(forgetting=plan, random_state=0).partial_fit(X, times=DATES)
    assert masses("points.evermix") == mix.state_.tally.mass.tolist()
    # The column of times is no feature for the other commands either.
    queried = ["points.evermix", source, "--time-field", "when"]
    found = rows(evermix("predict", *queried).stdout)
    assert [line["cluster"] for line in found] == mix.predict(X).tolist()
    evermix("fit", source, "--engine", "sugs", "--time-field", "when", "--overwrite")
    assert em.load("points.evermix").n_features_in_ == 2


def test_numbers_are_forgotten_in_their_own_unit(folder):
    write("hours.jsonl", HOURS.tolist())
    evermix("stream", "hours.jsonl", *HOURLY, "--half-life", "48", "--time-field", "when")
    mix = em.Mixture(forgetting=em.Exponential(48.0), random_state=0).partial_fit(X, times=HOURS)
    assert masses("hours.evermix") == mix.state_.tally.mass.tolist()
    said = fails(
        "stream", "hours.jsonl", *HOURLY, "--half-life", "2d", "--time-field", "when", "--overwrite"
    )
    assert "the times of the rows are numbers" in said


def test_a_time_field_alone_is_only_left_out(folder):
    evermix("stream", "points.csv", "--time-field", "when", "--checkpoint", "a.evermix")
    evermix("stream", "points.npy", "--checkpoint", "b.evermix")
    assert masses("a.evermix") == masses("b.evermix")


# ---- what is said of clusters that have faded ------------------------------------------------


@pytest.mark.parametrize("name", NAMES)
def test_lines_summary_trace_and_info_tell_what_has_faded(folder, name):
    files = ["--trace", "trace.jsonl", "--batch", 100]
    result = evermix("stream", "points.npy", *POINTS, "--engine", name, "--half-life", 20, *files)
    lineage = em.load("points.evermix").lineage_
    gone = [k for k, into in enumerate(lineage.into) if into == FADED]
    lines = rows(result.stdout)
    assert gone and sorted(k for line in lines for k in line.get("faded", [])) == gone
    assert all(line["faded"] for line in lines if "faded" in line)
    for row, line in enumerate(lines):  # none lives on behind the line that says so
        assert not set(line.get("faded", [])) & {later["cluster"] for later in lines[row + 1 :]}
    assert re.search(rf"[(, ]{len(gone)} faded\)", result.stderr)
    events = rows((folder / "trace.jsonl").read_text())
    assert set(gone) <= {k for event in events for k in event["dropped"]}
    found = json.loads(evermix("info", "points.evermix", "--json").stdout)
    assert found["faded"] == len(gone) and found["now"] == N
    assert found["forgetting"] == "Exponential(half_life=20.0, dated=False)"
    assert max(cluster["seen"] for cluster in found["clusters"]) == N


def test_info_tells_dates(folder):
    evermix("stream", "points.jsonl", *POINTS, "--half-life", "2d", "--time-field", "when")
    found = json.loads(evermix("info", "points.evermix", "--json").stdout)
    assert found["now"] == str(DATES[-1]) == found["clusters"][0]["seen"]
    assert "seen" in evermix("info", "points.evermix").stdout


# ---- time that goes back, bad times, going on ------------------------------------------------


def test_rows_that_go_back_in_time_are_named_and_lose_nothing(folder):
    """Said again on each try; without the row the stream goes on as if it had never been."""
    times = DATES.astype(object)
    times[1234] = times[1200]
    write("late.jsonl", times)
    options = ["--half-life", "2d", "--time-field", "when", "--batch", 100]
    started = ["stream", "late.jsonl", *LATE, *options, "--out", "out.jsonl"]
    said = fails(*started)
    before = str(DATES[1200])
    assert f"late.jsonl: line 1235: its time, {before}, is before that of the row" in said
    assert "Stopped after 1,200 rows. Go on with" in said and "--skip-bad" not in said
    assert fails(*started, "--resume", "--skip-bad") == said
    text = (folder / "late.jsonl").read_text().splitlines(keepends=True)
    (folder / "late.jsonl").write_text("".join(text[:1234] + text[1235:]))
    evermix(*started, "--resume")
    want = em.Mixture(forgetting=em.Exponential(timedelta(days=2)), random_state=0)
    want.partial_fit(np.delete(X, 1234, axis=0), times=np.delete(DATES, 1234))
    assert masses("late.evermix") == want.state_.tally.mass.tolist()
    assert len(rows((folder / "out.jsonl").read_text())) == N - 1


def test_a_batch_that_begins_before_the_last_row_is_named_too(folder):
    times = DATES.astype(object)
    times[1100] = times[0]
    write("late.jsonl", times)
    options = ["--half-life", "2d", "--time-field", "when", "--batch", 100]
    for resumed in ([], ["--resume"]):
        said = fails("stream", "late.jsonl", *LATE, *options, "--out", "out.jsonl", *resumed)
        assert f"line 1101: its time, {DATES[0]}, is before" in said and str(DATES[1099]) in said


def test_bad_times_are_bad_rows(folder):
    times = DATES.astype(object)
    times[1300] = "yesterday"
    write("bad.jsonl", times)
    options = ["--half-life", "2d", "--time-field", "when", "--batch", 100]
    said = fails("stream", "bad.jsonl", *BAD, *options, "--out", "out.jsonl")
    assert "bad.jsonl: line 1301: expected a finite number" in said and "--skip-bad" in said
    result = evermix("stream", "bad.jsonl", *BAD, "--out", "out.jsonl", "--resume", "--skip-bad")
    assert "1,499 rows, 199 of them new, 1 blank or bad" in result.stderr


@pytest.mark.parametrize(
    ("changed", "complaint"),
    [
        (["--half-life", "3d"], "the checkpoint was made with '2d', got '3d'"),
        (["--engine", "sugs"], "--engine cannot change on the way"),
        (["--time-field", "day"], "--time-field cannot change"),
        (["--penalty", "3"], "the checkpoint was made without it, got 3.0"),
    ],
)
def test_a_stream_goes_on_as_it_began(folder, changed, complaint):
    files = ["--out", "out.jsonl", "--checkpoint", "model.evermix"]
    options = ["--half-life", "2d", "--time-field", "when", "--batch", 250]
    evermix("stream", "points.jsonl", *options, *files, "--limit", 1000)
    said = fails("stream", "points.jsonl", *files, *changed, "--resume")
    assert complaint in said
    evermix("stream", "points.jsonl", *files, "--resume")
    mix = em.Mixture(forgetting=em.Exponential(timedelta(days=2)), random_state=0)
    assert masses("model.evermix") == mix.partial_fit(X, times=DATES).state_.tally.mass.tolist()


@pytest.mark.parametrize("half_life", [[], ["--half-life", "30d"]])
def test_streams_with_times_have_dates(tmp_path, monkeypatch, half_life):
    monkeypatch.chdir(tmp_path)
    rows = (f"{d},{a},{b}\n" for d, (a, b) in zip(DATES, X, strict=True))
    (tmp_path / "rows.csv").write_text("when,a,b\n" + "".join(rows))
    run = ["stream", "rows.csv", "--time-field", "when", "--out", "out.jsonl", *half_life]
    assert not CliRunner().invoke(app, [*run, "--batch", "500", "--trace", "t.jsonl"]).exit_code
    answers = [json.loads(line) for line in (tmp_path / "out.jsonl").read_text().splitlines()]
    opened = {a["cluster"]: a["since"] for a in answers if "since" in a}
    assert opened and all(a["new"] or "from" in a for a in answers if "since" in a)
    steps = [json.loads(line) for line in (tmp_path / "t.jsonl").read_text().splitlines()]
    assert [np.datetime64(s["time"]) for s in steps] == [DATES[s["clock"] - 1] for s in steps]
    found = CliRunner().invoke(app, ["info", "out.jsonl.evermix", "--json"])
    found = json.loads(found.stdout)
    assert found["times"] == f"2024-01-01T{str(DATES[0])[11:]} to {DATES[-1]}"
    for cluster in found["clusters"]:
        assert np.datetime64(cluster["since"]) == DATES[cluster["born"] - 1]
        assert cluster["since"] == opened.get(cluster["id"], cluster["since"])
