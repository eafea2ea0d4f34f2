"""What MkDocs does to pages of docs/ besides its plugins."""

import re
from typing import Any

ROLE = re.compile(r":(?:class|meth|func|attr|mod|data):(?:(?=<code>)|`([^`]*)`)")


def on_page_content(html: str, **_: Any) -> str:
    """Leave out the names of roles, such as ``:class:``, that docstrings have."""
    return ROLE.sub(r"\1", html)
