"""`evermix topics` as a user types it."""

import csv
import json
import sys

import numpy as np
import pytest
from typer.testing import CliRunner

import evermix as em
from evermix.cli import app
from evermix.io import checkpoint
from evermix.topics.hierarchies import TOPIC_PRIORS
from helpers.topic_texts import SHORT, WORDS, evermix, records, topics, working_directory


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A working directory with a small source of texts."""
    return working_directory(tmp_path, monkeypatch)


# ---- what is found ---------------------------------------------------------------------------


def test_topics_that_take_over_from_each_other_are_reported(folder):
    said = evermix("texts.jsonl", "--time-field", "year", "--burn-in", 60, "--draws", 40)
    assert said.exit_code == 0, said.stderr
    assert "60 documents of 3 times" in said.stderr and "on average over" in said.stderr
    found = json.loads(said.stdout)
    assert found["times"] == [2001, 2002, 2003]
    assert found["documents"] == 60 and found["words"] == 600 and found["vocabulary"] == 10
    evolution = np.array(found["evolution"])
    np.testing.assert_allclose(evolution.sum(axis=0), 1.0, atol=1e-4)
    assert evolution.shape == np.shape(found["predicted_evolution"]) == (found["n_topics"], 3)
    sea = [set(topic["words"][:3]) <= set(WORDS["sea"].split()) for topic in found["topics"]]
    share = evolution[np.array(sea)].sum(axis=0)
    assert share[0] > 0.7 and share[2] < 0.3
    assert found["perplexity"] is None
    assert abs(sum(topic["weight"] for topic in found["topics"]) - 1.0) < 1e-4


def test_the_numbers_are_those_of_the_estimator(folder):
    found = topics("texts.jsonl", "--time-field", "year", "--prior", "htngg", "--regions", 2)
    model = em.load("texts.evermix")
    assert model.prior == em.HTNGG(regions=2) and model.burn_in == 6
    assert found["n_topics"] == model.n_topics_
    np.testing.assert_allclose(np.transpose(found["evolution"]), model.evolution_, atol=1e-6)
    np.testing.assert_allclose(
        np.transpose(found["predicted_evolution"]), model.predicted_evolution_, atol=1e-6
    )
    assert [topic["region"] for topic in found["topics"]] == model.regions_.tolist()
    assert found["mean_topics"] == model.traces_["n_topics"].mean()


@pytest.mark.parametrize("prior", [name.lower() for name in TOPIC_PRIORS])
def test_every_prior_finds_topics_over_time(folder, prior):
    """Those that know no times too: their topics are looked for in the documents of each time."""
    found = topics("texts.jsonl", "--time-field", "year", "--prior", prior, "--held-out", 0.2)
    assert found["prior"].lower().startswith(prior)
    assert np.shape(found["evolution"]) == (found["n_topics"], 3)
    assert (found["predicted_evolution"] is None) == (prior in ("hdp", "hngg"))
    assert found["held_out"] == 12 and found["documents"] == 48
    assert 1.0 < found["perplexity"] < 12.0


def test_spans_births_and_deaths_follow_the_share(folder):
    found = topics("texts.jsonl", "--time-field", "year", "--share", 0.3, "--top-words", 2)
    for k, (topic, row) in enumerate(zip(found["topics"], found["evolution"], strict=True)):
        there = [t for t, share in zip(found["times"], row, strict=True) if share >= 0.3]
        assert (topic["first"], topic["last"]) == ((there[0], there[-1]) if there else (None, None))
        assert (topic["born"] is not None) == any(k in some for some in found["births"])
        assert (topic["died"] is not None) == any(k in some for some in found["deaths"])
        assert len(topic["words"]) <= 2


@pytest.mark.parametrize(
    ("period", "first", "T"),
    [(None, "2001", 3), ("month", "2001-01", 36), ("day", "2001-01-03", 36)],
)
def test_dates_are_turned_into_periods(folder, period, first, T):
    given = [] if period is None else ["--period", period]
    times = topics("texts.jsonl", "--time-field", "day", *given)["times"]
    assert times[0] == first and len(times) == T and times == sorted(times)


def test_labels_are_times_in_the_order_in_which_they_appear(folder):
    said = evermix("texts.jsonl", "--time-field", "season", "--held-out", 0.2, *SHORT)
    assert said.exit_code == 0, said.stderr
    found, model = json.loads(said.stdout), em.load("texts.evermix")
    assert found["times"] == ["spring", "fall", "autumn"] == model.times_.tolist()
    np.testing.assert_allclose(np.transpose(found["evolution"]), model.evolution_, atol=1e-6)
    assert {topic["first"] for topic in found["topics"]} <= {*found["times"], None}
    more = evermix("texts.jsonl", "--resume", "--draws", 6)
    assert more.exit_code == 0, more.stderr
    assert json.loads(more.stdout)["times"] == found["times"]
    timeless = topics("texts.jsonl", "--time-field", "season", "--prior", "hdp")
    assert timeless["times"] == found["times"] and len(timeless["evolution"][0]) == 3


def test_counts_have_the_names_of_their_columns(folder):
    names = [word for words in WORDS.values() for word in words.split()]
    with open("counts.csv", "w", newline="") as file:
        rows = csv.writer(file)
        rows.writerow(["year", *names])
        for record in records():
            words = record["text"].split()
            rows.writerow([record["year"], *(words.count(name) for name in names)])
    found = topics("counts.csv", "--time-field", "year")
    assert found["times"] == [2001, 2002, 2003] and found["words"] == 600
    assert {word for topic in found["topics"] for word in topic["words"]} <= set(names)


def test_texts_without_times_have_topics_too(folder):
    found = topics("texts.jsonl", "--prior", "hdp")
    assert found["times"] == found["births"] == [] and found["predicted_evolution"] is None
    assert found["topics"][0]["weight"] > 0 and found["topics"][0]["first"] is None


def test_documents_without_words_are_left_out(folder):
    with open("texts.jsonl", "a") as file:
        file.write(json.dumps({"text": "of the and", "year": 2050}) + "\n")
    said = evermix("texts.jsonl", "--time-field", "year", *SHORT)
    assert json.loads(said.stdout)["times"] == [2001, 2002, 2003]
    assert "; 1 document without words is left out; " in said.stderr


def test_many_times_of_few_documents_are_worth_a_word(folder):
    with open("moments.jsonl", "w") as file:
        for i, record in enumerate(records()):
            file.write(json.dumps(record | {"when": i}) + "\n")
    said = evermix("moments.jsonl", "--time-field", "when", "--regions", 2, *SHORT)
    assert "60 documents have 60 different times" in said.stderr


# ---- files -----------------------------------------------------------------------------------


def test_files_are_written_where_wanted(folder):
    pytest.importorskip("matplotlib")
    files = ["--out", "topics.json", "--figure", "topics.png", "--curves", "curves.svg"]
    files += ["--trace", "trace.jsonl", "--checkpoint", "model.evermix", "--chains", 2]
    said = evermix("texts.jsonl", "--time-field", "year", *files, *SHORT)
    assert said.exit_code == 0 and said.stdout == "", said.stderr
    assert json.loads((folder / "topics.json").read_text())["draws"] == 4
    assert (folder / "topics.png").read_bytes().startswith(b"\x89PNG")
    assert "svg" in (folder / "curves.svg").read_text()[:200]
    steps = [json.loads(line) for line in (folder / "trace.jsonl").read_text().splitlines()]
    assert [step["number"] for step in steps] == list(range(1, 11))
    assert [step["kept"] for step in steps] == [False] * 6 + [True] * 4
    assert all(len(step["log_joint"]) == len(step["n_topics"]) == 2 for step in steps)


def test_more_draws_go_on_as_if_wanted_at_once(folder):
    common = ["texts.jsonl", "--time-field", "year", "--held-out", 0.2, "--burn-in", 4]
    assert evermix(*common, "--draws", 7, "--out", "whole.json").exit_code == 0
    assert evermix(*common, "--draws", 3, "--checkpoint", "c.evermix").exit_code == 0
    said = evermix("texts.jsonl", "--checkpoint", "c.evermix", "--resume", "--draws", 7)
    assert said.exit_code == 0, said.stderr
    assert said.stdout == (folder / "whole.json").read_text()
    arrays, others = (checkpoint.read(name)[0] for name in ("texts.evermix", "c.evermix"))
    assert arrays.keys() == others.keys()
    assert all(arrays[name].tobytes() == others[name].tobytes() for name in arrays)


def test_info_tells_of_topics(folder):
    found = topics("texts.jsonl", "--time-field", "year")
    said = CliRunner().invoke(app, ["info", "texts.evermix", "--json", "--top", "2"])
    assert said.exit_code == 0, said.stderr
    info = json.loads(said.stdout)
    assert info["K"] == found["n_topics"] and info["sweeps"] == 10
    assert info["times"] == "3, 2001 to 2003"
    assert info["kind"] == "topic model" and info["sampler"].startswith("H1(")
    assert len(info["topics"]) == 2
    said = CliRunner().invoke(app, ["info", "texts.evermix"])
    assert (
        said.exit_code == 0
        and "words that set it apart" in said.stdout
        and "HMNGG" not in said.stdout
    )
    assert "HMNGG" in CliRunner().invoke(app, ["info", "texts.evermix", "--all"]).stdout
    said = CliRunner().invoke(app, ["info", "texts.evermix", "--json", "--top", "1", "--all"])
    assert len(json.loads(said.stdout)["topics"]) == found["n_topics"]
    said = CliRunner().invoke(app, ["explain", "texts.evermix", "texts.jsonl"])
    assert said.exit_code == 1 and "holds a topic model, not a mixture" in said.stderr
    assert em.load("texts.evermix").top_words(5) == [
        topic["words"][:5] for topic in found["topics"]
    ]


@pytest.mark.parametrize("prior", ["hmngg", "mngg", "hdp"])
def test_info_says_of_topics_what_was_said_when_they_were_found(folder, prior):
    """Also where times have different numbers of words, and with a share of one's own."""
    lines = (folder / "texts.jsonl").read_text().splitlines(keepends=True)
    (folder / "few.jsonl").write_text("".join(lines[:45]))
    found = topics("few.jsonl", "--time-field", "year", "--prior", prior, "--share", 0.3)
    said = CliRunner().invoke(app, ["info", "few.evermix", "--json", "--top", "100"])
    info = json.loads(said.stdout)["topics"]
    for topic, other in zip(info, found["topics"], strict=True):
        assert topic["words"] == other["words"][:8] and topic["weight"] == other["weight"]
        if prior != "hdp":  # a model without times knows none
            assert (topic["first"], topic["last"]) == (other["first"], other["last"])
            by_words = np.average(found["evolution"][topic["topic"]], weights=[200, 200, 50])
            assert topic["weight"] == pytest.approx(by_words, abs=1e-5)
    weights = [topic["weight"] for topic in info]
    assert weights == sorted(weights, reverse=True)
    assert "None " not in CliRunner().invoke(app, ["info", "few.evermix"]).stdout


