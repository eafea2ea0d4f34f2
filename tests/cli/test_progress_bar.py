"""Progress at a terminal."""

import io

import pytest
from rich.console import Console

from evermix.cli import console


@pytest.mark.parametrize(("total", "shown"), [(None, " 2000 "), (4000, "2000/4000")])
def test_a_rate_is_shown_as_soon_as_rows_were_done(monkeypatch, total, shown):
    """And no question mark where nobody knows how many there are."""
    written = io.StringIO()
    terminal = Console(file=written, force_terminal=True, width=120)
    monkeypatch.setattr(console, "Console", lambda **_: terminal)
    with console.progress_bar("streaming", total, quiet=False) as progress:
        progress.update(2000, 3)
    text = written.getvalue()
    assert "rows/s" in text and " 0 rows/s" not in text and "?" not in text.replace("[?", "")
    assert shown.strip() in text.replace(",", "")
