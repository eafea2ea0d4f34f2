"""Facts on a model for people: few, and in plain words. ``--all`` and JSON have all of them."""

from typing import Any

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
    "growing": "growing",
}
"""What plain facts are called, by their names in JSON, in order."""
BETTER = " (higher is better)"


def plain_facts(described: dict[str, Any], noun: str) -> dict[str, tuple[str, Any]]:
    """Return facts for people, by their names in JSON: what each is called, and its value.

    ``noun`` is what the model has found, such as "clusters".
    """
    names = PLAIN | {"K": noun}
    order = [name for name in names if name != "growing"] + ["growing"]
    return {name: (names[name], described[name]) for name in order if name in described}
