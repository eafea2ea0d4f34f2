"""Pictures of fitted models, with matplotlib (``pip install 'evermix[plot]'``).

Every function returns the axes that it has drawn, and saves nothing:
``em.plot.stream(mix)[0].figure.savefig("stream.png")``. It draws into a new figure, or into the one
that it is given, such as ``figure=plt.figure(figsize=(10, 4))`` in a notebook.
"""

from bisect import bisect_right
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from evermix._words import counted
from evermix.families import Multinomial
from evermix.io.sources.dialect import name_of
from evermix.io.sources.strings import read_number
from evermix.report import (
    bound_plot,
    co_clustering_map,
    overview,
    read_laps,
    topic_overview,
    trace_plot,
)
from evermix.report import topic_curves as curves_of_topics
from evermix.report.canvas import INK, colours_of, new_figure, style_axes
from evermix.report.words import naming_words, numbered

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = [
    "bound",
    "clusters",
    "co_clustering",
    "stream",
    "topic_curves",
    "topics",
    "traces",
]

NAMED, NAMING = 12, 3  # clusters in a legend, and traits that call one
MANY = 12  # columns of rows, of which any two say little


def __dir__() -> list[str]:
    return list(__all__)


def clusters(
    mix: Any,
    X: Any,
    *,
    columns: tuple[int, int] | tuple[str, str] | None = None,
    title: str = "",
    figure: "Figure | None" = None,
) -> "Axes":
    """Draw rows in two columns, or two directions, in the colours of their clusters.

    Parameters
    ----------
    mix : Mixture
    X : array, table or sparse matrix (N, D)
    columns : two ints, or two names of a table's columns, optional
        Columns of X for the two axes. None: the first two, of a table the first two of numbers; of
        an array of more than twelve columns the two directions in which the means of the clusters,
        weighted by size, lie furthest apart. Of a sparse matrix, such as counts of words, they must
        be given: two words say little of texts, whose clusters ``mix.cards`` and ``mix.report``
        show.
    title : str
        Headline of the picture.
    figure : Figure, optional
        Where to draw.

    Examples
    --------
    >>> import numpy as np, evermix as em
    >>> X = np.random.default_rng(0).normal(size=(60, 2)) + np.repeat([[0.0], [9.0]], 30, axis=0)
    >>> axes = em.plot.clusters(em.Mixture().fit(X), X)
    >>> axes.figure.savefig("clusters.png")  # doctest: +SKIP
    """
    if columns is None and sparse.issparse(X):
        raise ValueError(
            "clusters draws two columns of X, and X is a sparse matrix, of which two columns say "
            "little. mix.cards(X, names) returns what sets clusters apart, such as words, and "
            "mix.report('report.html', X, names) writes a page. To draw two columns nevertheless, "
            "give columns=(0, 1)."
        )
    labels = np.asarray(mix.predict(X))
    wide = columns is None and not hasattr(X, "columns") and not hasattr(mix, "levels_")
    if wide and np.shape(X)[1] > MANY:
        names, rows = _two_directions(np.asarray(X), labels)
    else:
        names, rows = _two_columns(mix, X, columns)
    axes = new_figure(title, 8.4, 5.4, figure).subplots()
    across, up = (_with_unit(mix, name) for name in names)
    style_axes(axes, "", across)
    axes.set_ylabel(up, fontsize=10, color=INK)
    for name, values, rescale in zip(
        names, rows.T, (axes.set_xscale, axes.set_yscale), strict=True
    ):
        if name in _on_log_scale(mix):
            rescale("log" if np.nanmin(values) > 0 else "symlog")
    ids, sizes = np.unique(labels, return_counts=True)
    called, colours = mix.lineage_.hand.names, colours_of(ids.tolist())
    for place in np.argsort(-sizes, kind="stable"):
        x, y = rows[labels == ids[place]].T
        id = int(ids[place])
        name = f"{called.get(id, f'cluster {id}')}: {counted(sizes[place], 'row')}"
        axes.scatter(x, y, s=12, color=colours[id], alpha=0.7, linewidth=0, label=name)
    handles = axes.get_legend_handles_labels()[0][:NAMED]
    look: dict[str, Any] = {"frameon": False, "fontsize": 9, "labelcolor": INK, "markerscale": 2}
    axes.legend(handles=handles, loc="upper left", bbox_to_anchor=(1.0, 1.0), **look)
    return axes


def _two_directions(X: NDArray[Any], labels: NDArray[Any]) -> tuple[list[str], NDArray[Any]]:
    """Return the two directions that separate the means of clusters best, and rows in them (N, 2).

    The means of two clusters differ in one direction: the other is that of the largest spread of
    the rows around them.
    """
    known = np.where(np.isnan(X), np.nanmean(X, axis=0), X)
    centred = known - known.mean(axis=0)
    _, code, sizes = np.unique(labels, return_inverse=True, return_counts=True)
    sums = np.zeros((len(sizes), X.shape[1]))
    np.add.at(sums, code, centred)
    n = min(len(sizes) - 1, 2)
    basis = np.linalg.svd(sums / np.sqrt(sizes)[:, None], full_matrices=False)[2][:n]
    if n < 2:
        rest = centred - centred @ basis.T @ basis
        basis = np.vstack([basis, np.linalg.eigh(rest.T @ rest)[1][:, ::-1][:, : 2 - n].T])
    names = [f"direction {i + 1} of the cluster means" for i in range(n)]
    names += ["direction of the largest spread", "direction of the next largest"][: 2 - n]
    return names, centred @ basis.T


