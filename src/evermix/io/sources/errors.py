"""What can be wrong with a source, and what to do about it."""

ONE_TEXT_PER_LINE = "If each line is a text: jq -R '{text: .}' FILE > NEW.jsonl."
IN_ONE_LINE = "Write each object into one line: jq -c . FILE > NEW.jsonl."
ONE_PER_LINE = "Write each object into a line of its own: jq -c '.[]' FILE > NEW.jsonl."


class SourceError(ValueError):
    """A source cannot be read; the message names the file and the line or row."""


class NoRows(SourceError):
    """A file has no rows."""


class WrongKind(SourceError):
    """A file has rows of another kind, or with other columns, than were wanted."""


class OtherWriting(SourceError):
    """A file has numbers that are written otherwise than in rows before."""


class RowError(ValueError):
    """A row is invalid; the source adds the file and the line to the message."""


def too_many(limit: int) -> str:
    """Return what is expected where there are more features than allowed."""
    return (
        f"expected at most {limit:,} features (raise max_features, on the command line "
        "--max-features, if you have memory for that many in each cluster)"
    )
