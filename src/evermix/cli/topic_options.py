"""The options that ``evermix topics`` alone has, or that mean something else there."""

from typing import Annotated

import typer

from evermix.cli.topic_settings import PeriodName, SamplerName, TopicPriorName

__all__ = [
    "Alpha",
    "BurnIn",
    "Chains",
    "Curves",
    "Draws",
    "Every",
    "Figure",
    "HeldOut",
    "Out",
    "Period",
    "Prior",
    "Regions",
    "Sampler",
    "Share",
    "TopWords",
    "Trace",
    "Window",
]

_FILES, _MODEL, _SAMPLING = "Output and checkpoints", "Model", "Sampling"
_TELLING, _ROWS = "What is told", "Rows"

Out = Annotated[
    str,
    typer.Option(
        help="Where the JSON goes; - is standard output.", rich_help_panel=_FILES, metavar="FILE"
    ),
]
Figure = Annotated[
    str | None,
    typer.Option(
        help="Picture of all topics: shares over time, births and deaths, top words.",
        rich_help_panel=_FILES,
        metavar="FILE",
        show_default=False,
    ),
]
Curves = Annotated[
    str | None,
    typer.Option(
        help="Picture of single topics: share and predicted weight over time.",
        rich_help_panel=_FILES,
        metavar="FILE",
        show_default=False,
    ),
]
Every = Annotated[
    int | None,
    typer.Option(
        help="Sweeps between two checkpoints (default: every few seconds).",
        rich_help_panel=_FILES,
        min=1,
        show_default=False,
    ),
]
Trace = Annotated[
    str | None,
    typer.Option(
        help="JSON lines on what each sweep brought.",
        rich_help_panel=_FILES,
        metavar="FILE",
        show_default=False,
    ),
]

Prior = Annotated[
    TopicPriorName,
    typer.Option(
        help="How times share topics: hmngg, hmngp mix regions, smoothly; in htngg, htngp topics "
        "can die and come back; in hsngg a time is like its neighbours; hngg and hdp know no "
        "times; mngg and tngg have no level of documents.",
        rich_help_panel=_MODEL,
    ),
]
Alpha = Annotated[
    float | None,
    typer.Option(
        help="Of the words of a topic: less, fewer words in each (default 0.3).",
        rich_help_panel=_MODEL,
        show_default=False,
    ),
]
Regions = Annotated[
    int | None,
    typer.Option(
        help="Regions of hmngg, hmngp, htngg, htngp, mngg, tngg (default: one for each time; "
        "mngg, tngg 20).",
        rich_help_panel=_MODEL,
        min=1,
        show_default=False,
    ),
]
Window = Annotated[
    int | None,
    typer.Option(
        help="Of hsngg: how many times before and after a time are like it (default 1).",
        rich_help_panel=_MODEL,
        min=0,
        show_default=False,
    ),
]

Sampler = Annotated[
    SamplerName | None,
    typer.Option(
        help="h1 (default) seats words at tables; h2 draws a topic and whether a table opens.",
        rich_help_panel=_SAMPLING,
        show_default=False,
    ),
]
BurnIn = Annotated[
    int, typer.Option(help="First sweeps to forget.", rich_help_panel=_SAMPLING, min=0)
]
Draws = Annotated[
    int,
    typer.Option(
        help="Sweeps to keep; with --resume there may be more.", rich_help_panel=_SAMPLING, min=1
    ),
]
Chains = Annotated[int, typer.Option(help="How many.", rich_help_panel=_SAMPLING, min=1)]

HeldOut = Annotated[
    float,
    typer.Option(
        help="Hold out this share of the documents of each time, and tell their perplexity.",
        rich_help_panel=_TELLING,
        min=0.0,
        max=0.9,
    ),
]
TopWords = Annotated[
    int, typer.Option(help="Words to name of each topic.", rich_help_panel=_TELLING, min=1)
]
Share = Annotated[
    float,
    typer.Option(
        help="A topic is there while it has at least this share of the words of a time.",
        rich_help_panel=_TELLING,
        min=0.0,
        max=1.0,
    ),
]

Period = Annotated[
    PeriodName | None,
    typer.Option(
        help="What dates are turned into (default year); numbers and labels are times as they are.",
        rich_help_panel=_ROWS,
        show_default=False,
    ),
]
