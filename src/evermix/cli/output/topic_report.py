"""What is told of topics: their words, shares over time, births and deaths."""

import json
import os
from datetime import date
from typing import Any

import numpy as np

from evermix._xp import Array
from evermix.cli.options.topic_building import knows_times
from evermix.cli.output.lines import naming
from evermix.cli.runs.topics import TopicRun
from evermix.estimators import TopicModel
from evermix.estimators.data.times import Times
from evermix.report import Lifetimes, lifetimes, topic_curves, topic_overview

DIGITS = 6  # behind the point, of shares


class Findings:
    """What a run has found, for the files that were asked for.

    Attributes
    ----------
    times : list
        Numbers or labels of times, in order; empty without times.
    evolution : array (T, K)
        Share of each topic among the words of each time.
    predicted : array (T, K) or None
        Weight of each topic at each time, where the prior knows times.
    perplexity : float or None
        Of documents that were held out.
    """

    def __init__(self, run: TopicRun) -> None:
        self._run, model = run, run.model
        X, times = run.documents.X[run.parts.learnt], run.documents.times
        self._n = np.asarray(X.sum(axis=1)).ravel()
        self.words = used_words(model, run.settings.top_words, run.documents.words)
        self.times: list[Any] = []
        self.evolution, self.predicted = np.empty((0, len(self.words))), None
        if times is not None:
            known, codes = Times.read(times[run.parts.learnt], len(self._n))
            self.times = [shown_label(time) for time in known.values]
            self.evolution, self.predicted = self._over_time(X, codes)
        self.perplexity = self._perplexity()

    def _over_time(self, X: Any, codes: Array) -> tuple[Array, Array | None]:
        model = self._run.model
        if knows_times(self._run.settings):
            return model.evolution_, model.predicted_evolution_
        shares = model.transform(X) * self._n[:, None]
        total = np.array([shares[codes == t].sum(axis=0) for t in range(codes.max() + 1)])
        return total / total.sum(axis=1, keepdims=True), None

    def _perplexity(self) -> float | None:
        run = self._run
        return run.model.perplexity(*run.rows(run.parts.held)) if len(run.parts.held) else None

    def write(self) -> None:
        """Write the JSON and the pictures."""
        settings = self._run.settings
        text = _readable(self.to_spec()) + "\n"
        if settings.out == "-":
            print(text, end="", flush=True)
        else:
            with naming(settings.out), open(settings.out, "w", encoding="utf-8") as file:
                file.write(text)
        about: dict[str, Any] = {
            "times": self.times,
            "evolution": self.evolution,
            "words": self.words,
        }
        title = f"{len(self.words)} topics in {_name(settings.sources)}"
        if settings.figure is not None:
            topic_overview(settings.figure, **about, share=settings.share, title=title)
        if settings.curves is not None:
            topic_curves(settings.curves, **about, predicted=self.predicted, title=title)

    def to_spec(self) -> dict[str, Any]:
        """Return everything as a JSON-ready dict."""
        run, model, settings = self._run, self._run.model, self._run.settings
        alive, traces = lifetimes(self.evolution, settings.share), model.traces_
        return {
            "source": settings.source,
            "documents": len(run.parts.learnt),
            "held_out": len(run.parts.held),
            "words": int(self._n.sum()),
            "vocabulary": model.n_features_in_,
            "prior": repr(model.prior),
            "burn_in": settings.burn_in,
            "draws": len(traces["n_topics"]) // settings.chains,
            "chains": settings.chains,
            "seed": settings.seed,
            "n_topics": model.n_topics_,
            "mean_topics": float(traces["n_topics"].mean()),
            "mean_log_joint": float(traces["log_joint"].mean()),
            "perplexity": self.perplexity,
            "share": settings.share,
            "times": self.times,
            "topics": tell_topics(model, self.words, self.times, alive),
            "evolution": _rounded(self.evolution.T),
            "predicted_evolution": None if self.predicted is None else _rounded(self.predicted.T),
            "births": alive.births,
            "deaths": alive.deaths,
        }


def tell_topics(
    model: TopicModel, words: list[list[Any]], times: list[Any], alive: Lifetimes
) -> list[dict[str, Any]]:
    """Return what is told of each topic, those of the largest weight first, as JSON-ready dicts."""
    weights, regions = model.weights_.tolist(), model.regions_.tolist()
    topics = []
    for k, spans in enumerate(alive.spans):
        born, died = (
            next((times[t] for t, some in enumerate(moves) if k in some), None)
            for moves in (alive.births, alive.deaths)
        )
        topics.append(
            {
                "topic": k,
                "weight": round(weights[k], DIGITS),
                "words": words[k],
                "region": regions[k],
                "first": times[spans[0][0]] if spans else None,
                "last": times[spans[-1][1]] if spans else None,
                "spans": [[times[first], times[last]] for first, last in spans],
                "born": born,
                "died": died,
            }
        )
    return topics


def used_words(model: TopicModel, n: int, names: list[str] | None) -> list[list[Any]]:
    """Return the top words of each topic that are in it at all."""
    components = model.components_
    # Words that a topic does not use have the least probability, all the same.
    used = (components > components.min(axis=1, keepdims=True)).sum(axis=1)
    every = model.top_words(n, names)
    return [words[: max(int(m), 1)] for words, m in zip(every, used, strict=True)]


def shown_label(time: Any) -> Any:
    """Return a time as it stood in the source: whole numbers without a point, dates in ISO 8601."""
    if isinstance(time, date):
        return time.isoformat().removesuffix("T00:00:00")
    return int(time) if isinstance(time, float) and time.is_integer() else time


def _rounded(shares: Array) -> list[list[float]]:
    return [[round(value, DIGITS) for value in row] for row in shares.tolist()]


def _name(sources: list[str]) -> str:
    name = "standard input" if sources[0] == "-" else os.path.basename(sources[0])
    return name if len(sources) == 1 else f"{name} and {len(sources) - 1} more"


def _readable(entries: dict[str, Any]) -> str:
    """Return JSON with a line for each entry, and for each part of a list of lists or dicts."""
    lines = []
    for name, value in entries.items():
        text = json.dumps(value, ensure_ascii=False)
        if isinstance(value, list) and value and isinstance(value[0], list | dict):
            parts = (json.dumps(part, ensure_ascii=False) for part in value)
            text = "[\n    " + ",\n    ".join(parts) + "\n  ]"
        lines.append(f"  {json.dumps(name)}: {text}")
    return "{\n" + ",\n".join(lines) + "\n}"
