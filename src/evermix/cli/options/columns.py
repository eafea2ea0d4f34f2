"""Options on the columns of tables."""

from evermix.cli.options.option import Option

_ROWS = "Rows"  # the panel
COLUMNS = (
    Option(
        "ignore",
        "A column that is no feature; may be repeated.",
        _ROWS,
        metavar="COLUMN",
        repeated=True,
    ),
    Option(
        "missing",
        "What stands for a missing value, such as ? or -999, beside blank cells and NA; may be "
        "repeated.",
        _ROWS,
        metavar="VALUE",
        repeated=True,
    ),
    Option(
        "category",
        "A column whose numbers are names, such as a postcode; may be repeated.",
        _ROWS,
        metavar="COLUMN",
        repeated=True,
    ),
)
