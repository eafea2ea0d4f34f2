"""Columns with gaps do not keep the other columns of a table from sharing a covariance."""

import numpy as np
import pytest
from numpy.typing import NDArray

import evermix as em
from evermix.estimators.data.table_family import automatic_table

ROWS = 900


def _table(gaps: dict[str, float]) -> tuple[dict[str, NDArray], NDArray]:
    """Two clusters of four columns that go together, two that do not, and a level; with gaps."""
    rng = np.random.default_rng(3)
    kind = rng.integers(2, size=ROWS)
    common = rng.normal(size=(ROWS, 1)) * np.array([4, 0, 4, 4, 0, 4])
    X = common + rng.normal(size=(ROWS, 6)) + 12.0 * kind[:, None] * np.array([1, 0, -1, 1, 0, -1])
    table = {f"x{j}": X[:, j].copy() for j in range(6)}
    for name, share in gaps.items():
        table[name][rng.random(ROWS) < share] = np.nan
    return table | {"level": np.where(kind ^ (rng.random(ROWS) < 0.2), "a", "b")}, kind


def _group(table: dict[str, NDArray]) -> tuple[str, ...]:
    family = automatic_table(table)
    assert family is not None
    return max((block.names for block in family.blocks), key=len)


@pytest.mark.parametrize(
    ("gaps", "group"),
    [
        ({}, ("x0", "x1", "x2", "x3", "x4", "x5")),
        ({"x1": 0.05}, ("x0", "x1", "x2", "x3", "x4", "x5")),
        ({"x1": 0.12, "x4": 0.09}, ("x0", "x2", "x3", "x4", "x5")),
        ({"x1": 0.5, "x4": 0.09, "x5": 0.12}, ("x0", "x2", "x3", "x4")),
    ],
)
def test_those_with_most_gaps_are_left_out(gaps: dict[str, float], group: tuple[str, ...]) -> None:
    assert _group(_table(gaps)[0]) == group


def test_there_is_no_group_if_all_columns_have_many_gaps() -> None:
    table, _ = _table({f"x{j}": 0.4 for j in range(6)})
    assert len(_group(table)) == 1


def test_two_columns_with_a_few_gaps_do_not_make_clusters_of_a_correlation() -> None:
    table, kind = _table({"x1": 0.08, "x4": 0.06})
    mix = em.Mixture(random_state=0).fit(table)
    assert mix.n_clusters_ == 2
    assert max(np.mean(mix.labels_ == kind), np.mean(mix.labels_ != kind)) > 0.97