def test_info_has_a_line_for_each_topic(folder):
    """Whatever the words are: what does not fit is cut."""
    rng = np.random.default_rng(0)
    words = [f"remarkablylongword{letter}" for letter in "abcdefghijklmnopqrstuvwxyz"]
    lines = [{"text": " ".join(rng.choice(words, 9)), "year": 2000 + i // 20} for i in range(60)]
    (folder / "wide.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    topics("wide.jsonl", "--time-field", "year")
    K = em.load("wide.evermix").n_topics_
    shown = CliRunner().invoke(app, ["info", "wide.evermix", "--all"]).stdout
    assert len(shown.partition("kind ")[0].splitlines()) == K + 7  # title, head, frame, two facts
    assert "…" in shown and max(map(len, shown.splitlines())) <= 110
    assert f"The largest 1 topics of {K}" in (
        CliRunner().invoke(app, ["info", "wide.evermix", "--top", "1"]).stdout
    )


def test_info_tells_of_models_that_python_saved(folder):
    """Those with dates too."""
    rng = np.random.default_rng(0)
    X, days = rng.poisson(2.0, size=(12, 4)), np.repeat(np.array("2001-05-01", "M8[D]"), 12)
    days[6:] += np.timedelta64(1, "D")
    model = em.TopicModel(sampler=em.H1(slices=True), burn_in=2, draws=2, random_state=0)
    model.fit(X, times=days).save("topics.evermix")
    info = json.loads(CliRunner().invoke(app, ["info", "topics.evermix", "--json"]).stdout)
    assert info["prior"] == "HMNGG()" and "slices=True" in info["sampler"] and info["sweeps"] == 4
    assert info["times"] == "2, 2001-05-01 to 2001-05-02" and info["K"] == model.n_topics_
    flat = em.TopicModel(em.TNGG(regions=2), burn_in=2, draws=2, random_state=0).fit(X)
    flat.save("flat.evermix")
    assert "T1()" in CliRunner().invoke(app, ["info", "flat.evermix", "--all"]).stdout


def interrupted(model, X, times):
    """Return a model whose fit to rows was interrupted after two sweeps of its burn-in."""
    sampler = em.H1 if isinstance(model, em.TopicModel) else em.M1
    sweep, sweeps = sampler.sweep, iter(range(2))

    def stopped(self, *args):
        if next(sweeps, None) is None:
            raise KeyboardInterrupt
        sweep(self, *args)

    with pytest.MonkeyPatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr(sampler, "sweep", stopped)
        model.fit(X, times=times)
    return model


@pytest.mark.parametrize("burn_in", [3, 1], ids=["as it was", "shorter since"])
def test_info_tells_of_models_without_draws(folder, burn_in):
    """Topics are then those of the chain; clusters are those of draws only."""
    X, years = np.random.default_rng(0).poisson(2.0, size=(12, 4)), [2001, 2002] * 6
    model = interrupted(em.TopicModel(burn_in=3, draws=2, random_state=0), X, years)
    model.set_params(burn_in=burn_in).save("topics.evermix")
    info = json.loads(CliRunner().invoke(app, ["info", "topics.evermix", "--json"]).stdout)
    assert info["sweeps"] == 2 and info["K"] == model.n_topics_ and info["topics"]
    mix = interrupted(em.DependentMixture(burn_in=3, draws=2, random_state=0), X, years)
    mix.set_params(burn_in=burn_in).save("mix.evermix")
    said = CliRunner().invoke(app, ["info", "mix.evermix", "--json"])
    assert said.exit_code == 0, said.exception
    info = json.loads(said.stdout)
    assert info["sweeps"] == 2 and info["times"] == "2, 2001 to 2002"
    assert info["K"] is None and info["observations"] is None and info["clusters"] == []
    assert "dependent mixture" in CliRunner().invoke(app, ["info", "mix.evermix"]).stdout


def test_info_tells_of_mixtures_over_time(folder):
    rng = np.random.default_rng(0)
    X, seasons = rng.normal(size=(12, 2)), ["spring", "summer", "autumn"] * 4
    mix = em.DependentMixture(prior=em.TNGG(), burn_in=2, draws=3, random_state=0)
    mix.fit(X, times=seasons).save("mix.evermix")
    info = json.loads(CliRunner().invoke(app, ["info", "mix.evermix", "--json"]).stdout)
    assert info["kind"] == "dependent mixture" and info["sampler"] == "T1()"
    assert info["prior"] == repr(em.TNGG()) and info["family"].startswith("Gaussian(")
    assert info["times"] == "3, spring to autumn" and info["sweeps"] == 5
    assert info["K"] == mix.n_clusters_ == len(info["clusters"]) and info["observations"] == 12
    assert sum(cluster["size"] for cluster in info["clusters"]) == 12
    shown = CliRunner().invoke(app, ["info", "mix.evermix"]).stdout
    assert "dependent mixture" in shown and "spring" in shown


@pytest.mark.parametrize("options", [["--time-field", "Day"], ["--prior", "hdp"]])
def test_a_table_names_the_columns_that_hold_texts(folder, options):
    rows = "".join(f"P{d},{2001 + d % 3},dry, sun and sea {d}\n" for d in range(9))
    (folder / "minutes.csv").write_text(f"Ref,Day,Weather,Minute\n{rows}")
    said = evermix("minutes.csv", *options)
    assert said.exit_code == 1 and "Did you mean --text-field Minute?" in said.stderr
    (folder / "notes.csv").write_text("Ref,Note,Minute\na 1,by sea,sun and sea\n")
    said = evermix("notes.csv", "--prior", "hdp")
    assert "Texts are in 'Minute', 'Ref', 'Note'. Did you mean --text-field Minute?" in said.stderr


# ---- what cannot be --------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "wants to know the times of documents"),
        (["--time-field", "when"], "there is no field 'when'"),
        (["--time-field", "text"], "expected a finite number, or a date"),
        (["--time-field", "season", "--period", "month"], "'season' holds labels"),
        (["--time-field", "year", "--period", "month"], "'year' holds numbers"),
        (["--prior", "hdp", "--figure", "x.png"], "--figure and --curves want times"),
        (["--prior", "hdp", "--period", "day"], "--period want"),
        (["--time-field", "year", "--figure", "x.docx"], "pictures are files such as"),
        (["--time-field", "year", "--window", "2"], "--window does not belong to --prior hmngg"),
        (["--time-field", "year", "--alpha", "0"], "alpha must be positive"),
        (["--time-field", "year", "--held-out", "0.01"], "leaves no document to hold out"),
        (["--time-field", "year", "--out", "nowhere/x.json"], "there is no folder"),
        (["--time-field", "year", "--figure", "nowhere/x.png"], "there is no folder"),
        (["--time-field", "year", "--figure", "x.png", "--out", "x.png"], "must be different"),
        (["--time-field", "year", "--prior", "mngg", "--sampler", "h1"], "sampler"),
    ],
)
def test_what_cannot_be_is_said_in_one_line(folder, arguments, message):
    said = evermix("texts.jsonl", *arguments, *SHORT)
    assert said.exit_code == 1
    assert message in said.stderr and "Traceback" not in said.stderr
    assert not (folder / "texts.evermix").exists()


def test_names_of_priors_are_listed_for_who_misspells_them(folder):
    said = evermix("texts.jsonl", "--prior", "hmng")
    assert said.exit_code == 2 and "'hmngg'" in said.stderr


def test_one_time_is_not_enough(folder):
    with open("one.jsonl", "w") as file:
        file.writelines(json.dumps(r) + "\n" for r in records() if r["year"] == 2001)
    said = evermix("one.jsonl", "--time-field", "day", "--period", "year", *SHORT)
    assert said.exit_code == 1
    assert "same time, 2001" in said.stderr and "finer --period" in said.stderr


def test_dates_of_one_year_become_months(folder):
    """And further files go on with months, and predictions know them."""
    with open("one.jsonl", "w") as file:
        file.writelines(json.dumps(r) + "\n" for r in records() if r["year"] == 2001)
    with open("next.jsonl", "w") as file:
        file.writelines(json.dumps(r) + "\n" for r in records() if r["year"] == 2002)
    said = evermix("one.jsonl", "--time-field", "day", *SHORT)
    assert said.exit_code == 0 and "dates are turned into months (--period)" in said.stderr
    assert len(json.loads(said.stdout)["times"]) == 12
    said = evermix("next.jsonl", "--checkpoint", "one.evermix", "--resume")
    assert said.exit_code == 0, said.stderr
    assert json.loads(said.stdout)["times"][11:13] == ["2001-12", "2002-01"]


def test_pictures_without_matplotlib_are_refused_before_anything_is_learnt(folder, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    said = evermix("texts.jsonl", "--time-field", "year", "--figure", "x.png", *SHORT)
    assert said.exit_code == 1 and "pip install 'evermix[plot]'" in said.stderr
    assert not (folder / "texts.evermix").exists()


def test_fractions_are_no_counts(folder):
    with open("vectors.jsonl", "w") as file:
        for year in (1, 2):
            file.write(json.dumps({"vector": [1.0, 0.5], "year": year}) + "\n")
    said = evermix("vectors.jsonl", "--time-field", "year", *SHORT)
    assert said.exit_code == 1 and "whole numbers >= 0" in said.stderr


def test_files_that_are_there_are_not_written_over(folder):
    common = ["texts.jsonl", "--time-field", "year", *SHORT]
    assert evermix(*common, "--out", "topics.json").exit_code == 0
    said = evermix(*common, "--seed", "1", "--out", "other.json")
    assert said.exit_code == 1 and "exists already" in said.stderr
    said = evermix(*common, "--out", "topics.json", "--checkpoint", "b.evermix")
    assert said.exit_code == 1 and "topics.json exists already" in said.stderr
    (folder / "x.png").write_text("mine")
    said = evermix(*common, "--figure", "x.png", "--checkpoint", "b.evermix")
    assert said.exit_code == 1 and "x.png exists already" in said.stderr
    said = evermix("texts.jsonl", "--resume", "--out", "topics.json", "--figure", "x.png")
    assert said.exit_code == 1 and "x.png exists already" in said.stderr


def test_going_on_with_something_else_is_refused(folder):
    common = ["texts.jsonl", "--time-field", "year", *SHORT]
    assert evermix(*common).exit_code == 0
    said = evermix("texts.jsonl", "--resume", "--prior", "htngg")
    assert said.exit_code == 1 and "--prior cannot change on the way" in said.stderr
    lines = (folder / "texts.jsonl").read_text().splitlines(keepends=True)
    (folder / "texts.jsonl").write_text("".join(lines[1:]))
    said = evermix("texts.jsonl", "--resume", "--draws", 9)
    assert said.exit_code == 1 and "put the old rows back" in said.stderr
    fitted = CliRunner().invoke(app, ["stream", "texts.jsonl", "--checkpoint", "s.evermix"])
    assert fitted.exit_code == 0
    said = evermix("texts.jsonl", "--checkpoint", "s.evermix", "--resume", "--time-field", "year")
    assert said.exit_code == 1 and "holds a mixture, not a topic model" in said.stderr
    em.load("texts.evermix").save("bare.evermix")
    said = evermix("texts.jsonl", "--checkpoint", "bare.evermix", "--resume")
    assert said.exit_code == 1 and "bare.evermix was saved in Python" in said.stderr
