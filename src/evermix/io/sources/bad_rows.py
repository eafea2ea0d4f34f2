"""What can be done about a row that cannot be read."""

from evermix.io.sources.encodings import NOT_UTF8
from evermix.io.sources.errors import SourceError

SKIP_BAD = "Correct the row, or leave out bad rows with --skip-bad."


def of_bad_row(error: SourceError, before: str = "") -> SourceError:
    """Return the error on a row with ``before``, and what can be done on the command line.

    An error on an encoding has said that: all rows with such letters would be left out.
    """
    remedy = "" if NOT_UTF8 in str(error) else SKIP_BAD
    return SourceError(" ".join(filter(None, [str(error), before, remedy])))
