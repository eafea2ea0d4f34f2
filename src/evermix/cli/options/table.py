"""The options of the commands that are no settings of a component, each declared once."""

from dataclasses import replace

from evermix._limits import MAX_FEATURES, MAX_LINE
from evermix.cli.options import brokers
from evermix.cli.options.coarse import COARSE
from evermix.cli.options.columns import COLUMNS, TIMES
from evermix.cli.options.option import Option

FILES, MODEL, ENGINE = "Output and checkpoints", "Model", "Engine"
ROWS, TEXT = "Rows", "Text"

SOURCE = Option(
    "source",
    "Files (.jsonl, .csv, .tsv, .parquet, .npy, .npz, .svmlight, docword.*.txt; also .gz), "
    "folders, 'patterns*', or - for JSON lines on standard input.",
    metavar="SOURCE",
    repeated=True,
    argument=True,
)
MODEL_FILE = Option(
    "model", "A model or checkpoint file.", metavar="MODEL", argument=True, saved=False
)
OVERWRITE = Option(
    "overwrite", "Replace files that exist already.", FILES, bool, False, saved=False
)
SEED = Option("seed", "Seed of everything random.", MODEL, int, 0, min=0)
QUIET = Option(
    "quiet",
    "No progress and no summary.",
    type=bool,
    default=False,
    flags="--quiet -q",
    saved=False,
)
OUT = Option(
    "out",
    "Answers for rows: .csv, .parquet (not of streams) or JSON lines; - is standard output.",
    FILES,
    default="-",
    file="written",
)
KEEP_FIELDS = Option(
    "keep_fields",
    "Write the fields or columns of each row, as they are in SOURCE, before its answer.",
    FILES,
    bool,
    False,
)
ANSWERS = OUT, KEEP_FIELDS
TRACE = Option("trace", "JSON lines on every batch.", FILES, file="written")
RUN = (  # of the commands that learn
    Option(
        "checkpoint",
        "The model (default: name of SOURCE or its folder, + .evermix, here).",
        FILES,
        metavar="FILE",
        saved=False,
    ),
    Option("resume", "Go on from --checkpoint, with its options.", FILES, bool, False, saved=False),
    OVERWRITE,
)
EVERY = Option(
    "every",
    "Laps or sweeps between two checkpoints (default: every few seconds).",
    FILES,
    int,
    min=1,
    saved=False,
)
SKIP_BAD = Option("skip_bad", "Count bad rows and go on, instead of stopping.", ROWS, bool, False)
FIELDS = (
    Option(
        "kind",
        "What rows are, if the file leaves it open.",
        ROWS,
        ("text", "counts", "vectors", "table"),
    ),
    Option(
        "text_field", "Field or column with a row's text.", ROWS, default="text", metavar="FIELD"
    ),
    Option(
        "vector_field",
        "Field or column with a row's vector. If it is given and JSON lines have texts too, words "
        "of clusters come from the texts.",
        ROWS,
        default="vector",
        metavar="FIELD",
    ),
    Option(
        "id_field",
        "Field or column with a row's id (else its number).",
        ROWS,
        default="id",
        metavar="FIELD",
    ),
    Option(
        "max_features",
        "Refuse rows with more columns, or larger indices, than this.",
        ROWS,
        int,
        MAX_FEATURES,
        min=1,
        saved=False,
    ),
    Option(
        "max_line", "Refuse lines of more bytes than this.", ROWS, int, MAX_LINE, min=1, saved=False
    ),
    Option(
        "encoding",
        "How files of text are encoded, such as cp1252 or latin-1 (default: UTF-8, or what a file "
        "begins with says).",
        ROWS,
        metavar="NAME",
    ),
    *COLUMNS,
)
MAX_WAIT = Option(
    "max_wait",
    "Answer rows of a pipe, or of files that are followed, after so many seconds, also if a batch "
    "is not full.",
    ROWS,
    float,
    1.0,
    min=0.01,
    metavar="SECONDS",
    saved=False,
)
FOLLOW = Option(
    "follow",
    "Wait for more JSON lines and files, as tail -F does; --no-follow ends that at --resume.",
    ROWS,
    bool,
    False,
    "--follow/--no-follow",
)
WEBHOOK = Option(
    "webhook",
    "Address to which every new cluster is posted, once it is confirmed.",
    FILES,
    metavar="URL",
    saved=False,
)
BATCH = Option("batch", "Rows in a batch.", ROWS, int, 1000, min=1)
VOCABULARY = Option("vocabulary", "Count at most so many words.", TEXT, int, 20_000, min=1)
HASH = Option("hash", "Hash words into so many columns instead.", TEXT, int, min=1)
STOP_WORDS = Option(
    "stop_words",
    "Words that are not counted: english (scikit-learn's list; it has bill, fire and system too), "
    "function (the, of, is and the like), none, or a file that holds them.",
    TEXT,
    default="english",
    metavar="NAME|FILE",
)
EMBED = Option(
    "embed",
    "Cluster texts by vectors: a function from a list of texts to an array, of a module in this "
    "folder or installed. --resume must name it again.",
    TEXT,
    metavar="MODULE:FUNCTION",
)
MAX_CLUSTERS = Option(
    "max_clusters",
    "A cap on the clusters, and so on memory and time for a row.",
    MODEL,
    int,
    min=1,
)

