"""The option of commands that show fewer, coarser clusters or topics."""

from evermix.cli.options.option import Option

COARSE = Option(
    "coarse",
    "Join the clusters, or topics, into N coarse ones, those first that are best described as one; "
    "the model stays as it is.",
    type=int,
    min=1,
    metavar="N",
)
