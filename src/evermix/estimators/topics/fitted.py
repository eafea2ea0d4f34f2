"""What a fit of a topic model has drawn, and what follows from the draws."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from evermix._random import restore
from evermix._xp import Array, Floats
from evermix.estimators.data.rows import check_csr
from evermix.estimators.data.times import Times
from evermix.estimators.packing import Registry, assign, built, group, named, plain_json
from evermix.kernels.topics.evaluation import FrozenTopics
from evermix.topics.hierarchies import TOPIC_PRIORS, Flat, Hierarchy
from evermix.topics.measures import Measure
from evermix.topics.words.corpus import Corpus
from evermix.topics.words.evaluation import fold_flat, fold_in, frozen
from evermix.topics.words.franchise import Franchise
from evermix.topics.words.samplers import WORD_SAMPLERS
from evermix.topics.words.snapshots import Snapshot, WordRun

SWEEPS, SKIP = 20, 20  # over new documents: those that are averaged, and those before them
_WORDS = ("dish", "opens", "table", "region", "on")


@dataclass
class FittedTopics:
    """Chains of a topic model, and answers from their draws."""

    prior: Hierarchy
    beta: float  # of the symmetric Dirichlet law of topics
    times: Times
    run: WordRun
    digest: str  # of the documents and times of the fit
    size: int  # number V of words in the vocabulary

    def point(self) -> Snapshot:
        """Return the kept draw of the largest joint density."""
        return max(self.run.all_snapshots(), key=lambda snapshot: snapshot.log_joint)

    def shares(self, snapshot: Snapshot, corpus: Corpus, seed: int) -> tuple[FrozenTopics, Floats]:
        """Return the topics of a draw, and their shares and that of a new one, (D, K + 1)."""
        if isinstance(self.prior, Flat):
            law = self.prior.prior
            return fold_flat(snapshot, law, corpus, self.beta, SWEEPS, SKIP, seed)
        model = frozen(snapshot, self.measure(), self.beta)
        return model, fold_in(model, corpus, self.beta, SWEEPS, SKIP, seed)

    def measure(self) -> Measure:
        """Return a measure of the times to start from."""
        return self.prior.measure(np.ones(max(len(self.times), 1)))

    # ---- files -----------------------------------------------------------------------------

    def to_file(self) -> tuple[dict[str, Array], dict[str, Any]]:
        """Return everything as named arrays and a JSON-ready header."""
        run, prior = self.run, self.prior
        header = {
            "prior": named(prior.prior if isinstance(prior, Flat) else prior),  # type: ignore[arg-type]
            "sampler": named(run.sampler),
            "beta": self.beta,
            "times": self.times.to_spec(),
            "seen": self.digest,
            "n_documents": len(run.chains[0].seating.u),
            "n_times": run.chains[0].measure.n_times,
            "rngs": [plain_json(rng.bit_generator.state) for rng in run.rngs],
            "run": {"sweeps": run.sweeps, "names": run.names, "spacing": run.spacing},
        }
        arrays: dict[str, Array] = {}
        for i, chain in enumerate(run.chains):
            parts: dict[str, Array] = {name: getattr(chain, name) for name in _WORDS}
            parts |= {f"measure.{name}": x for name, x in chain.measure.arrays().items()}
            parts |= {f"seating.{name}": x for name, x in chain.seating.arrays().items()}
            arrays |= {f"chain.{i}.{name}": x for name, x in parts.items()}
        if run.rows:
            arrays["traces"] = np.array(run.rows)
        # Before the first draw, where a chain stands is saved in the place of draws.
        for i, snapshots in enumerate(run.snapshots or [run.all_snapshots()]):
            for j, snapshot in enumerate(snapshots):
                parts = snapshot.arrays()
                arrays |= {f"draws.{i}.{j}.{name}": x for name, x in parts.items()}
        return arrays, header

    @classmethod
    def from_file(
        cls, arrays: Mapping[str, Array], header: Mapping[str, Any], known: Registry
    ) -> "FittedTopics":
        """Return what :meth:`to_file` described, or raise ValueError if it is inconsistent."""
        del known
        named_prior, beta, size = header["prior"], header["beta"], header["n_features_in"]
        public = built(named_prior, TOPIC_PRIORS)
        prior = public if isinstance(public, Hierarchy) else Flat(public)
        rngs = [restore(state) for state in header["rngs"]]
        n, T = np.ones(header["n_documents"], dtype=np.int64), np.ones(header["n_times"])
        chains = []
        for i in range(len(rngs)):
            parts = group(arrays, f"chain.{i}.")
            measure, seating = prior.measure(T), prior.seating(n)
            assign(measure, group(parts, "measure."))
            assign(seating, group(parts, "seating."))
            chains.append(Franchise(measure, seating, beta, *(parts[name] for name in _WORDS)))
        sampler = built(header["sampler"], WORD_SAMPLERS)
        run = WordRun(None, sampler, chains, rngs, **header["run"])
        kept = [_snapshots(group(arrays, f"draws.{i}."), size) for i in range(len(rngs))]
        if "traces" in arrays:
            run.rows, run.snapshots = [list(rows) for rows in arrays["traces"]], kept
        else:
            (run.answers["now"],) = kept[0]
        fitted = cls(prior, beta, Times.from_spec(header["times"]), run, header["seen"], size)
        _check_run(run)
        for snapshot in run.all_snapshots():
            _check_snapshot(fitted, snapshot)
        return fitted


def _snapshots(arrays: Mapping[str, Array], size: int) -> list[Snapshot]:
    numbers = {int(name.split(".")[0]) for name in arrays}
    return [Snapshot.from_arrays(group(arrays, f"{j}."), size) for j in sorted(numbers)]


def _check_run(run: WordRun) -> None:
    """Raise ValueError unless chains and traces are consistent."""
    if len({len(rows) for rows in run.rows}) > 1 or run.rows and len(run.rows) != len(run.chains):
        raise ValueError("all chains must have the same number of draws.")
    if run.rows and any(row.shape != (len(run.names),) for rows in run.rows for row in rows):
        raise ValueError(f"draws must have {len(run.names)} numbers, one for each name.")
    for chain in run.chains:
        R, T, N, K = chain.measure.n_regions, chain.measure.n_times, len(chain.dish), chain.K
        types = [part.dtype for part in (chain.dish, chain.opens, chain.table, chain.region)]
        if types != [np.int32, bool, np.int32, np.int64] or chain.on.dtype != bool:
            raise ValueError("topics and tables of words must be whole numbers.")
        if not chain.opens.shape == chain.table.shape == (N,) or chain.on.shape != (T, K):
            raise ValueError(f"a chain must have arrays of {N} words, {K} topics and {T} times.")
        if not np.array_equal(np.unique(chain.dish), np.arange(K)):
            raise ValueError(f"topics of words must be the numbers 0 to {K - 1}, all in use.")
        if np.any((chain.region < 0) | (chain.region >= R)):
            raise ValueError(f"regions of topics must be whole numbers from 0 to {R - 1}.")


def _check_snapshot(fitted: FittedTopics, snapshot: Snapshot) -> None:
    """Raise ValueError unless a draw is one of this model."""
    counts, K, T = snapshot.counts, snapshot.K, max(len(fitted.times), 1)
    check_csr(counts.data, counts.indices, counts.indptr, counts.shape)
    if snapshot.words.shape != (T, K) or np.any(snapshot.words < 0) or np.any(counts.data < 0):
        raise ValueError(f"words of topics must be counts >= 0, of shape {(T, K)}.")
    if snapshot.tables.shape != snapshot.on.shape or snapshot.tables.shape[1:] != (K,):
        raise ValueError(f"tables of topics must be counts of {K} topics.")
    wanted: dict[str, tuple[int, ...]]
    wanted = {"jump": (K,), "fresh": (fitted.prior.top.measure(np.ones(1)).n_regions,)}
    if not fitted.prior.flat:
        wanted = {name: values.shape for name, values in fitted.measure().arrays().items()}
    if {name: values.shape for name, values in snapshot.measure.items()} != wanted:
        raise ValueError(f"a draw must have arrays of the shapes {wanted}.")
    if not all(np.all(np.isfinite(x) & (x >= 0)) for x in snapshot.measure.values()):
        raise ValueError("the numbers of a draw must be finite and >= 0.")
