r"""The objective of a search for clusters, and laps that raise it.

The objective is the lower bound on the evidence of a sample, plus the log hyperprior of what is
learnt. A lap computes responsibilities and statistics in turn, and sometimes the hyperparameters
that are best for them.
"""

from dataclasses import dataclass, replace

import numpy as np
from numpy.random import Generator

from evermix._xp import Floats, Ints
from evermix.engines.bound import lower_bound
from evermix.engines.seeding import Sample
from evermix.families.base import Family
from evermix.families.values import finite
from evermix.kernels.engines.local import add_entropy, add_rows, softmax_rows
from evermix.model import Model
from evermix.priors import PitmanYor
from evermix.priors.base import HasSticks

TOL = 0.01  # nats per lap, below which laps end
LEARN_EVERY = 3  # laps between two steps of learning
EMPTY = 1e-3  # mass below which a cluster is gone
MOSTLY_ZERO = 0.1  # share of responsibilities below which only those above zero are summed


@dataclass
class Clusters:
    """Clusters of a sample, the largest first.

    Attributes
    ----------
    model : Model
        With the hyperparameters as learnt so far.
    r : array (N, K)
        Responsibilities.
    mass, stats, entropy : arrays (K,), (K, S), (K,)
        Sums over the rows.
    tried : array (K,)
        Mass of each cluster when a split of it last failed; 0 if it was not tried.
    """

    model: Model
    r: Floats
    mass: Floats
    stats: Floats
    entropy: Floats
    tried: Floats

    @property
    def K(self) -> int:
        """Number of clusters."""
        return len(self.mass)


