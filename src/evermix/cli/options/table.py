"""The options of the commands, declared once."""

from pathlib import Path
from typing import Annotated

import typer

from evermix.cli.options.option import FILES, MODEL, ROWS, option, optional
from evermix.cli.options.settings import (
    EngineName,
    FamilyName,
    KindName,
    PriorName,
    StreamEngineName,
)

_ENGINE, _TEXT = "Engine", "Text"
_FILTERS, _SAMPLERS = "Engines ep and adf", "Engines gibbs and slice"
_VARIATIONAL = "Engines memoizedvb, fullvb and stochasticvb"

Source = Annotated[
    list[str],
    typer.Argument(
        metavar="SOURCE",
        help="A .jsonl, .csv, .parquet, .npy, .npz, .svmlight or docword.*.txt file (text "
        "formats also .gz), or - for JSON lines on standard input. A folder, a 'pattern*', or "
        "several files are read one after another.",
        show_default=False,
    ),
]

Out = Annotated[
    str, option("Where the JSON lines go; - is standard output.", panel=FILES, metavar="FILE")
]
Checkpoint = Annotated[
    Path | None,
    optional(
        "Checkpoint (default: name of SOURCE, of several that of their folder, + .evermix, here).",
        panel=FILES,
        metavar="FILE",
    ),
]
Resume = Annotated[
    bool, option("Go on from the checkpoint, with its options.", "--resume", panel=FILES)
]
Overwrite = Annotated[bool, option("Replace files that exist already.", "--overwrite", panel=FILES)]
Every = Annotated[int, option("Rows between two checkpoints.", panel=FILES, min=1)]
Trace = Annotated[
    str | None, optional("JSON lines on what each batch brought.", panel=FILES, metavar="FILE")
]
EveryLaps = Annotated[
    int | None,
    optional(
        "Laps or sweeps between two checkpoints (default: every few seconds).",
        panel=FILES,
        min=1,
    ),
]
LapTrace = Annotated[
    str | None, optional("JSON lines on what each lap brought.", panel=FILES, metavar="FILE")
]

Family = Annotated[FamilyName, option("What a cluster looks like.", panel=MODEL)]
Alpha = Annotated[float | None, optional("Of multinomial (default 0.1).", panel=MODEL)]
Prior = Annotated[
    PriorName | None,
    optional(
        "How many clusters, and how big (default nggp; dp for the vb engines, rcrp and dpmeans, "
        "which take no nggp, and for sugs and onlinecrp).",
        panel=MODEL,
    ),
]
A = Annotated[float | None, optional("Of nggp: more, more clusters (default 1).", panel=MODEL)]
Sigma = Annotated[
    float | None, optional("Of nggp: more, more small clusters (default 0.5).", panel=MODEL)
]
Tau = Annotated[float | None, optional("Of nggp (default 1).", panel=MODEL)]
Concentration = Annotated[float | None, optional("Of dp, pitman-yor (default 1).", panel=MODEL)]
Discount = Annotated[float | None, optional("Of pitman-yor (default 0.25).", panel=MODEL)]
Birth = Annotated[
    float | None,
    optional(
        "Of adf: a row more probably new than this opens a cluster (default 0.05).", panel=_ENGINE
    ),
]
Merge = Annotated[
    bool | None,
    optional(
        "Fuse clusters that turn out to be one (default, but of sugs and onlinecrp).",
        "--merge/--no-merge",
        panel=_ENGINE,
    ),
]
MaxClusters = Annotated[int | None, optional("A cap on the clusters.", panel=MODEL, min=1)]
Seed = Annotated[int, option("Seed of everything random.", panel=MODEL, min=0)]