def _with_unit(mix: Any, name: str) -> str:
    """Return the title of an axis: a column, and the unit that its numbers were written with."""
    writing = vars(mix).get("written_", {}).get(name)
    unit = "" if writing is None else name_of(writing.unit)
    return f"{name} ({unit})" if unit else name


def _on_log_scale(mix: Any) -> set[str]:
    """Return the names of the columns of a table that the model takes on a log scale."""
    blocks = getattr(mix.model_.family, "blocks", None) or ()
    logs = [(b, b.family.on_log_scale) for b in blocks if hasattr(b.family, "on_log_scale")]
    return {str(name) for b, which in logs for name, on in zip(b.names, which, strict=True) if on}


def _two_columns(mix: Any, X: Any, columns: Any) -> tuple[list[str], NDArray[Any]]:
    """Return the names of two columns, and their values (N, 2)."""
    if not hasattr(mix, "levels_"):
        chosen = list((0, 1) if columns is None else columns)
        names = list(getattr(mix, "feature_names_in_", []))
        if names and hasattr(X, "columns"):
            named = [name if isinstance(name, str) else names[name] for name in chosen]
            return named, np.column_stack([_numbers(mix, X, name) for name in named])
        named = [f"column {j}" for j in chosen]
        if hasattr(X, "tocsc"):  # a sparse matrix
            return named, X.tocsc()[:, chosen].toarray()
        return named, np.asarray(X)[:, chosen]
    numbers = [str(name) for name in mix.feature_names_in_ if name not in mix.levels_]
    names = numbers[:2] if columns is None else list(columns)
    if len(names) < 2 or any(name not in numbers for name in names):
        raise ValueError(
            f"two columns of numbers are wanted, got {names}; the table has {numbers}. A report "
            "(mix.report) shows tables of categories."
        )
    return names, np.column_stack([_numbers(mix, X, name) for name in names])


def _numbers(mix: Any, X: Any, name: str) -> NDArray[np.float64]:
    """Return a column of numbers (N,), which may be strings such as "61 kg"."""
    values, writing = X[name], vars(mix).get("written_", {}).get(name)
    if writing is not None:
        listed = values.to_pylist() if hasattr(values, "to_pylist") else list(values)
        values = [read_number(v, writing) if isinstance(v, str) else v for v in listed]
    return np.asarray(values, dtype=np.float64)


def stream(
    mix: Any,
    names: Sequence[str] | None = None,
    *,
    title: str = "",
    figure: "Figure | None" = None,
) -> NDArray[Any]:
    """Draw the course of a stream: growth of K, sizes of clusters, prequential log-likelihood.

    Parameters
    ----------
    mix : Mixture
        One that has learnt by ``partial_fit``; if its rows came with times, the axes show these.
        Of one that was loaded, the course is drawn in the bins that its file holds.
    names : sequence of str (D,), optional
        Names of the columns, such as the words of counts: clusters are then called by what sets
        them apart, and of many the largest are shown.
    title : str
        Headline of the picture.
    figure : Figure, optional
        Where to draw.
    """
    series = mix._course
    if not len(series.clock):
        raise ValueError(
            "this mixture has learnt no stream: its rows were fitted at once, without a course to "
            "draw. Learn them with partial_fit, or draw the clusters with em.plot.clusters."
        )
    clocks, times = mix.learner_.shown.calendar.course

    def when(clock: float) -> str:
        return str(times[max(bisect_right(clocks, clock) - 1, 0)])

    about = {
        "sizes": mix.tally_.mass,
        "names": _called(mix, names),
        "telling": names is not None,
        "when": when if clocks else None,
    }
    return overview(**series._asdict(), **about, title=title, figure=figure)


def _called(mix: Any, names: Sequence[str] | None) -> list[str]:
    """Return what clusters are called (K,): by a person, or by what sets them apart, or by id."""
    called, counts = dict(mix.lineage_.hand.names), isinstance(mix.model_.family, Multinomial)
    for card in [] if names is None else mix.cards(names=names, tiny=True):
        traits = sorted(card.traits, key=lambda trait: not trait.typical)[:NAMING]
        words = [trait.column if counts else trait.brief() for trait in traits]
        called.setdefault(card.id, ", ".join(words) or f"cluster {card.id}")
    return [called.get(id, f"cluster {id}") for id in mix.cluster_ids_.tolist()]