class Problem:
    """A sample whose clusters are wanted.

    Parameters
    ----------
    sample : Sample
    model : Model
        Its family is the one that the hyperprior is about, its prior has sticks; ``learns`` says
        what may be learnt.
    rng : Generator
    """

    def __init__(self, sample: Sample, model: Model, rng: Generator) -> None:
        self.sample, self.model, self.rng = sample, model, rng
        learns, frame = model.family.learns, model.family.frame
        self.names = [name for name in learns if name in model.learns and name not in frame]
        self.cap = len(sample) if model.max_clusters is None else model.max_clusters
        self.base = float(sample.weights @ model.family.log_base(sample.X))

    # ---- starts ----------------------------------------------------------------------------

    def start(self, nearest: Ints) -> Clusters:
        """Return clusters that own the rows with these numbers (N,), from 0."""
        r = np.zeros((len(nearest), int(nearest.max()) + 1))
        r[np.arange(len(nearest)), nearest] = 1.0
        return self.summed(self.model, r)

    def from_sums(self, mass: Floats, stats: Floats) -> Clusters:
        """Return the clusters of the sample nearest to some with masses (K,) and statistics."""
        order = np.argsort(-mass, kind="stable")
        nothing, none = np.zeros(len(order)), np.empty((0, len(order)))
        return self.lap(Clusters(self.model, none, mass[order], stats[order], nothing, nothing))

    def summed(self, model: Model, r: Floats, tried: Floats | None = None) -> Clusters:
        """Return the clusters of responsibilities (N, K); empty ones are left out."""
        tried = np.zeros(r.shape[1]) if tried is None else tried
        entropy = np.zeros(r.shape[1])
        add_entropy(r, self.sample.weights, entropy)
        return self._gathered(model, r, self.sample.weights @ r, entropy, tried)

    def _gathered(
        self, model: Model, r: Floats, mass: Floats, entropy: Floats, tried: Floats
    ) -> Clusters:
        """Return clusters with these sums, the largest first; empty ones are left out."""
        order = np.argsort(-mass, kind="stable")
        order = order[mass[order] > EMPTY * min(mass.sum(), 1.0)]
        if len(order) < r.shape[1]:
            r = np.take(r, order, axis=1)
            r /= np.maximum(r.sum(axis=1, keepdims=True), 1e-300)
            return self.summed(model, r, tried[order])
        if np.any(np.diff(order) != 1):
            r, mass = np.take(r, order, axis=1), mass[order]
            entropy, tried = entropy[order], tried[order]
        weighted = self.sample.weights[:, None] * r
        stats = model.family.from_features(feature_sums(self.sample, weighted))
        return Clusters(model, r, mass, stats, entropy, tried)

    # ---- the objective ---------------------------------------------------------------------

    def objective(self, clusters: Clusters) -> float:
        """Return the lower bound on the log evidence, plus the log hyperprior."""
        model, mass, stats = clusters.model, clusters.mass, clusters.stats
        value = lower_bound(model, mass, stats, clusters.entropy, self.base)
        value += model.family.log_hyperprior(self.model.family)
        if "prior" in model.learns:
            assert isinstance(model.prior, PitmanYor)
            value += model.prior.log_hyperprior()
        return value

    def learnt(self, clusters: Clusters) -> Clusters:
        """Raise the objective over the hyperparameters that are open."""
        model = self.learnt_model(clusters.model, clusters.mass, clusters.stats)
        return replace(clusters, model=model)

    def learnt_model(self, model: Model, mass: Floats, stats: Floats) -> Model:
        """Return a model with hyperparameters that are better for masses (K,) and statistics.

        Clusters of less than one row say nothing.
        """
        family, prior, real = model.family, model.prior, mass >= 1.0
        if not real.any():
            return model
        mass, stats = mass[real], stats[real]
        if self.names:
            family = family.learnt(self.model.family, self.names, stats, mass)
        if "prior" in model.learns:
            assert isinstance(prior, PitmanYor)
            prior = prior.learnt(mass)
        return replace(model, family=family, prior=prior)

    # ---- laps ------------------------------------------------------------------------------

    def laps(self, clusters: Clusters, most: int) -> Clusters:
        """Make laps until the objective settles."""
        value = self.objective(clusters)
        for lap in range(most):
            clusters = self.lap(clusters)
            if lap % LEARN_EVERY == LEARN_EVERY - 1:
                clusters = self.learnt(clusters)
            before, value = value, self.objective(clusters)
            if value - before < TOL:
                break
        return self.learnt(clusters)

    def lap(self, clusters: Clusters) -> Clusters:
        """Compute responsibilities and sums once."""
        r, (N, K) = np.ascontiguousarray(self.scores(clusters)), (len(self.sample), clusters.K)
        mass, entropy = np.zeros(K), np.zeros(K)
        softmax_rows(
            r, self.sample.weights, mass, entropy, np.empty(N, np.int64), np.empty(N), np.empty(N)
        )
        return self._gathered(clusters.model, r, mass, entropy, clusters.tried)

    def may_merge(self, clusters: Clusters, pairs: Ints) -> Ints:
        """Return those of the pairs (P, 2) of clusters that may be merged: all."""
        del clusters
        return pairs

    def scores(self, clusters: Clusters) -> Floats:
        """Return the expected log joint density (N, K) of rows and clusters."""
        model, mass = clusters.model, clusters.mass
        slopes, intercepts = lines(model.family, mass, clusters.stats)
        assert isinstance(model.prior, HasSticks)
        weights = model.prior.expected_log_weights(mass)
        return np.asarray(self.sample.scores(slopes, intercepts + weights))


def lines(family: Family, mass: Floats, stats: Floats) -> tuple[Floats, Floats]:
    """Slopes (K, F) and intercepts (K,) of the expected log likelihood in the features."""
    params = finite(family.mean_params(family.posterior(stats, mass)))
    return family.slopes(params), np.sum(params[:, family.n_stats :], axis=1)


def feature_sums(sample: Sample, weighted: Floats) -> Floats:
    """Sums (K, F) of the features with weights (N, K)."""
    features = sample.features
    if sample.family.sparse:
        return np.asarray((features.T @ weighted).T)
    if np.count_nonzero(weighted) > MOSTLY_ZERO * weighted.size:
        return np.asarray(weighted.T @ features)
    sums = np.zeros((weighted.shape[1], features.shape[1]))
    add_rows(weighted, np.ones(len(weighted)), np.ascontiguousarray(features), sums)
    return sums


def xlogx(r: Floats) -> Floats:
    """Return r log r, elementwise, and 0 at 0."""
    return r * np.log(np.maximum(r, 1e-300))


def disjoint(pairs: Ints, gains: Floats) -> Ints:
    """Positions of pairs that gain and share no cluster, the best first."""
    taken: set[int] = set()
    chosen = []
    for p in np.argsort(-gains, kind="stable"):
        pair = {int(k) for k in pairs[p]}
        if gains[p] > 0 and taken.isdisjoint(pair):
            taken |= pair
            chosen.append(int(p))
    return np.array(chosen, dtype=np.int64)
