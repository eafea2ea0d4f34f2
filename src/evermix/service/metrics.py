"""Numbers for Prometheus, in its text format."""

import time
from collections.abc import Iterable, Iterator

from evermix.service.webhooks import Webhook
from evermix.service.worker import READY, Worker

FORM = "text/plain; version=0.0.4; charset=utf-8"
_COUNTERS = {
    "requests": "Requests that were taken.",
    "rows": "Observations that were learnt.",
    "duplicates": "Observations that were known by their id.",
    "refused": "Requests that a model could not do.",
    "busy": "Requests that were refused since too many were waiting.",
    "replayed": "Records of the log that were replayed at the start.",
    "checkpoints": "Checkpoints that were written.",
    "learn_seconds": "Time spent learning, and waiting for the disk where that took longer.",
    "sync_seconds": "Time spent until requests were safe on the disk.",
}
_GAUGES = {
    "ready": "Whether the model can answer.",
    "waiting": "Requests that wait.",
    "clusters": "Clusters that there are.",
    "sequence": "Number of the last request that was taken.",
    "log_bytes": "Size of the log.",
}


_WEBHOOK = {
    "sent": "New clusters posted to the webhook.",
    "failed": "New clusters that could not be posted.",
    "dropped": "New clusters not posted since too many waited.",
}


def metrics(
    models: Iterable[tuple[str, Worker]], started: float, webhook: Webhook | None = None
) -> str:
    """Return all metrics as text."""
    lines = list(_lines(list(models), started))
    if webhook is not None:
        for name, help in _WEBHOOK.items():
            lines += _head(f"evermix_webhook_{name}_total", help, "counter")
            lines.append(f"evermix_webhook_{name}_total {getattr(webhook, name)}")
    return "\n".join(lines) + "\n"


def _lines(models: list[tuple[str, Worker]], started: float) -> Iterator[str]:
    yield from _head("evermix_up_seconds", "Time since the service was started.", "gauge")
    yield f"evermix_up_seconds {time.monotonic() - started:.3f}"
    for name, help in _COUNTERS.items():
        yield from _head(f"evermix_{name}_total", help, "counter")
        for model, worker in models:
            yield f'evermix_{name}_total{{model="{model}"}} {getattr(worker.totals, name)!r}'
    values = {model: _gauges(worker) for model, worker in models}
    for name, help in _GAUGES.items():
        yield from _head(f"evermix_{name}", help, "gauge")
        for model, found in values.items():
            yield f'evermix_{name}{{model="{model}"}} {found[name]}'


def _gauges(worker: Worker) -> dict[str, int]:
    return {
        "ready": int(worker.status == READY),
        "waiting": worker.waiting,
        "clusters": worker.clusters,
        "sequence": worker.core.sequence,
        "log_bytes": worker.log.size,
    }


def _head(name: str, help: str, kind: str) -> Iterator[str]:
    yield f"# HELP {name} {help}"
    yield f"# TYPE {name} {kind}"
