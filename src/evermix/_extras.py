"""Optional packages: what to install for them."""


def install(extra: str) -> str:
    """Return the commands that install an extra of evermix, from an index and from a clone.

    Examples
    --------
    >>> install("plot")
    "pip install 'evermix[plot]' (from a clone: pip install '.[plot]')"
    """
    return f"pip install 'evermix[{extra}]' (from a clone: pip install '.[{extra}]')"
