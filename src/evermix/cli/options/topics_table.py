"""The options of ``evermix topics`` that are no settings of a prior or a sampler."""

from dataclasses import replace

from evermix._limits import MIN_DOCUMENTS
from evermix.cli.options.columns import TIMES
from evermix.cli.options.option import Option
from evermix.cli.options.table import (
    EVERY,
    FIELDS,
    FILES,
    FOLLOW,
    HASH,
    MODEL,
    OUT,
    QUIET,
    ROWS,
    RUN,
    SEED,
    SKIP_BAD,
    SOURCE,
    STOP_WORDS,
    TEXT,
    TRACE,
    VOCABULARY,
)

SAMPLING, REPORT = "Sampling", "Report"
SHARE = 0.01  # of the words of a time, from which on a topic is present

TOPICS = (
    SOURCE,
    *TIMES,
    replace(OUT, help="Where the JSON goes; - is standard output, where terminals get cards."),
    Option(
        "figure",
        "Picture of topics that changed, births and deaths (default: beside --checkpoint).",
        FILES,
        file="written",
    ),
    Option(
        "curves",
        "Picture of single topics: share and predicted weight over time.",
        FILES,
        file="written",
    ),
    Option(
        "documents",
        "JSON lines on documents: topics, and their shares of the words.",
        FILES,
        file="written",
    ),
    *RUN,
    replace(
        FOLLOW,
        help="Wait for documents that are added later, in files or a folder, and learn them time "
        "by time, once one of another time comes.",
        flags="",
    ),
    replace(EVERY, help="Sweeps between two checkpoints (default: every few seconds)."),
    replace(TRACE, help="JSON lines on every sweep."),
    Option(
        "alpha",
        "With more (0.5, 1) topics are fewer and broader, with less narrower.",
        MODEL,
        float,
        0.1,
    ),
    SEED,
    Option("burn_in", "First sweeps to leave out.", SAMPLING, int, 300, min=0),
    Option("draws", "Sweeps to keep; --resume may ask for more.", SAMPLING, int, 100, min=1),
    Option("chains", "How many.", SAMPLING, int, 1, min=1),
    Option(
        "tol", "End the burn-in when chains rise by less nats a word.", SAMPLING, float, min=0.0
    ),
    Option("patience", "Sweeps over which that is measured.", SAMPLING, int, 50, min=1),
    Option(
        "held_out",
        "Hold out this share of the documents of each time, and report their perplexity.",
        REPORT,
        float,
        0.0,
        min=0.0,
        max=0.9,
    ),
    Option("top_words", "Words to name of each topic.", REPORT, int, 10, min=1),
    Option(
        "share",
        "A topic is present while it has at least this share of the words of a time.",
        REPORT,
        float,
        SHARE,
        min=0.0,
        max=1.0,
    ),
    Option(
        "min_documents",
        "Times with fewer documents are shown, but tell of no births and deaths.",
        REPORT,
        int,
        MIN_DOCUMENTS,
        min=1,
    ),
    Option(
        "period",
        "What dates are turned into (default year; of fewer than three years month, or day).",
        ROWS,
        ("year", "month", "day"),
    ),
    *FIELDS,
    SKIP_BAD,
    VOCABULARY,
    STOP_WORDS,
    Option("min_df", "Leave out words that are in fewer documents.", TEXT, int, 2, min=1),
    HASH,
    QUIET,
)
