"""What pytest needs to know before it collects modules whose examples are tests."""

from importlib.util import find_spec

ADAPTERS = ("river", "bertopic")
collect_ignore = [f"src/evermix/adapters/{name}.py" for name in ADAPTERS if not find_spec(name)]
