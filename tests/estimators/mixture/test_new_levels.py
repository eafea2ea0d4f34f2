"""A level that was never met is one more level of its column, and changes no other answer."""

import array_api_strict as strict
import numpy as np
import pytest

import evermix as em

ANSWERS = "score_samples", "novelty", "predict_proba", "predict"
N = 120
RNG = np.random.default_rng(0)
Z = np.arange(N) % 3
CODES = np.column_stack([Z, (Z + (RNG.random(N) < 0.2)) % 3, RNG.integers(5, size=N)])
X = np.column_stack([RNG.normal(9.0 * Z, 1.0), CODES])
X[::11, 0] = X[::13, 2] = np.nan
FAMILIES = {
    "blocks": em.Mixed({0: em.Gaussian(), **{d: em.Categorical() for d in (1, 2, 3)}}),
    "weights": em.Mixed({0: em.Gaussian(), 1: (em.Categorical(), 0.5), (2,): em.Categorical()}),
    "levels alone": em.Categorical(),
}


def fitted(name):
    family = FAMILIES[name]
    columns = [1] if name == "levels alone" else range(4 if name == "blocks" else 3)
    rows, new = X[:, columns], X[:30, columns].copy()
    at = np.flatnonzero([d > 0 for d in columns])
    codes = RNG.integers(5, 9, size=(len(new), len(at)))  # several new levels in each column
    new[:, at] = np.where(RNG.random(codes.shape) < 0.3, codes, new[:, at])
    return em.Mixture(family, random_state=0).fit(rows), rows, new


@pytest.mark.parametrize("name", FAMILIES)
@pytest.mark.parametrize("library", [np.asarray, strict.asarray])
def test_answers_of_a_row_do_not_depend_on_other_rows(name, library):
    mix, _, new = fitted(name)
    for answer in (getattr(mix, each) for each in ANSWERS):
        each = np.concatenate([np.asarray(answer(library(new[i : i + 1]))) for i in range(30)])
        np.testing.assert_allclose(np.asarray(answer(library(new))), each, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("name", ["blocks", "levels alone"])
def test_single_rows_of_a_stream_may_have_new_levels(name):
    family, (_, rows, _) = FAMILIES[name], fitted(name)
    rows = np.nan_to_num(rows)
    mix = em.Mixture(family, engine=em.ADF(), random_state=0).partial_fit(rows)
    mix.partial_fit(rows[:1])  # from now on there are caches for single rows
    for code in (2.0, 3.0, 50.0, 9000.0):
        row = rows[:1].copy()
        row[0, -1] = code
        assert mix.predict(row) == mix.predict(np.vstack([row, row]))[0]


def test_a_new_level_is_one_more_level_of_its_column():
    mix, _, new = fitted("blocks")
    fitted_now = mix.learner_.shown.fitted
    family, tally = mix.model_.family, fitted_now.engine.believed(fitted_now.point.state)
    expected = fitted_now.log_joint(np.where(np.arange(4) == 0, new, np.nan))
    for d in (1, 2, 3):
        block, span = family.blocks[d].family, family.spans[d]
        counts = np.vstack([tally.stats[:, span.start : span.end], np.zeros(block.n_levels)])
        weights = counts + block.alpha
        for row, code in zip(expected, new[:, d], strict=True):
            if code >= block.n_levels:
                row += np.log(block.alpha / (weights.sum(axis=1) + block.alpha))
            elif code == code:
                row += np.log(weights[:, int(code)] / weights.sum(axis=1))
    np.testing.assert_allclose(fitted_now.log_joint(new), expected, rtol=1e-10)


@pytest.mark.parametrize("name", ["blocks", "levels alone"])
def test_contributions_of_new_levels_add_up(name):
    mix, _, new = fitted(name)
    for row in new:
        why = mix.explain(row)
        assert abs(sum(each.log_odds for each in why.contributions) - why.log_odds) < 1e-9
        np.testing.assert_allclose(why.novelty, mix.novelty(row[None]), rtol=1e-9)
