"""The options that ``evermix topics`` alone has, or that mean something else there."""

from typing import Annotated

from evermix.cli.options.option import FILES, MODEL, ROWS, option, optional
from evermix.cli.options.topic_settings import PeriodName, SamplerName, TopicPriorName

_SAMPLING, _TELLING = "Sampling", "What is told"

Out = Annotated[
    str, option("Where the JSON goes; - is standard output.", panel=FILES, metavar="FILE")
]
Figure = Annotated[
    str | None,
    optional(
        "Picture of all topics: shares over time, births and deaths, top words.",
        panel=FILES,
        metavar="FILE",
    ),
]
Curves = Annotated[
    str | None,
    optional(
        "Picture of single topics: share and predicted weight over time.",
        panel=FILES,
        metavar="FILE",
    ),
]
Every = Annotated[
    int | None,
    optional("Sweeps between two checkpoints (default: every few seconds).", panel=FILES, min=1),
]
Trace = Annotated[
    str | None, optional("JSON lines on what each sweep brought.", panel=FILES, metavar="FILE")
]

Prior = Annotated[
    TopicPriorName,
    option(
        "How times share topics: hmngg, hmngp mix regions, smoothly; in htngg, htngp topics "
        "can die and come back; in hsngg a time is like its neighbours; hngg and hdp know no "
        "times; mngg and tngg have no level of documents.",
        panel=MODEL,
    ),
]
Alpha = Annotated[
    float | None,
    optional("Of the words of a topic: less, fewer words in each (default 0.3).", panel=MODEL),
]
Regions = Annotated[
    int | None,
    optional(
        "Regions of hmngg, hmngp, htngg, htngp, mngg, tngg (default: one for each time; "
        "mngg, tngg 20).",
        panel=MODEL,
        min=1,
    ),
]
Window = Annotated[
    int | None,
    optional(
        "Of hsngg: how many times before and after a time are like it (default 1).",
        panel=MODEL,
        min=0,
    ),
]

Sampler = Annotated[
    SamplerName | None,
    optional(
        "h1 (default) seats words at tables; h2 draws a topic and whether a table opens.",
        panel=_SAMPLING,
    ),
]
BurnIn = Annotated[int, option("First sweeps to forget.", panel=_SAMPLING, min=0)]
Draws = Annotated[
    int, option("Sweeps to keep; with --resume there may be more.", panel=_SAMPLING, min=1)
]
Chains = Annotated[int, option("How many.", panel=_SAMPLING, min=1)]

HeldOut = Annotated[
    float,
    option(
        "Hold out this share of the documents of each time, and tell their perplexity.",
        panel=_TELLING,
        min=0.0,
        max=0.9,
    ),
]
TopWords = Annotated[int, option("Words to name of each topic.", panel=_TELLING, min=1)]
Share = Annotated[
    float,
    option(
        "A topic is there while it has at least this share of the words of a time.",
        panel=_TELLING,
        min=0.0,
        max=1.0,
    ),
]

Period = Annotated[
    PeriodName | None,
    optional(
        "What dates are turned into (default year); numbers and labels are times as they are.",
        panel=ROWS,
    ),
]
