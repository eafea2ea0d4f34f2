"""Facts on a model for people: few, and in plain words. ``--all`` and JSON have all of them."""

from collections.abc import Iterator
from typing import Any

from evermix._words import counted
from evermix.cli.input.model_rows import PROVISIONAL
from evermix.estimators import Mixture
from evermix.estimators.mixture.fit_results import rows_learnt
from evermix.estimators.mixture.held import few_rows, held_in_words

PLAIN = {
    **{name: name for name in ("file", "bytes", "kind", "source", "data", "times", "forgets")},
    "now": "now",
    "laps": "passes over the data",
    "sweeps": "sweeps",
    "draws": "draws",
    "finished": "finished",
    "elbo": "fit to the data",
    "log_joint": "fit to the data",
    "embedding": "embedding",
    "vocabulary": "vocabulary",
    "unknown_words": "unknown words",
    "observations": "rows",
    "documents": "documents",
    "provisional": "provisional",
    "missing": "missing cells",
    "growing": "growing",
    "fading": "fading",
}
"""What plain facts are called, by their names in JSON, in order."""
BETTER = " (higher is better)"
SMALL = 0.01  # nats that a lap gains


def plain_facts(
    described: dict[str, Any], noun: str, command: str | None
) -> dict[str, tuple[str, Any]]:
    """Return facts for people, by their names in JSON: what each is called, and its value.

    ``noun`` is what the model has found, such as "clusters", ``command`` what goes on with a fit.
    """
    names = PLAIN | {"K": noun}
    last = ["growing", "fading"]
    order = [name for name in names if name not in last] + last
    found = {name: (names[name], described[name]) for name in order if name in described}
    if described["kind"] == "mixture":
        single, hidden = described["single"] or 0, described["hidden"] or 0
        found["K"] = noun, held_in_words(described["K"], single, hidden)
    few = few_rows(described["observations"]) if described["kind"] == "mixture" else None
    if few is not None:
        found["observations"] = names["observations"], f"{described['observations']:,} ({few})"
    if described.get("provisional"):
        found["provisional"] = names["provisional"], PROVISIONAL
    limit = at_limit(described, command)
    if limit is not None:
        found["finished"] = "finished", f"at the limit of {described['laps']:,} passes, {limit}"
    return found


def warned_of_few(mix: Mixture) -> Iterator[str]:
    """Yield a line if a mixture has learnt so few rows that its clusters tell little."""
    few = few_rows(n := rows_learnt(mix.learner_.shown))
    if few is not None:
        yield f"{counted(n, 'row')}: {few}"


def at_limit(progress: dict[str, Any], command: str | None) -> str | None:
    """Return in words that a fit has ended before it converged, and how to go on; None if not.

    ``progress`` is that of its engine, ``command`` what the command line goes on with, if it can.
    """
    laps, gain = progress.get("laps", 0), progress.get("last_gain")
    if progress.get("converged") is not False or laps < 2:
        return None
    if gain is None:  # no objective rises, so that more laps need not be better
        return "before it converged"
    more = f"{command} --laps {2 * laps} goes on"
    if command is None:
        more = f"Mixture.resume goes on if its engine has more laps, such as {2 * laps}"
    if gain < SMALL:
        return f"before it had tried all splits and merges ({more})"
    rise = f"{gain:,.0f}" if gain >= 10 else f"{gain:.2g}"
    return f"before it converged: the last one still improved the fit by {rise} ({more})"
