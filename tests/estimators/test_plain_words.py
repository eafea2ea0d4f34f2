"""What a model is, in words that need no knowledge of its parts."""

from datetime import timedelta

import numpy as np
import pytest

import evermix as em
from evermix.estimators.plain_words import forgetting_in_words, rows_in_words

TABLE = em.Mixed(
    {
        "town": em.Categorical(),
        ("height", "weight"): em.Gaussian(),
        "age": em.DiagonalGaussian(),
    }
)


@pytest.mark.parametrize(
    ("family", "n", "words"),
    [
        (TABLE, 4, "a table with 4 columns: 3 of numbers, 1 of categories"),
        (em.Mixed({"a": em.Gaussian()}), 1, "a table with 1 column of numbers"),
        (
            em.Mixed({"a": em.Gaussian(), "b": em.Gaussian()}, ignored=("id",)),
            2,
            "a table with 2 columns of numbers (1 other ignored)",
        ),
        (em.Gaussian(), 1200, "1,200 columns of numbers"),
        (em.Bernoulli(), 9, "9 columns of yes or no"),
        (em.Multinomial(), 1, "1 column of counts"),
        (em.Multinomial(growing=True), 64, "texts, as counts of their words"),
    ],
)
def test_rows(family, n, words):
    assert rows_in_words(family, n) == words


@pytest.mark.parametrize(
    ("half_life", "timed", "span"),
    [
        (timedelta(days=30), True, "30 days"),
        (timedelta(hours=1), True, "1 hour"),
        (timedelta(seconds=90), True, "1.5 minutes"),
        (timedelta(milliseconds=500), True, "0.5 seconds"),
        (2000.0, False, "2,000 rows"),
        (2.5, True, "2.5 of time"),
    ],
)
def test_forgetting(half_life, timed, span):
    plan = em.Exponential(half_life)
    assert forgetting_in_words(plan, timed) == f"a row counts half as much after {span}"


def test_pages_have_plain_facts_first_and_parts_apart(tmp_path):
    from evermix.estimators.mixture.report import mixture_report

    X = np.random.default_rng(0).normal(size=(200, 2))
    mix = em.Mixture(forgetting=em.Exponential(5000.0)).partial_fit(X)
    report = mixture_report(mix)
    assert report.facts["data"] == "2 columns of numbers"
    assert report.facts["forgets"] == "a row counts half as much after 5,000 rows"
    assert set(report.details) == {"columns", "family", "prior", "engine"}
    assert not report.facts.keys() & report.details.keys()
    assert "engine: ADF" in mix._repr_html_()
