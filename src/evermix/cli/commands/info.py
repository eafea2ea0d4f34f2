"""``evermix info``: what a model file holds."""

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from evermix.cli.output.console import output_console, plain_errors

if TYPE_CHECKING:
    from evermix._xp import Array
    from evermix.engines import Engine
    from evermix.estimators import Mixture

_WORDS = 8  # per cluster


def _shown(value: Any) -> str:
    return "" if value is None else str(value)


_FORMATS: dict[str, Callable[[Any], str]] = {
    "id": str,
    "topic": str,
    "size": "{:,.1f}".format,
    "weight": "{:.4f}".format,
    "share": "{:.4f}".format,
    "first": _shown,
    "last": _shown,
    "born": "{:,}".format,
    "seen": str,
    "words": lambda words: ", ".join(map(str, words)),
}


def info(
    model: Annotated[Path, typer.Argument(metavar="MODEL", help="A model or checkpoint file.")],
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON instead of tables.")] = False,
    top: Annotated[
        int, typer.Option(min=0, help="Show the largest N clusters or topics.", metavar="N")
    ] = 20,
) -> None:
    """Show what a model is made of, and its largest clusters or topics."""
    with plain_errors():
        described = _describe(model, top)
        if as_json:
            typer.echo(json.dumps(described, indent=2))
        else:
            _show(described)


def _describe(path: Path, top: int) -> dict[str, Any]:
    """Return what a model file holds as a JSON-ready dict."""
    from evermix.cli.output.dependent_info import describe_dependent
    from evermix.cli.output.topic_info import describe_topics
    from evermix.estimators import DependentMixture, TopicModel
    from evermix.estimators.files import load_any

    found, extra = load_any(path)
    file: dict[str, Any] = {"file": str(path), "bytes": path.stat().st_size}
    if isinstance(found, TopicModel):
        return file | describe_topics(found, extra, top)
    if isinstance(found, DependentMixture):
        return file | describe_dependent(found, top)
    return file | _describe_mixture(found, extra, top)


def _describe_mixture(mix: "Mixture", extra: dict[str, Any], top: int) -> dict[str, Any]:
    import numpy as np

    from evermix.engines import ADF

    engine = ADF() if mix.engine is None else mix.engine
    asked = (extra.get("stream") or extra.get("fit") or {}).get("settings", {})
    largest = np.argsort(-mix.weights_, kind="stable")[:top]
    return {
        "kind": "mixture",
        "source": asked.get("source"),
        "family": repr(mix.model_.family),
        "prior": repr(mix.model_.prior),
        "engine": repr(engine),
        **_forgetting(mix),
        **_progress(mix, engine),
        "features": mix.n_features_in_,
        "observations": mix.state_.clock if _met_once(mix, engine) else len(mix.labels_),
        "K": mix.n_clusters_,
        "clusters": _clusters(mix, extra, largest),
    }


def _forgetting(mix: "Mixture") -> dict[str, Any]:
    """Return how a model forgets, how many clusters have faded, and when its last row was seen."""
    from evermix.cli.options.forgetting import shown_time
    from evermix.state import FADED

    plan, now = mix.model_.forgetting, mix.state_.now
    if plan is None or now is None:
        return {}
    faded = mix.lineage_.into.count(FADED)
    return {"forgetting": repr(plan), "faded": faded, "now": shown_time(now, plan.dated)}


def _met_once(mix: "Mixture", engine: "Engine") -> bool:
    """Whether no row was met again, so that the clock counts rows and not visits."""
    state = mix.state_
    return engine.streams and state.lap + (state.at > 0) <= 1


def _progress(mix: "Mixture", engine: "Engine") -> dict[str, Any]:
    """Return how far an engine has come that comes back to its rows."""
    return {} if _met_once(mix, engine) else engine.progress(mix.state_)


def _clusters(mix: "Mixture", extra: dict[str, Any], chosen: "Array") -> list[dict[str, Any]]:
    from evermix.cli.options.forgetting import shown_time

    plan = mix.model_.forgetting
    ids, weights, mass = mix.cluster_ids_, mix.weights_, mix.tally_.mass
    clusters: list[dict[str, Any]] = [
        {"id": int(ids[k]), "size": float(mass[k]), "weight": float(weights[k])} for k in chosen
    ]
    # The clusters of a draw have no history.
    if mix.engine is None or mix.engine.draws(mix.state_) is None:
        for cluster in clusters:
            cluster["born"] = mix.lineage_.born[cluster["id"]]
            if plan is not None:
                cluster["seen"] = shown_time(mix.lineage_.last[cluster["id"]], plan.dated)
    for cluster, words in zip(clusters, _words(mix, extra, chosen), strict=False):
        cluster["words"] = words
    return clusters


def _words(mix: "Mixture", extra: dict[str, Any], chosen: "Array") -> list[list[str]]:
    """Return the distinctive words of the chosen clusters; none where columns have no names."""
    from evermix.families import Multinomial
    from evermix.report import distinctive_words

    words = (extra.get("text") or {}).get("words")
    if not words or not isinstance(mix.model_.family, Multinomial):
        return []
    counts = mix.tally_.stats[:, : len(words)]
    return distinctive_words(counts, words, _WORDS, rows=chosen)


def _rounded(text: str) -> str:
    """Return a text with its long decimal numbers cut to four digits, for people to read."""
    return re.sub(r"\d+\.\d{5,}(e[+-]\d+)?", lambda number: f"{float(number[0]):.4g}", text)


def _show(described: dict[str, Any]) -> None:
    from rich.markup import escape
    from rich.table import Table

    console = output_console()
    facts = Table(show_header=False, box=None, padding=(0, 2, 0, 0))
    kind = "topics" if "topics" in described else "clusters"
    clusters = described.pop(kind)
    described["bytes"] = f"{described['bytes']:,}"
    if isinstance(described["source"], list):
        described["source"] = ", ".join(described["source"])
    if described.get("observations") is not None:
        described["observations"] = f"{described['observations']:,}"
    if described.get("elbo") is not None:
        described["elbo"] = f"{described['elbo']:,.2f}"
    for name in {"family", "prior", "engine"} & described.keys():
        described[name] = _rounded(described[name])
    for name, value in described.items():
        if value is not None:
            said = ("no", "yes")[value] if isinstance(value, bool) else str(value)
            facts.add_row(f"[bold]{name}[/bold]", escape(said))
    console.print(facts)
    if not clusters:
        return
    table = Table(title=f"The largest {len(clusters)} {kind}", title_justify="left")
    for name in clusters[0]:
        if name == "words":
            table.add_column("top words" if kind == "topics" else "words that set it apart")
        else:
            table.add_column(name, justify="right")
    for cluster in clusters:
        table.add_row(*(_FORMATS[name](value) for name, value in cluster.items()))
    console.print(table)
