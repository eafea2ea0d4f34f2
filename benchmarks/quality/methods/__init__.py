"""All methods of the battery, by name."""

from benchmarks.quality.methods import batch, ours, streams, tables, texts
from benchmarks.quality.methods.base import Answer, Method, NotThere

__all__ = ["GROUPS", "METHODS", "Answer", "Method", "NotThere"]

METHODS: dict[str, Method] = {
    method.name: method
    for module in (ours, batch, texts, tables, streams)
    for method in module.METHODS
}
GROUPS = {
    group: tuple(name for name, method in METHODS.items() if method.group == group)
    for group in ("ours", "peers", "river")
}