Engine = Annotated[
    EngineName,
    option(
        "How: ep revisits every row until nothing changes; gibbs and slice draw from the exact "
        "posterior; memoizedvb, fullvb and stochasticvb raise a lower bound on the evidence "
        "(ELBO); adf, rcrp, sugs and onlinecrp pass once; dpmeans is k-means that opens clusters.",
        panel=_ENGINE,
    ),
]
StreamEngine = Annotated[
    StreamEngineName,
    option(
        "How: adf shares a row among clusters; rcrp too, and believes in a number of clusters; "
        "sugs gives it to the best one, onlinecrp draws one; dpmeans is k-means that opens "
        "clusters.",
        panel=_ENGINE,
    ),
]
HalfLife = Annotated[
    str | None,
    optional(
        "Forget: a row counts for half after so many rows (or units of numbers in --time-field), "
        "or after 45s, 30m, 12h, 7d or 2w by the dates in --time-field.",
        panel=_ENGINE,
        metavar="N|DURATION",
    ),
]
Dask = Annotated[
    str | None,
    optional(
        "Learn on a Dask cluster (ep and the vb engines): tcp://host:8786 of its scheduler, or "
        "local for this machine's cores. Workers read .npy, .parquet and several files themselves, "
        "and must see them under the same paths; other rows are sent to them.",
        panel=_ENGINE,
        metavar="ADDRESS",
    ),
]
Laps = Annotated[
    int | None,
    optional(
        "Of ep, the vb engines and dpmeans: at most (default 50; fullvb 100, stochasticvb 20, "
        "dpmeans 1).",
        panel=_ENGINE,
        min=1,
    ),
]
Tol = Annotated[
    float | None,
    optional(
        "Settled when no assignment moves more (ep, default 0.001), or when a lap raises the ELBO "
        "by no more nats (memoizedvb, fullvb, default 0.01).",
        panel=_ENGINE,
    ),
]
Shuffle = Annotated[
    bool | None, optional("Of ep: a new order in every lap.", "--shuffle", panel=_FILTERS)
]
Validation = Annotated[
    float | None,
    optional("Of ep: hold out this share, and stop when it gets no better.", panel=_FILTERS),
]
EngineBirth = Annotated[
    float | None,
    optional(
        "A row more probably new than this opens a cluster (default 0.1; adf 0.05).",
        panel=_FILTERS,
    ),
]
Sweeps = Annotated[int | None, optional("In each chain (default 200).", panel=_SAMPLERS, min=1)]
BurnIn = Annotated[int | None, optional("First sweeps to forget (default half).", panel=_SAMPLERS)]
Chains = Annotated[int | None, optional("How many (default 1).", panel=_SAMPLERS, min=1)]
Thin = Annotated[
    int | None, optional("Keep every N-th sweep.", panel=_SAMPLERS, min=1, metavar="N")
]
Augmented = Annotated[
    bool | None, optional("Of gibbs: carry the auxiliary U along.", "--augmented", panel=_SAMPLERS)
]
Hybrid = Annotated[
    bool | None, optional("Of slice: move rows one after another.", "--hybrid", panel=_SAMPLERS)
]
Learn = Annotated[
    list[str] | None,
    optional(
        "A hyperparameter to learn, such as sigma or sigma=beta:2,2; repeat for more.",
        panel=_SAMPLERS,
        metavar="NAME[=LAW]",
    ),
]
Truncation = Annotated[
    int | None, optional("Clusters to begin with (default 25).", panel=_VARIATIONAL, min=1)
]
Start = Annotated[
    str | None,
    optional(
        "Where they begin: one cluster (default of memoizedvb), kmeans++ (of the others), random, "
        "or those of a model file.",
        panel=_VARIATIONAL,
        metavar="WAY|FILE",
    ),
]
Top = Annotated[
    int | None,
    optional("Share a row among at most so many clusters.", panel=_VARIATIONAL, min=1),
]
BatchSize = Annotated[
    int | None,
    optional(
        "Of memoizedvb, stochasticvb: rows (default 1000); of ep (4096).", panel=_VARIATIONAL, min=1
    ),
]
Births = Annotated[
    bool | None,
    optional(
        "Of memoizedvb: split clusters where that raises the ELBO (default).",
        "--births/--no-births",
        panel=_VARIATIONAL,
    ),
]
Merges = Annotated[
    bool | None,
    optional(
        "Of memoizedvb: fuse clusters where that raises it (default).",
        "--merges/--no-merges",
        panel=_VARIATIONAL,
    ),
]
Deletes = Annotated[
    bool | None,
    optional(
        "Of memoizedvb: dissolve clusters where that raises it (default).",
        "--deletes/--no-deletes",
        panel=_VARIATIONAL,
    ),
]
Stride = Annotated[
    int | None,
    optional(
        "Of memoizedvb, ep: visit N batches from the same state (default: as many as workers).",
        panel=_VARIATIONAL,
        min=1,
        metavar="N",
    ),
]
Delay = Annotated[
    float | None,
    optional(
        "Of stochasticvb: batch t has the rate (t + delay)^-kappa (default 1).",
        panel=_VARIATIONAL,
    ),
]
Kappa = Annotated[
    float | None, optional("Of stochasticvb, in [0.5, 1] (default 0.6).", panel=_VARIATIONAL)
]
Spill = Annotated[
    str | None,
    optional(
        "Of memoizedvb: a folder for what is else kept of every batch in memory.",
        panel=_VARIATIONAL,
        metavar="FOLDER",
    ),
]

Penalty = Annotated[
    float | None,
    optional(
        "Of dpmeans: squared distance above which a row opens a cluster (default: from the model).",
        panel=_ENGINE,
    ),
]

Batch = Annotated[int, option("Rows in a batch.", panel=ROWS, min=1)]
Limit = Annotated[
    int | None, optional("Stop after the batch that holds row N.", panel=ROWS, min=1, metavar="N")
]
Kind = Annotated[
    KindName | None, optional("What rows are, if the file leaves it open.", panel=ROWS)
]
TextField = Annotated[str, option("Field or column with a row's text.", panel=ROWS)]
VectorField = Annotated[str, option("Field or column with a row's vector.", panel=ROWS)]
IdField = Annotated[
    str, option("Field or column with a row's id; else its number is taken.", panel=ROWS)
]
TimeField = Annotated[
    str | None,
    optional(
        "Field or column with a row's time, which is no feature: a number, or a date in ISO 8601.",
        panel=ROWS,
    ),
]
SkipBad = Annotated[
    bool, option("Count bad rows and go on, instead of stopping.", "--skip-bad", panel=ROWS)
]

Vocabulary = Annotated[int, option("Count at most so many words.", panel=_TEXT, min=1)]
Warmup = Annotated[int, option("Texts to learn the vocabulary on.", panel=_TEXT, min=1)]
Hash = Annotated[
    int | None,
    optional("Hash words into so many columns instead.", "--hash", panel=_TEXT, min=1),
]

Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="No progress and no summary.")]
