"""The course of a stream: bounded, the same however rows are cut, and saved."""

import numpy as np
import pytest

import evermix as em
from evermix.engines.batch import RowResults
from evermix.estimators.mixture.course import BINS, FINEST, Course
from evermix.estimators.mixture.report import mixture_report
from helpers.mixture_cases import blobs


def results(n, seed=0):
    rng = np.random.default_rng(seed)
    found = RowResults.empty(n)
    found.labels[:] = rng.integers(-1, 4, n)
    found.log_predictive[:] = rng.normal(size=n)
    return found, rng.integers(0, 3, n).astype(float)


def part(found, weights, some):
    return RowResults(*(values[some] for values in found)), weights[some]


@pytest.mark.parametrize("n", [1, FINEST, 1000, 3 * BINS * FINEST])
def test_a_course_is_bounded_and_does_not_depend_on_batches(n):
    found, weights = results(n)
    clocks = np.cumsum(weights > 0)
    whole = Course()
    whole.add(found, weights, int(clocks[-1]))
    for size in (1, 7, 400):
        course = Course()
        for start in range(0, n, size):
            some = slice(start, start + size)
            course.add(*part(found, weights, some), int(clocks[some][-1]))
        assert course == whole
    assert len(whole) <= BINS
    assert whole.edges[-1] == clocks[-1] and whole.edges[0] == 0
    bins, ids, mass = whole.entries(lambda ids: ids)
    for id in range(-1, 4):
        assert mass[ids == id].sum() == weights[found.labels == id].sum()
    total = found.log_predictive[weights > 0].sum()
    assert sum(bin.log_predictive for bin in whole.bins) == pytest.approx(total, rel=1e-9)
    assert Course.from_arrays(whole.to_arrays(), 4, n) == whole


def test_a_course_that_cannot_be_is_refused():
    found, weights = results(500)
    course = Course()
    course.add(found, weights, 500)
    arrays = course.to_arrays()
    assert Course.from_arrays({}, 4, 500) == Course()
    for name, value in (
        ("rows", 3),
        ("ids", 4),
        ("bin", len(course)),
        ("mass", -1.0),
        ("span", -1),
    ):
        wrong = {**arrays, name: np.full_like(arrays[name], value)}
        with pytest.raises(ValueError, match="course"):
            Course.from_arrays(wrong, 4, 500)
    with pytest.raises(ValueError, match="rows that were learnt"):
        Course.from_arrays(arrays, 4, 10)


def test_a_stream_that_keeps_no_rows_has_shares_and_likelihood_in_its_report(tmp_path):
    X, _ = blobs(600)
    mix = em.Mixture(engine=em.ADF(lookback=0))
    for batch in np.array_split(X, 10):
        mix.partial_fit(batch)
    mix.save(tmp_path / "mix.evermix")
    loaded = em.load(tmp_path / "mix.evermix")
    assert loaded.learner_.course == mix.learner_.course
    report = mixture_report(loaded)
    assert report.flow is not None
    np.testing.assert_allclose(np.nansum(report.flow.shares, axis=1), 1.0)
    assert any("likelihood" in chart["note"] for chart in report.charts)
    assert all(card.recent_share is not None for card in loaded.cards())
