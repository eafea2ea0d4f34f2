"""What a file of topics holds."""

from typing import Any

from evermix.cli.findings import shown_label, used_words
from evermix.estimators import TopicModel
from evermix.report import lifetimes

__all__ = ["describe_topics"]

WORDS = 8  # per topic
SHARE = 0.01  # of the words of a time, from which on a topic is there


def describe_topics(model: TopicModel, extra: dict[str, Any], top: int) -> dict[str, Any]:
    """Return what a topic model has found so far as a JSON-ready dict."""
    run = extra.get("topics", {})
    names = (extra.get("text") or {}).get("words") or run.get("words")
    times = [shown_label(time) for time in model.times_.tolist()]
    return {
        "kind": "topic model",
        "source": run.get("settings", {}).get("source"),
        "prior": _prior(model),
        "sampler": repr(model.sampler_),
        "sweeps": model.n_sweeps_,
        "burn_in": model.burn_in,
        "draws": model.draws,
        "chains": model.chains,
        "features": model.n_features_in_,
        "times": f"{len(times):,}, {times[0]} to {times[-1]}" if times else None,
        "K": model.n_topics_,
        "topics": _topics(model, names, times)[:top],
    }


def _prior(model: TopicModel) -> str:
    """Return the prior that was asked for, or what stands for none."""
    if model.prior is None:
        return "HMNGG()" if len(model.times_) else "HDP()"
    return repr(model.prior)


def _topics(model: TopicModel, names: list[str] | None, times: list[Any]) -> list[dict[str, Any]]:
    evolution, words = model.evolution_, used_words(model, WORDS, names)
    share, alive = evolution.mean(axis=0), lifetimes(evolution, SHARE)
    topics = []
    for k in range(model.n_topics_):
        topic: dict[str, Any] = {"topic": k, "share": float(share[k])}
        if times:
            spans = alive.spans[k]
            topic["first"] = times[spans[0][0]] if spans else None
            topic["last"] = times[spans[-1][1]] if spans else None
        topics.append(topic | {"words": words[k]})
    return topics
