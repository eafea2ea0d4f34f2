"""The options of ``evermix edit``."""

from dataclasses import replace

from evermix.cli.options.columns import TIMES
from evermix.cli.options.option import Option
from evermix.cli.options.table import BATCH, EMBED, FIELDS, MODEL_FILE, SKIP_BAD

EDIT = (
    MODEL_FILE,
    Option(
        "action",
        "What to do.",
        type=("rename", "merge", "split", "pin", "unpin", "undo"),
        argument=True,
        saved=False,
    ),
    Option(
        "arguments",
        "rename: an id and a name, or only an id to take its name away. merge: two or more ids, of "
        "which the first stays. split: an id. pin, unpin: ids. A name may stand for an id. undo: "
        "none, it takes back the last of these, but not those before it, and only until rows are "
        "learnt.",
        metavar="ID...",
        optional=True,
        repeated=True,
        argument=True,
        saved=False,
    ),
    Option(
        "source",
        "Split on the rows of this file (default: the rows that the model keeps); repeat it for "
        "several files.",
        flags="--rows",
        metavar="SOURCE",
        repeated=True,
        saved=False,
    ),
    Option(
        "loose",
        "Do not pin what was merged or split: later reviews of a stream may undo it.",
        type=bool,
        default=False,
        saved=False,
    ),
    *FIELDS,
    *TIMES,
    SKIP_BAD,
    EMBED,
    replace(BATCH, default=4096),
)
