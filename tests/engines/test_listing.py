"""The published listing, written out plainly, and with each misprint put back.

The oracle follows Algorithm 1 of Tank, Foti and Fox (2015) row by row, keeps every responsibility,
and takes the new cluster's weight from a brute-force integral. With the misprints mended it is the
engine; with any of them put back it is not.
"""

import numpy as np
import pytest
from scipy import sparse
from scipy.optimize import brentq
from scipy.special import gammaln, logsumexp

from evermix import ADF, NGGP
from evermix.engines.batch import Batch
from helpers.engine_cases import documents, text_model
from helpers.oracles import LogU, nggp_omega

A, SIGMA, TAU, ALPHA, BIRTH = 2.0, 0.5, 1.0, 0.3, 0.05
X = documents(40, V=8, words=6, groups=3).toarray()
WEIGHTS = np.resize([1.0, 0.3, 2.5, 1.0, 0.0], 40)


def averaged_conditional(n, K):
    """The new cluster's odds if the conditional given U_n were averaged (Eq. 5)."""
    law = LogU(n, n - SIGMA * K, A, SIGMA, TAU)
    new = law.mean(lambda u: A * (u + TAU) ** SIGMA / (n - SIGMA * K + A * (u + TAU) ** SIGMA))
    return (n - SIGMA * K) * new / (1 - new)


def from_density(power, decay):
    """The new cluster's weight if U had the density that is printed, with these exponents."""

    def omega(n, K):
        law = LogU(power(n), decay(n, K), A, SIGMA, TAU)
        ratio = law.mean(lambda u: TAU / (u + TAU)) / law.mean(lambda u: u / (u + TAU))
        return SIGMA * K + n * ratio

    return omega


def mode(n, K):
    """The plug-in of the mode of log U, which the published rule is run with."""

    def slope(v):
        return np.log(A) + SIGMA * np.logaddexp(v, 0) + v - np.log(n + SIGMA * K * np.exp(v))

    return A * (np.exp(brentq(slope, -50, 50, xtol=1e-13)) + TAU) ** SIGMA


def log_likelihood(x, counts):
    """Dirichlet-multinomial predictive with its coefficient."""
    eta = counts + ALPHA
    coefficient = gammaln(x.sum() + 1) - gammaln(x + 1).sum()
    rising = (gammaln(eta + x) - gammaln(eta)).sum()
    return coefficient + rising - gammaln(eta.sum() + x.sum()) + gammaln(eta.sum())


def occupancy(mass, rows):
    """Probability that each cluster holds a row, from all responsibilities: no running sums."""
    empty = np.ones(len(mass))
    for w, q in rows:
        empty[: len(q)] *= (1 - q) ** w
    return np.minimum(mass, 1 - empty)


def listing(omega=None, paper=False, lost_else=False, twice=False, late=False, weights=WEIGHTS):
    """Run the listing; return the masses (K,) and the log predictives (N,)."""
    omega = omega or (lambda n, K: nggp_omega(n, K, A, SIGMA, TAU))
    mass, counts, rows, evidence = np.empty(0), np.empty((0, X.shape[1])), [], []
    loop = [0, *range(len(X))] if twice else range(len(X))
    for i in loop:
        x, w, K = X[i], weights[i], len(mass)
        p = occupancy(mass, rows)
        n = mass.sum()
        old = np.maximum(mass - SIGMA, 0) if paper else mass - SIGMA * p
        # The index of U: it belongs to the rows before this one, not to this one as well.
        new = omega(n + late, p.sum()) if K else 1.0
        prior = np.append(old, new)
        with np.errstate(divide="ignore"):
            rho = np.log(prior / prior.sum())
        rho += [log_likelihood(x, c) for c in [*counts, np.zeros(len(x))]]
        evidence.append(logsumexp(rho))
        q = np.exp(rho - evidence[-1])
        if w > 0 and (born := q[-1] > BIRTH if not paper else q[-1] > SIGMA):
            mass, counts = np.append(mass, 0.0), np.vstack([counts, np.zeros(len(x))])
        if w == 0:
            continue
        if not born or lost_else:
            q[:-1] /= q[:-1].sum() if K else 1.0
            q = q if born else q[:-1]
        mass, counts = mass + w * q, counts + w * q[:, None] * x
        rows.append((w, np.minimum(q, 1.0)))
    return mass, np.array(evidence)


def engine(rule="expected", birth=BIRTH, weights=WEIGHTS):
    adf, model = ADF(birth=birth, rule=rule), text_model(NGGP(A, SIGMA, TAU), ALPHA, V=8)
    batch = Batch(sparse.csr_matrix(X), weights)
    state, info = adf.step(model, adf.initial(model, None), batch, None)
    return state.tally.mass, info.results.log_predictive


def assert_same(ours, theirs, tolerance=1e-9):
    assert len(ours[0]) == len(theirs[0])
    np.testing.assert_allclose(ours[0], theirs[0], rtol=tolerance)
    np.testing.assert_allclose(ours[1], theirs[1], rtol=tolerance)


def test_the_engine_is_the_mended_listing():
    assert_same(engine(), listing())


def test_the_published_rule_is_the_published_listing():
    """max(S - sigma, 0) with the mode of log U; whole weights, for a mass below sigma is dead."""
    whole = np.ceil(WEIGHTS)
    got, want = engine("paper", SIGMA, whole), listing(mode, paper=True, weights=whole)
    assert_same(got, want)


@pytest.mark.parametrize(
    "misprint",
    [
        pytest.param({"omega": from_density(lambda n: n, lambda n, K: n - A * K)}, id="n - a K"),
        pytest.param(
            {"omega": from_density(lambda n: n + 1, lambda n, K: n - SIGMA * K)}, id="U^n for U"
        ),
        pytest.param({"omega": averaged_conditional}, id="conditional on U_n averaged"),
        pytest.param({"omega": mode}, id="mode in place of the integral"),
        pytest.param({"late": True}, id="U of n in place of n - 1"),
        pytest.param({"lost_else": True}, id="renormalised after a birth"),
        pytest.param({"twice": True}, id="first row learnt twice"),
    ],
)
def test_a_misprint_put_back_gives_another_answer(misprint):
    with pytest.raises(AssertionError):
        assert_same(engine(), listing(**misprint), tolerance=1e-4)


def test_dead_clusters_are_the_published_rule_and_not_ours():
    """A cluster of mass below sigma has weight 0 under max(S - sigma, 0), and grows under ours."""
    mass, occupied = np.array([4.0, 0.3]), np.array([1.0, 0.3])
    weights = np.exp(NGGP(A, SIGMA, TAU).log_weights(mass, occupied))
    assert weights[1] / weights[0] == pytest.approx(0.15 / 3.5)
    assert max(mass[1] - SIGMA, 0.0) == 0.0
    assert engine(weights=np.full(40, 0.3))[0].sum() == pytest.approx(12.0)


def test_the_published_rule_refuses_weights_that_open_dead_clusters():
    with pytest.raises(ValueError, match="0 or at least sigma / birth = 1, got 0.3"):
        engine("paper", SIGMA)
