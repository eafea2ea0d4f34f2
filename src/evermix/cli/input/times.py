"""The times of a stream that forgets."""

import numpy as np

from evermix.cli.input.texts import in_seconds
from evermix.estimators.mixture.calendar import shown_time
from evermix.forgetting import Exponential
from evermix.io.sources import Chunk, Source


def check_times(source: Source, forgetting: Exponential | None) -> None:
    """Raise ValueError if a half-life is of another kind than the times of rows."""
    if forgetting is None or source.dated is None or source.dated == forgetting.dated:
        return
    if source.dated:
        raise ValueError(
            "the times of the rows are dates, so --half-life must be a duration such as 12h or 7d, "
            f"got {forgetting.half_life:g}. Leave out --time-field to count rows."
        )
    raise ValueError(
        "the times of the rows are numbers, so --half-life must be a number in their unit, got a "
        "duration."
    )


def check_order(source: Source, chunk: Chunk, since: float | None) -> None:
    """Raise ValueError that names a row which goes back in time, if there is one.

    ``since`` is the time of the row before the first.
    """
    times = in_seconds(chunk.times)
    before = np.append(times[0] if since is None else since, times[:-1])
    back = np.flatnonzero(times < before)
    if len(back):
        row, dated = int(back[0]), bool(source.dated)
        raise ValueError(
            f"{source.place(int(chunk.rows[row]))}: its time, {shown_time(times[row], dated)}, is "
            f"before that of the row before it, {shown_time(before[row], dated)}, and a stream "
            "that forgets must not go back in time. Sort the rows by time and start again with "
            "--overwrite, or take this one out and go on."
        )
