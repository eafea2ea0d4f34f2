"""Which options newcomers want: ``--help`` lists them, and ``--help-all`` the advanced ones too."""

from collections.abc import Sequence
from dataclasses import replace

from evermix.cli.options.option import Option

ADVANCED = "Advanced: "  # how the panels of all other options begin
_FILES = "out", "keep_fields", "checkpoint", "resume", "overwrite"
_COLUMNS = "text_field", "id_field", "time_field", "ignore", "missing", "category"
_ROWS = "text_field", "id_field", "missing", "skip_bad"  # of a model, which knows the other columns
COMMON = {  # by command, in order
    "stream": (
        *_FILES,
        "model",
        *_COLUMNS,
        "half_life",
        "max_clusters",
        "follow",
        "live",
        "skip_bad",
    ),
    "fit": (*_FILES, *_COLUMNS[:2], *_COLUMNS[3:], "max_clusters", "skip_bad"),
    "topics": (
        "out",
        *_FILES[2:],
        *_COLUMNS[:3],
        "alpha",
        "period",
        "documents",
        "figure",
        "draws",
        "skip_bad",
    ),
    "predict": (*_FILES[:2], "overwrite", "coarse", *_ROWS),
    "explain": ("ids", "limit", "against", "as_json", *_ROWS),
    "report": ("out", "overwrite", "title", "source", *_ROWS),
    "edit": ("source", "loose", *_ROWS),
}


def arranged(command: str, options: Sequence[Option]) -> list[Option]:
    """Return the options of a command, with the common ones first and the others in panels."""
    if command not in COMMON:
        return list(options)
    names = *COMMON[command], "seed", "quiet"
    common = [replace(each, panel=None) for each in options if each.argument or each.name in names]
    order = {name: place for place, name in enumerate(names)}
    common.sort(key=lambda option: order.get(option.name, -1))
    rare = [each for each in options if not each.argument and each.name not in names]
    return [*common, *(replace(each, panel=ADVANCED + _small(each.panel)) for each in rare)]


def _small(panel: str | None) -> str:
    return "other" if panel is None else panel[0].lower() + panel[1:]