STREAM = (
    replace(SOURCE, optional=True),
    Option(
        "model",
        "Begin with this model of fit, stream or Mixture.save, whose file stays as it is.",
        FILES,
        saved=False,
        file="read",
    ),
    *ANSWERS,
    replace(
        RUN[0], help="The model (default: name of --out + .evermix; none for standard output)."
    ),
    *RUN[1:],
    replace(EVERY, help="Rows between two checkpoints.", default=10_000),
    TRACE,
    MAX_CLUSTERS,
    SEED,
    Option(
        "half_life",
        "Forget: rows count for half after N rows, or 30m, 12h, 2w. Reviews are of texts only.",
        ENGINE,
        metavar="N|DURATION",
    ),
    BATCH,
    MAX_WAIT,
    Option(
        "live",
        "Show clusters as they are learnt, on a page at this port; 0 takes a free one.",
        FILES,
        int,
        min=0,
        max=65535,
        metavar="PORT",
        saved=False,
    ),
    WEBHOOK,
    FOLLOW,
    Option(
        "complete",
        "The source is complete: a last line without a newline is a row. Otherwise it may still "
        "be being written, and waits for --resume (but of JSON lines if it is a whole object).",
        ROWS,
        bool,
        False,
        saved=False,
    ),
    Option(
        "stdin",
        "What standard input holds with --resume: the whole source again, replayed from its start, "
        "or a pipe that continues with rows that were not read yet.",
        ROWS,
        ("replayed", "continues"),
        saved=False,
    ),
    Option(
        "limit",
        "Stop after row N.",
        ROWS,
        int,
        min=1,
        metavar="N",
        saved=False,
    ),
    *brokers.OPTIONS,
    *FIELDS,
    *TIMES,
    replace(SKIP_BAD, saved=False),
    replace(
        VOCABULARY,
        help="Count at most so many words at a time; if there are more, those that were not seen "
        "for longest make room.",
        default=2**16,
    ),
    Option(
        "warmup",
        "Texts to learn the first vocabulary on; it grows later. With --follow or brokers: 100.",
        TEXT,
        int,
        2000,
        min=1,
    ),
    HASH,
    STOP_WORDS,
    EMBED,
    QUIET,
)
FIT = (
    SOURCE,
    *ANSWERS,
    *RUN,
    EVERY,
    replace(TRACE, help="JSON lines on every lap."),
    MAX_CLUSTERS,
    SEED,
    Option(
        "dask",
        "Learn on a Dask cluster (ep and the vb engines): tcp://host:8786 of its scheduler, "
        "or local for this machine's cores. Workers read .npy, .parquet and several files "
        "themselves, and must see them under the same paths; other rows are sent to them.",
        ENGINE,
        metavar="ADDRESS",
        saved=False,
    ),
    *FIELDS,
    *TIMES,
    SKIP_BAD,
    VOCABULARY,
    HASH,
    STOP_WORDS,
    EMBED,
    QUIET,
)
_ROWS_OF = *FIELDS, *TIMES, SKIP_BAD, EMBED
PREDICT = (MODEL_FILE, SOURCE, *ANSWERS, OVERWRITE, COARSE, BATCH, *_ROWS_OF, QUIET)
AS_JSON = Option(
    "as_json", "Print JSON instead of tables.", type=bool, default=False, flags="--json"
)
EXPLAIN = (
    MODEL_FILE,
    SOURCE,
    replace(AS_JSON, help="Write one JSON line per row, with all contributions."),
    Option(
        "against",
        "Compare with this cluster, by its id or name, -1 for a new one (default: the second most "
        "probable, or one that is like its cluster if that is below 1 %, or a new one if the row "
        "looks new).",
        metavar="ID",
    ),
    Option("limit", "Explain the first N rows.", ROWS, int, 10, min=1, metavar="N"),
    Option(
        "ids",
        "Explain the rows of this id, as predict writes it; may be repeated.",
        ROWS,
        flags="--id",
        metavar="ID",
        repeated=True,
    ),
    *_ROWS_OF,
)
INFO = (
    MODEL_FILE,
    AS_JSON,
    Option(
        "top",
        "Show the largest N clusters or topics (default: 20 in tables, all in JSON).",
        type=int,
        min=0,
        metavar="N",
    ),
    Option(
        "since",
        "Show only the clusters that began at this date, or number, or later, the newest first; of "
        "streams with --time-field.",
        metavar="TIME",
    ),
    Option(
        "everything", "Show all of them, and all settings.", type=bool, default=False, flags="--all"
    ),
    COARSE,
)
PAGE = (
    MODEL_FILE,
    Option("out", "The report (default: MODEL with .html); - is standard output.", file="written"),
    OVERWRITE,
    Option("title", "Headline."),
    Option(
        "source",
        "Rows in their order, for shares and examples (default: the rows that the model keeps); "
        "repeat it for several files.",
        flags="--rows",
        metavar="SOURCE",
        repeated=True,
    ),
    Option("trace", "What --trace wrote, for the log-likelihood.", metavar="FILE", file="read"),
    *_ROWS_OF,
    replace(BATCH, default=4096),
)
DEMO = (
    Option("out_dir", "Where the model, the picture and the report go.", default="demo_output"),
    OVERWRITE,
    SEED,
    QUIET,
)
