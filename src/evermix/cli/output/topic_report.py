"""The report on topics: their words, shares over time, births and deaths."""

import json
import os
import shlex
import sys
from contextlib import closing
from dataclasses import replace
from functools import cached_property
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from evermix._xp import Array
from evermix.cli.console import note
from evermix.cli.input.documents import Documents, Parts
from evermix.cli.options.settings import Settings
from evermix.cli.output.coarse import proposed
from evermix.cli.output.lines import Lines, naming
from evermix.cli.output.topic_lines import DIGITS, document_lines
from evermix.cli.output.topic_names import topic_names
from evermix.estimators import TopicModel
from evermix.estimators.data.times import Times, shown_label
from evermix.estimators.plain_words import topics_in_words
from evermix.estimators.topics.card import (
    DOCUMENTS,
    FEW,
    OverTime,
    TopicCards,
    document_name,
    in_order,
)
from evermix.report import topic_curves, topic_overview
from evermix.report.canvas import save_picture
from evermix.report.shown_topics import left_out, positions, together
from evermix.report.words import numbered

CARDS = 8  # that a terminal shows
AT_ONCE = 4096  # documents whose shares of all topics are in memory
PRESENT = 0.05  # share of a topic from which on a document is named


class TopicReport:
    """The results of a run, for the files that the settings name.

    Parameters
    ----------
    model : TopicModel
    settings : Settings
    documents : Documents
    parts : Parts
        Documents that were learnt, and those that were held out.
    sources : list of str
        The files of all documents that the model has learnt, in order.
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
    picture : str, Path or None
        Where the picture of all topics goes.
    old_picture : Path or None
        A picture that was there, and is not replaced since nobody named it.
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
        sources: list[str],
        held: dict[str, Any] | None,
        timeless: bool,
    ) -> None:
        self._sources = sources
        self._model, self._settings, self._parts = model, settings, parts
        self._ids = [documents.ids[d] for d in parts.learnt.tolist()]
        unknown = documents.unknown_shares
        self._unknown = None if unknown is None else unknown[parts.learnt]
        self._titles = [documents.titles[d] for d in parts.learnt.tolist()]
        X, times = documents.X[parts.learnt], documents.times
        self._rows = {"X": X}
        if times is not None and not timeless:
            self._rows["times"] = times[parts.learnt]
        self._n = np.asarray(X.sum(axis=1)).ravel()
        over_time = OverTime([], np.empty((0, model.n_topics_)), None)
        self.predicted = None
        if times is not None:
            over_time = OverTime.of(model)
            if timeless:
                over_time = self._over_time(times[parts.learnt])
            else:
                self.predicted = model.predicted_evolution_
        self.times, self.evolution, self._documents = over_time
        self.cards = TopicCards(
            model,
            n=settings.top_words,
            share=settings.share,
            least=settings.min_documents,
            over_time=over_time,
        )
        self.picture, self.old_picture = settings.figure, None
        if self.times and settings.figure is None:
            self.picture, self.old_picture = _pictures(settings)
        self.perplexity = None if held is None else model.perplexity(**held)

    def _over_time(self, times: Array) -> OverTime:
        """Return the shares of topics at times that the model does not know."""
        known, codes = Times.read(times, len(self._n))
        n = np.bincount(codes)
        of_time = sparse.csr_matrix((self._n, (codes, np.arange(len(codes)))))
        total = (of_time @ self._shares).toarray()
        labels = [shown_label(time) for time in known.values]
        return OverTime(labels, total / total.sum(axis=1, keepdims=True), n.tolist())

    def write(self) -> None:
        """Write the JSON and the pictures."""
        settings = self._settings
        text = _readable(self.to_spec()) + "\n"
        if settings.out == "-" and _at_terminal():
            print(self._shown(), flush=True)
        elif settings.out == "-":
            print(text, end="", flush=True)
        else:
            with naming(settings.out), open(settings.out, "w", encoding="utf-8") as file:
                file.write(text)
        if settings.documents is not None:
            self._write_documents(settings.documents)
        about: dict[str, Any] = {
            "times": self.times,
            "evolution": self.evolution,
            "words": numbered(self.cards.apart, self.cards.names),
            "weights": self._model.weights_,
            "documents": self._documents,
            "least": settings.min_documents,
            "added": len(self._model.added_times_),
        }
        title = f"{topics_in_words(self._model.weights_)} in {_name(self._sources)}"
        part = together(positions(self.times)[0], self._documents)
        if left := left_out(self.times, self._documents, part):
            note(f"{left} of pictures: far from all other times, as misprinted dates are.")
        if self.picture is not None:
            axes = topic_overview(**about, share=settings.share, title=title)
            save_picture(self.picture, axes)
        if settings.curves is not None:
            axes = topic_curves(**about, predicted=self.predicted, title=title)
            save_picture(settings.curves, axes)

    def _shown(self) -> str:
        """Return the cards of the largest topics, and of those that change most, for a reader."""
        n = min(CARDS, len(self.cards.words))
        parts = ["The largest topics", *map(self._card, range(n))]
        others = [k for k in self.cards.order("change") if k >= n] if len(self.times) > 1 else []
        if others:
            parts += ["Others that change most", *map(self._card, others[:n])]
        total, model = len(self.cards.words), self._settings.checkpoint
        if model is not None and (fewer := proposed(self._model)):
            command = shlex.join(["evermix", "info", str(model), "--coarse", str(fewer)])
            parts.append(f"fewer, coarser topics than these {total:,}: {command}")
        return "\n\n".join(parts)

    def _card(self, k: int) -> str:
        """Return a card that calls documents by their ids and titles."""
        card, found = self.cards.card(k), self._documents_of(k)
        named = [(document_name(self._ids[d], self._titles[d]), share) for d, share in found]
        return repr(replace(card, documents=tuple(named)))

    def _documents_of(self, k: int) -> list[tuple[int, float]]:
        """Return the rows of the documents with most of a topic, and its shares.

        A model that has gone on keeps no documents: then they are those that were learnt last.
        """
        found = self.cards.card(k).documents
        if self._model.gone_on_:
            shares = self._shares[:, [k]].toarray().ravel()
            order = np.argsort(-shares * self._n / (self._n + FEW), kind="stable")[:DOCUMENTS]
            order = order[shares[order] >= PRESENT]
            found = in_order(order, shares[order])
        return list(found)

    @cached_property
    def _shares(self) -> Array:
        """Return the shares of topics in the documents that were learnt, CSR matrix (D, K)."""
        if self._model.gone_on_:  # it keeps no documents
            return sparse.csr_matrix(self._model.transform(**self._rows))
        return self._model.documents_

    def _write_documents(self, path: str) -> None:
        """Write a line on the topics of each document that was learnt, as ``predict`` does."""
        names, _ = topic_names(self._model, {}, None, path)
        with closing(Lines(path, None)) as lines:
            for start in range(0, len(self._ids), AT_ONCE):
                some = slice(start, start + AT_ONCE)
                shares = self._model.transform(**{k: x[some] for k, x in self._rows.items()})
                unknown = None if self._unknown is None else self._unknown[some]
                for line in document_lines(self._ids[some], shares, names, unknown):
                    lines.write(line)
            lines.flush()

    def to_spec(self) -> dict[str, Any]:
        """Return everything as a JSON-ready dict."""
        parts, model, settings = self._parts, self._model, self._settings
        alive, traces = self.cards.alive, model.traces_
        known = model.n_documents_ or ([] if model.gone_on_ else [len(parts.learnt)])
        return {
            "source": settings.source,
            "documents": len(parts.learnt),
            "held_out": len(parts.held),
            "words": int(self._n.sum()),
            "documents_in_all": sum(known) or None,
            "words_in_all": int(self.cards.point.words.sum()),
            "vocabulary": model.n_features_in_,
            "prior": repr(model.prior),
            "burn_in": settings.burn_in,
            "draws": model.n_draws_,
            "chains": settings.chains,
            "seed": settings.seed,
            "n_topics": model.n_topics_,
            "mean_topics": float(traces["n_topics"].mean()),
            "mean_log_joint": float(traces["log_joint"].mean()),
            "perplexity": self.perplexity,
            "share": settings.share,
            "times": self.times,
            "topics": self._topics(),
            "evolution": _rounded(self.evolution.T),
            "predicted_evolution": None if self.predicted is None else _rounded(self.predicted.T),
            "births": alive.births,
            "deaths": alive.deaths,
        }

    def _topics(self) -> list[dict[str, Any]]:
        """Return the cards of the topics, with the ids of documents."""
        topics = describe_topics(self.cards)
        for k, topic in enumerate(topics):
            topic["documents"] = [
                {"id": self._ids[d], "title": self._titles[d], "share": share}
                for d, share in self._documents_of(k)
            ]
        return topics


def describe_topics(writer: TopicCards) -> list[dict[str, Any]]:
    """Return the cards of the topics, largest first, as JSON-ready dicts."""
    topics = []
    for k, spans in enumerate(writer.alive.spans):
        card = writer.card(k).to_dict()
        topic = {"topic": card.pop("id"), "weight": round(card.pop("share"), DIGITS), **card}
        del topic["times"], topic["shares"]  # there is a table of all
        times = writer.times
        topic["spans"] = [[times[first], times[last]] for first, last in spans]
        topics.append(topic)
    return topics


def _at_terminal() -> bool:
    return sys.stdout.isatty()


def _pictures(settings: Settings) -> tuple[Path | None, Path | None]:
    """Return where a picture goes that nobody has named, and the old one that is there.

    It goes beside the checkpoint, as a new file.
    """
    if settings.quiet or settings.checkpoint is None or find_spec("matplotlib") is None:
        return None, None
    path = Path(settings.checkpoint).with_suffix(".png")
    return (path, None) if settings.overwrite or not path.exists() else (None, path)


def _rounded(shares: Array) -> list[list[float]]:
    return [[round(value, DIGITS) for value in row] for row in shares.tolist()]


def _name(sources: list[str]) -> str:
    if len(sources) > 1:
        return f"{len(sources):,} files"
    return "standard input" if sources[0] == "-" else os.path.basename(sources[0])


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
