"""Write the options of the command line that follow from classes, so that --help is fast.

    python tools/derived_options.py

Run it after a field of an engine, a family, a prior or a sampler, or what its docstring says,
has changed.
"""

import json

from evermix.cli.options.commands import DERIVED, LEARNING, derived, to_spec


def main() -> None:
    """Write ``src/evermix/cli/options/derived.json``."""
    found = {
        name: [[to_spec(each) for each in some] for some in derived(name)] for name in LEARNING
    }
    DERIVED.write_text(json.dumps(found, indent=1) + "\n", "utf-8")
    print(f"wrote {DERIVED}")


if __name__ == "__main__":
    main()
