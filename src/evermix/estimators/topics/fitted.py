"""What a fit of a topic model has drawn, and what follows from the draws."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from evermix._random import restore
from evermix._schema import (
    BOOL,
    COUNT,
    FLOAT,
    ORDERED,
    SHORT,
    WHOLE,
    Field,
    check_arrays,
    check_number,
)
from evermix._xp import Array, Floats
from evermix.estimators.data.times import Times
from evermix.estimators.packing import (
    POSITIVE,
    Registry,
    built,
    checked_names,
    measure_of,
    named,
    number_fields,
    numbered,
    plain_json,
    taken,
)
from evermix.estimators.topics.draw_files import (
    live_content,
    live_run,
    names_of_traces,
    snapshot_of,
)
from evermix.estimators.topics.settings import checked_alpha, wanted_rest
from evermix.hand import checked_name
from evermix.kernels.topics.evaluation import FrozenTopics
from evermix.priors.hyper import HYPERPRIORS, Gamma
from evermix.topics.hierarchies import TOPIC_PRIORS, Flat, Hierarchy
from evermix.topics.live import LiveRun
from evermix.topics.measures import Measure
from evermix.topics.words.corpus import Corpus
from evermix.topics.words.dirichlet import start
from evermix.topics.words.evaluation import fold_flat, fold_in, frozen
from evermix.topics.words.franchise import Franchise
from evermix.topics.words.samplers import WORD_SAMPLERS
from evermix.topics.words.snapshots import Snapshot, WordRun

SWEEPS, SKIP = 20, 20  # over new documents: those that are averaged, and those before them
_WORDS = ("dish", "opens", "table", "region", "on")


class NamesOfDraw(NamedTuple):
    """Names that people gave to topics of a draw, which has no others."""

    draw: tuple[int, int]  # number of its chain, and its own
    names: dict[int, str]

    @classmethod
    def of(cls, draw: Snapshot, names: dict[int, str]) -> "NamesOfDraw":
        """Return names of the topics of a draw."""
        return cls((draw.chain, draw.draw), names)


@dataclass
class FittedTopics:
    """Chains of a topic model, and answers from their draws."""

    prior: Hierarchy
    alpha: float | Gamma  # of the symmetric Dirichlet law of topics, or its own law
    times: Times
    run: WordRun | LiveRun
    digest: str  # of the documents and times of the fit; none after partial_fit
    size: int  # number V of words in the vocabulary
    words: list[str] | None = None  # the vocabulary, if it was given
    per_time: list[int] | None = None  # number of documents of each time; older files lack it
    n_fitted: int | None = None  # number of times of the fit, before any were added; same
    given: NamesOfDraw | None = None  # names of topics, if there are any

    def point(self) -> Snapshot:
        """Return the draw that is shown."""
        return self.run.point()

    @property
    def names(self) -> dict[int, str]:
        """Names that people gave to topics of the draw that is shown."""
        same = self.given is not None and self.given.draw == NamesOfDraw.of(self.point(), {}).draw
        return dict(self.given.names) if self.given is not None and same else {}

    def shares(self, snapshot: Snapshot, corpus: Corpus, seed: int) -> tuple[FrozenTopics, Floats]:
        """Return the topics of a draw, and their shares and that of a new one, (D, K + 1)."""
        if isinstance(self.prior, Flat):
            law = self.prior.prior
            return fold_flat(snapshot, law, corpus, SWEEPS, SKIP, seed)
        model = frozen(snapshot, self.measure())
        return model, fold_in(model, corpus, snapshot.beta, SWEEPS, SKIP, seed)

    def measure(self) -> Measure:
        """Return a measure of the times to start from."""
        return self.prior.measure(np.ones(max(len(self.times), 1)))

    # ---- files -----------------------------------------------------------------------------

    def to_file(self) -> tuple[dict[str, Array], dict[str, Any]]:
        """Return everything as named arrays and a JSON-ready header."""
        run, prior = self.run, self.prior
        header: dict[str, Any] = {
            "prior": named(prior.prior if isinstance(prior, Flat) else prior),  # type: ignore[arg-type]
            "sampler": named(run.sampler),
            "beta": named(self.alpha) if isinstance(self.alpha, Gamma) else self.alpha,
            "times": self.times.to_spec(),
            "seen": self.digest,
            "words": self.words,
            "per_time": self.per_time,
            "n_fitted": self.n_fitted,
        }
        if self.names:
            header["names"] = [[topic, name] for topic, name in sorted(self.names.items())]
        if isinstance(run, LiveRun):
            arrays, live = live_content(run)
            return arrays, header | live
        header |= {
            "n_documents": len(run.chains[0].seating.u),
            "n_times": run.chains[0].measure.n_times,
            "rngs": [plain_json(rng.bit_generator.state) for rng in run.rngs],
            "run": {
                "sweeps": run.sweeps,
                "names": run.names,
                "spacing": run.spacing,
                "rest": None if run.rest is None else list(run.rest),
                "course": run.course,
                "rested": run.rested,
            },
        }
        arrays = {}
        for i, chain in enumerate(run.chains):
            parts: dict[str, Array] = {name: getattr(chain, name) for name in _WORDS}
            parts["beta"] = np.array([chain.beta])
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
        if run.best is not None:
            arrays |= {f"best.{name}": x for name, x in run.best.arrays().items()}
        return arrays, header

    @classmethod
    def from_file(
        cls, arrays: dict[str, Array], header: Mapping[str, Any], classes: Registry
    ) -> "FittedTopics":
        """Return what :meth:`to_file` described, or raise ValueError.   Consumes: arrays."""
        del classes
        public = built(header["prior"], TOPIC_PRIORS)
        prior = public if isinstance(public, Hierarchy) else Flat(public)
        beta = header["beta"]
        alpha = checked_alpha(built(beta, HYPERPRIORS) if isinstance(beta, dict) else beta)
        rngs, size = [restore(state) for state in header["rngs"]], header["n_features_in"]
        sampler = built(header["sampler"], WORD_SAMPLERS)
        times, seen = Times.from_spec(header["times"]), str(header["seen"])
        rest = (
            checked_names("words", header.get("words"), size),
            _per_time(header, times),
            _n_fitted(header, times),
        )
        shape = max(len(times), 1), size
        if "live" in header:
            known = live_run(arrays, header, prior, alpha, rngs, shape)
            fitted = cls(prior, alpha, times, LiveRun(sampler, *known), seen, size, *rest)
            fitted.given = _given(header, fitted.point())
            return fitted
        chains = [
            _chain(prior, alpha, header, parts) for parts in numbered(taken(arrays, "chain."))
        ]
        run = WordRun(None, sampler, chains, rngs, **_settings(header["run"]))
        fitted = cls(prior, alpha, times, run, seen, size, *rest)
        best = taken(arrays, "best.")
        every = [numbered(each) for each in numbered(taken(arrays, "draws."))]
        measure = chains[0].measure
        kept = [[snapshot_of(prior, alpha, measure, shape, x) for x in each] for each in every]
        traced = "traces" in arrays
        axes = len(chains), "M", len(run.names)
        traces = {"traces": Field(FLOAT, axes, ORDERED)} if traced else {}
        check_arrays("the file", arrays, traces)
        if not len(rngs) == len(chains) or len(kept) != (len(chains) if traced else 1):
            raise ValueError("all chains must have generators and draws.")
        if traced:
            run.rows, run.snapshots = [list(rows) for rows in arrays["traces"]], kept
            run.best = snapshot_of(prior, alpha, measure, shape, best) if best else None
        else:
            (run.answers["now"],) = kept[0]
        fitted.given = _given(header, fitted.point())
        return fitted

    def check_corpus(self, corpus: Corpus) -> None:
        """Raise ValueError unless the words of all chains are those of a corpus."""
        lengths = np.repeat(corpus.lengths, corpus.lengths)
        assert isinstance(self.run, WordRun)
        for chain in self.run.chains:
            whole = len(chain.dish) == len(corpus) and chain.measure.n_times == corpus.n_times
            whole &= self.prior.flat or len(chain.seating.u) == corpus.n_documents
            if not whole or np.any(chain.table >= lengths):
                raise ValueError("the chains of the model are not those of its documents.")


# ---- what a file must hold -----------------------------------------------------------------


def _settings(spec: Mapping[str, Any]) -> dict[str, Any]:
    """Return the settings of a run, or raise ValueError unless they are valid."""
    names = names_of_traces(spec["names"])
    spacing = check_number("spacing", spec["spacing"], (1, COUNT[1]))
    sweeps = check_number("sweeps", spec["sweeps"])
    rest, course, rested = spec.get("rest"), spec.get("course", []), spec.get("rested")
    if rest is not None:
        tol, patience = rest
        rest = wanted_rest(tol, check_number("patience", patience, (1, COUNT[1])))
    if type(course) is not list or not all(type(value) is float for value in course):
        raise ValueError(f"the course of a burn-in must be numbers, got {course!r:.80}.")
    if rested is not None:
        check_number("rested", rested, (0, sweeps))
    settings = {"names": names, "spacing": spacing, "sweeps": sweeps}
    return settings | {"rest": rest, "course": course, "rested": rested}


def _per_time(header: Mapping[str, Any], times: Times) -> list[int] | None:
    """Return the number of documents of each time, if the file has it, or raise ValueError."""
    found = header.get("per_time")
    if found is None:
        return None
    if type(found) is not list or len(found) != len(times):
        raise ValueError(f"per_time must be {len(times)} numbers, got {found!r:.80}.")
    return [int(check_number("per_time", n)) for n in found]


def _chain(
    prior: Hierarchy, alpha: float | Gamma, header: Mapping[str, Any], arrays: dict[str, Array]
) -> Franchise:
    """Return a chain of a file.   Consumes: arrays."""
    seats, numbers = taken(arrays, "seating."), taken(arrays, "measure.")
    found = {"n_documents": len(seats.get("u", [])), "n_times": len(numbers["u"])}
    for name, n in found.items():
        if header[name] != n:
            raise ValueError(f"{name} must be {n}, as in the arrays, got {header[name]!r:.80}.")
    measure = measure_of(prior.top, np.ones(found["n_times"]), numbers)
    seating = prior.seating(np.ones(found["n_documents"], dtype=np.int64))
    check_arrays("seats", seats, number_fields(seating))
    seating.assign(seats)
    N, K = len(arrays["dish"]), len(arrays["region"])
    beta, law = start(alpha, header["n_features_in"])
    arrays.setdefault("beta", np.array([beta]))  # older files have only fixed ones
    fields = {
        "beta": Field(FLOAT, (1,), POSITIVE),
        "dish": Field(SHORT, (N,), (0, K - 1)),
        "opens": Field(BOOL, (N,)),
        "table": Field(SHORT, (N,), (-1, N - 1)),
        "region": Field(WHOLE, (K,), (0, measure.n_regions - 1)),
        "on": Field(BOOL, (found["n_times"], K)),
    }
    check_arrays("a chain", arrays, fields)
    if not N or not np.bincount(arrays["dish"], minlength=K).all():
        raise ValueError(f"topics of words must be the numbers 0 to {K - 1}, all in use.")
    chain = Franchise(measure, seating, beta, *(arrays[name] for name in _WORDS))
    chain.beta, chain.law = float(arrays["beta"][0]), law
    return chain


def _n_fitted(header: Mapping[str, Any], times: Times) -> int | None:
    """Return the number of times of the fit, if the file has it, or raise ValueError."""
    found = header.get("n_fitted")
    return None if found is None else int(check_number("n_fitted", found, (0, len(times))))


def _given(header: Mapping[str, Any], shown: Snapshot) -> NamesOfDraw | None:
    """Return the names of topics, if the file has any, or raise ValueError."""
    found = header.get("names", [])
    names = {
        int(check_number("a topic", topic, (0, shown.K - 1))): checked_name(name, "topic")
        for topic, name in found
    }
    if len({*names.values()}) < len(found):
        raise ValueError(f"topics must have different names, got {found!r:.80}.")
    return NamesOfDraw.of(shown, names) if names else None
