"""What a file of topics holds."""

from typing import Any

from evermix.cli.options.topic_settings import SHARE
from evermix.cli.output.topic_report import shown_label, tell_topics, used_words
from evermix.estimators import TopicModel
from evermix.report import lifetimes

WORDS = 8  # per topic


def describe_topics(model: TopicModel, extra: dict[str, Any], top: int) -> dict[str, Any]:
    """Return what a topic model has found so far as a JSON-ready dict."""
    run = extra.get("topics", {})
    asked = run.get("settings", {})
    names = (extra.get("text") or {}).get("words") or run.get("words")
    times = [shown_label(time) for time in model.times_.tolist()]
    return {
        "kind": "topic model",
        "source": asked.get("source"),
        "prior": _prior(model),
        "sampler": repr(model.sampler_),
        "sweeps": model.n_sweeps_,
        "burn_in": model.burn_in,
        "draws": model.draws,
        "chains": model.chains,
        "features": model.n_features_in_,
        "times": f"{len(times):,}, {times[0]} to {times[-1]}" if times else None,
        "K": model.n_topics_,
        "topics": _topics(model, names, times, asked.get("share", SHARE))[:top],
    }


def _prior(model: TopicModel) -> str:
    """Return the prior that was asked for, or what stands for none."""
    if model.prior is None:
        return "HMNGG()" if len(model.times_) else "HDP()"
    return repr(model.prior)


def _topics(
    model: TopicModel, names: list[str] | None, times: list[Any], share: float
) -> list[dict[str, Any]]:
    alive = lifetimes(model.evolution_[: len(times)], share)
    told = tell_topics(model, used_words(model, WORDS, names), times, alive)
    spans = ["first", "last"] if times else []
    return [{name: topic[name] for name in ("topic", "weight", *spans, "words")} for topic in told]
