"""Dates of documents are turned into periods, as on the command line."""

import json
from datetime import timedelta

import numpy as np
import pandas as pd
import pytest

import evermix as em
from helpers.commands import evermix
from helpers.topic_cases import SHORT, X, documents

DAYS = pd.to_datetime([f"{2001 + d // 8}-0{1 + d % 8}-15" for d in range(24)])
YEARS = DAYS.strftime("%Y").tolist()
LATER = ["2004-02-01", "2004-11-30T12:00:00+01:00", "2003-07-09"]
MORE = documents(3, seed=1)[0]

WRITTEN = {
    "datetime64": DAYS.to_numpy(),
    "pandas": pd.Series(DAYS),
    "with zones": pd.Series(DAYS.tz_localize("Asia/Tokyo")),
    "date": [day.date() for day in DAYS],
    "ISO": DAYS.strftime("%Y-%m-%d").tolist(),
    "with hours": np.array(DAYS.strftime("%Y-%m-%dT%H:%M").tolist()),
    "with dots": DAYS.strftime("%d.%m.%Y").tolist(),
    "months": DAYS.strftime("%B %Y").tolist(),
}


def model(**settings):
    return em.TopicModel(em.HMNGG(), **SHORT, **settings)


@pytest.fixture(scope="module")
def labelled():
    return model().fit(X, times=YEARS).set_params(draws=8).resume(X, YEARS)


@pytest.mark.parametrize("written", WRITTEN)
def test_dates_are_periods_however_they_are_written(written, labelled):
    times = WRITTEN[written]
    with pytest.warns(UserWarning, match=r"24 different ones: .* into years, .* 3 times"):
        topics = model().fit(X, times=times)
    assert topics.times_.tolist() == ["2001", "2002", "2003"]
    topics.set_params(draws=8).resume(X, times)
    np.testing.assert_array_equal(topics.components_, labelled.components_)
    np.testing.assert_array_equal(topics.transform(X, times), labelled.transform(X, YEARS))
    topics.partial_fit(MORE, times=LATER)
    assert topics.times_.tolist() == ["2001", "2002", "2003", "2004"]


def test_a_file_goes_on_in_its_periods(labelled, tmp_path):
    labelled.save(tmp_path / "topics.evermix")
    topics = em.load(tmp_path / "topics.evermix")
    given = pd.to_datetime(["2004-02-01", "2004-11-30", "2003-07-09"])
    topics.partial_fit(MORE, times=given)
    again = em.load(tmp_path / "topics.evermix").partial_fit(MORE, times=["2004", "2004", "2003"])
    np.testing.assert_array_equal(topics.components_, again.components_)


def test_a_period_can_be_chosen():
    months = [f"{day:%Y-%m}" for day in DAYS]
    rounded = DAYS.to_numpy().astype("datetime64[M]")
    for times, period in [(months, None), (rounded, None), (months, "month"), (DAYS, "month")]:
        topics = model(period=period).fit(X, times=times)
        assert topics.times_.tolist() == months
    with pytest.raises(ValueError, match="period='month'.*period='year'"):
        topics.set_params(period="year").partial_fit(MORE, times=LATER)


@pytest.mark.parametrize(
    ("times", "period"),
    [(YEARS, "day"), (np.arange(24), "day"), (pd.Categorical(WRITTEN["ISO"]), "year")],
)
def test_what_is_no_date_stays_and_has_no_period(times, period):
    with pytest.raises(ValueError, match=f"period='{period}' turns dates into times, but these"):
        model(period=period).fit(X, times=times)
    with pytest.raises(ValueError, match="must be 'year', 'month', 'day' or None, got 'week'"):
        model(period="week").fit(X, times=times)


@pytest.mark.parametrize("step", [1, 40])
def test_the_command_line_finds_the_same_times(step, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    words, first = ["sand sea", "bread oven"], DAYS[0]
    dates = [f"{first + timedelta(days=step * (d // 2)):%Y-%m-%d}" for d in range(60)]
    lines = [{"text": words[d % 2], "day": day} for d, day in enumerate(dates)]
    (tmp_path / "t.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    arguments = ["t.jsonl", "--time-field", "day", "--burn-in", 2, "--draws", 2]
    evermix("topics", *arguments, "--checkpoint", "t.evermix")
    counts = np.array([[1, 1, 0, 0], [0, 0, 1, 1]])[np.arange(60) % 2]
    with pytest.warns(UserWarning, match="turned into"):
        topics = model().fit(counts, times=dates)
    assert topics.times_.tolist() == em.load(tmp_path / "t.evermix").times_.tolist()
