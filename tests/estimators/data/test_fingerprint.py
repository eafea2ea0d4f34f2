"""Digests of rows: the same however rows are cut, and others for all other rows."""

import numpy as np
import pytest
from scipy import sparse

from evermix.estimators.data.fingerprint import RowHash

RNG = np.random.default_rng(0)
DENSE = RNG.normal(size=(50, 4))
ROWS = {"dense": DENSE, "sparse": sparse.random(50, 9, 0.3, format="csr", rng=RNG)}
WEIGHTS = np.ones(50)
every_kind = pytest.mark.parametrize("kind", ROWS)


def digest(*parts, weights=WEIGHTS):
    hashed = RowHash()
    for part in parts:
        hashed.update(part)
    return hashed.result(weights)


@every_kind
def test_cuts_and_places_do_not_matter(kind):
    X = ROWS[kind]
    first, second = RowHash(), RowHash(20)
    second.update(X[20:])
    first.update(X[:20])
    second.add(first)
    assert digest(X) == digest(X[:7], X[7:8], X[8:]) == second.result(WEIGHTS)


@every_kind
def test_everything_else_matters(kind):
    X = ROWS[kind]
    swapped = X[np.r_[1, 0, 2:50]]
    weights = WEIGHTS.copy()
    weights[3] = 2.0
    others = [digest(swapped), digest(X[:49], weights=WEIGHTS[:49]), digest(X, weights=weights)]
    columns = X[:, ::-1] if kind == "dense" else sparse.csr_matrix(X.toarray()[:, ::-1])
    others.append(digest(columns))
    assert len({digest(X), *others}) == 5


def test_the_last_bit_and_the_smallest_counts_matter():
    near = DENSE.copy()
    near[30, 2] = np.nextafter(near[30, 2], 9.0)
    assert digest(near) != digest(DENSE)
    ones = np.zeros((3, 50, 4))
    ones[1, 7, 1], ones[2, 7, 2] = 1.0, 1.0
    assert len({digest(X) for X in ones}) == 3
    assert len({digest(np.full((50, 4), float(n))) for n in range(64)}) == 64
