"""What pytest needs to know before it collects modules whose examples are tests."""

from importlib.util import find_spec

collect_ignore = [] if find_spec("river") else ["src/evermix/adapters/river.py"]
