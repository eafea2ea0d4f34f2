"""Options on the columns of tables, and on the times of rows."""

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
        "What stands for a missing value, such as ? or -999, beside blanks and NA; may be "
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
TIMES = (
    Option(
        "time_field",
        "Field or column with a row's time: a number, or a date such as 2024-05-31 or 31.5.2024.",
        _ROWS,
        metavar="FIELD",
    ),
    Option(
        "date_order",
        "What comes first in dates such as 6/4/2025 (default: as the first row shows in which a "
        "number is above 12).",
        _ROWS,
        ("day", "month"),
    ),
)
