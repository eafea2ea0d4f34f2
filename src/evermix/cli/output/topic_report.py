"""The report on topics: their words, shares over time, births and deaths."""

import json
import os
from typing import Any

import numpy as np

from evermix._xp import Array
from evermix.cli.input.documents import Documents, Parts
from evermix.cli.options.settings import Settings
from evermix.cli.output.lines import naming
from evermix.estimators import TopicModel
from evermix.estimators.data.times import Times, shown_label
from evermix.report import Lifetimes, lifetimes, topic_curves, topic_overview
from evermix.report.canvas import save_picture

DIGITS = 6  # behind the point, of shares


class TopicReport:
    """The results of a run, for the files that the settings name.

    Parameters
    ----------
    model : TopicModel
    settings : Settings
    documents : Documents
    parts : Parts
        Documents that were learnt, and those that were held out.
    held : dict or None
        Counts and times of those that were held out, as the model takes them.
    timeless : bool
        Whether the prior takes no times.

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

    def __init__(
        self,
        model: TopicModel,
        settings: Settings,
        documents: Documents,
        parts: Parts,
        *,
        held: dict[str, Any] | None,
        timeless: bool,
    ) -> None:
        self._model, self._settings, self._parts = model, settings, parts
        X, times = documents.X[parts.learnt], documents.times
        self._n = np.asarray(X.sum(axis=1)).ravel()
        self.words = model.top_words(settings.top_words, documents.words)
        self.times: list[Any] = []
        self.evolution, self.predicted = np.empty((0, len(self.words))), None
        if times is not None:
            known, codes = Times.read(times[parts.learnt], len(self._n))
            self.times = [shown_label(time) for time in known.values]
            if timeless:
                self.evolution = self._shares(X, codes)
            else:
                self.evolution, self.predicted = model.evolution_, model.predicted_evolution_
        self.perplexity = None if held is None else model.perplexity(**held)

    def _shares(self, X: Any, codes: Array) -> Array:
        """Return the shares (T, K) of topics at times that the model does not know."""
        shares = self._model.transform(X) * self._n[:, None]
        total = np.array([shares[codes == t].sum(axis=0) for t in range(codes.max() + 1)])
        return total / total.sum(axis=1, keepdims=True)

    def write(self) -> None:
        """Write the JSON and the pictures."""
        settings = self._settings
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
            "weights": self._model.weights_,
        }
        title = f"{len(self.words)} topics in {_name(settings.sources)}"
        if settings.figure is not None:
            axes = topic_overview(**about, share=settings.share, title=title)
            save_picture(settings.figure, axes)
        if settings.curves is not None:
            axes = topic_curves(**about, predicted=self.predicted, title=title)
            save_picture(settings.curves, axes)

    def to_spec(self) -> dict[str, Any]:
        """Return everything as a JSON-ready dict."""
        parts, model, settings = self._parts, self._model, self._settings
        alive, traces = lifetimes(self.evolution, settings.share), model.traces_
        return {
            "source": settings.source,
            "documents": len(parts.learnt),
            "held_out": len(parts.held),
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
            "topics": describe_topics(model, self.words, self.times, alive),
            "evolution": _rounded(self.evolution.T),
            "predicted_evolution": None if self.predicted is None else _rounded(self.predicted.T),
            "births": alive.births,
            "deaths": alive.deaths,
        }


def describe_topics(
    model: TopicModel, words: list[list[Any]], times: list[Any], alive: Lifetimes
) -> list[dict[str, Any]]:
    """Return a description of each topic, largest weight first, as JSON-ready dicts."""
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