def bound(
    runs: Any | Mapping[str, Any], *, title: str = "", figure: "Figure | None" = None
) -> NDArray[Any]:
    """Draw the bound and the number of clusters of variational fits, lap by lap.

    Filled dots mark laps that opened clusters, hollow ones those that only fused some.

    Parameters
    ----------
    runs : Mixture, or mapping of str to Mixture
        A fit, or several by their names.
    title : str
        Headline of the picture.
    figure : Figure, optional
        Where to draw.
    """
    fits = runs if isinstance(runs, Mapping) else {"": runs}
    laps = {name: read_laps(info.to_event() for info in fit.history_) for name, fit in fits.items()}
    return bound_plot(laps, title=title, figure=figure)


def traces(
    mix: Any,
    names: Sequence[str] = ("K", "log_joint"),
    *,
    title: str = "",
    figure: "Figure | None" = None,
) -> NDArray[Any]:
    """Draw the chains of a sampler, draw by draw: those that mixed look the same, without a trend.

    Parameters
    ----------
    mix : Mixture or DependentMixture
        One with ``posterior_``.
    names : sequence of str
        The traces to show, by their names in ``mix.posterior_.traces()``.
    title : str
        Headline of the picture.
    figure : Figure, optional
        Where to draw.
    """
    return trace_plot(_posterior(mix, "traces"), names=names, title=title, figure=figure)


def co_clustering(
    mix: Any, rows: Any = None, *, title: str = "", figure: "Figure | None" = None
) -> "Axes":
    """Draw which rows are in the same cluster: the darker, the more draws of a sampler agree.

    Rows are ordered by cluster, the largest first: blocks on the diagonal are certain clusters, the
    rest is uncertainty.

    Parameters
    ----------
    mix : Mixture or DependentMixture
        One with ``posterior_``.
    rows : int array (R,) or mask (N,), optional
        The rows to show; if None, all of them or, of more, 1,000 evenly spaced ones.
    title : str
        Headline of the picture.
    figure : Figure, optional
        Where to draw.
    """
    posterior = _posterior(mix, "co_clustering")
    return co_clustering_map(posterior, rows=rows, title=title, figure=figure)


def _posterior(mix: Any, what: str) -> Any:
    if hasattr(mix, "top_words"):
        raise TypeError(
            f"{what} draws the chains of a Mixture or a DependentMixture, got a TopicModel. Its "
            "draws are arrays in traces_, and topics.report('report.html') draws them."
        )
    return mix.posterior_


def topics(
    model: Any,
    vocabulary: Any = None,
    *,
    share: float = 0.01,
    n: int = 15,
    by: str = "change",
    title: str = "",
    figure: "Figure | None" = None,
) -> NDArray[Any]:
    """Draw topics, or clusters, over time: those that changed most, births and deaths.

    Parameters
    ----------
    model : TopicModel or DependentMixture
        One that was fitted with times.
    vocabulary : sequence (V,), optional
        The words of a TopicModel. None for the names of columns of its counts, or their numbers.
    share : float
        A topic with less is absent: for births and deaths.
    n : int
        Number of topics to show; the others are summed up in a line of text.
    by : "change" or "size"
        Which are shown: those whose share changes most, or the largest.
    title : str
        Headline of the picture.
    figure : Figure, optional
        Where to draw.
    """
    about = _over_time(model, vocabulary)
    return topic_overview(**about, share=share, n=n, by=by, title=title, figure=figure)


def topic_curves(
    model: Any,
    vocabulary: Any = None,
    *,
    n: int = 12,
    by: str = "change",
    title: str = "",
    figure: "Figure | None" = None,
) -> NDArray[Any]:
    """Draw single topics, or clusters: their share and the weight that is predicted, over time.

    Parameters
    ----------
    model : TopicModel or DependentMixture
        One that was fitted with times.
    vocabulary : sequence (V,), optional
        The words of a TopicModel. None for the names of columns of its counts, or their numbers.
    n : int
        Number of topics to show.
    by : "change" or "size"
        Which are shown: those whose share changes most, or the largest.
    title : str
        Headline of the picture.
    figure : Figure, optional
        Where to draw.
    """
    about = _over_time(model, vocabulary) | {"predicted": model.predicted_evolution_}
    return curves_of_topics(**about, n=n, by=by, title=title, figure=figure)


def _over_time(model: Any, vocabulary: Any) -> dict[str, Any]:
    """Return the times of a model, the shares at each, and words that name what has them."""
    times = model.times_.tolist()
    if not times:
        raise ValueError(
            "a model over time is wanted, and this one knows no times. Fit it with times, and with "
            "a prior that uses them, such as em.HMNGG()."
        )
    about = {"times": times, "evolution": model.evolution_}
    if not hasattr(model, "top_words"):
        sizes = model._fitted.point().counts
        words = [[f"cluster {k}"] for k in range(sizes.shape[1])]
        about |= {"unit": "rows", "documents": sizes.sum(axis=1).tolist(), "least": 0}
        return about | {"words": words, "weights": sizes.sum(axis=0) / sizes.sum()}
    return about | {
        "words": numbered(naming_words(model, 10, vocabulary), model.names_),
        "weights": model.weights_,
        "documents": model.n_documents_,
        "added": len(model.added_times_),
    }
