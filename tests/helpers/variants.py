"""Which variants of a law are fast tests: a few of each kind. All others run in `make test-all`."""

from collections.abc import Collection, Iterable
from typing import Any

import pytest


def slow_but(fast: Collection[Any], variants: Iterable[Any]) -> list[Any]:
    """Return the variants for ``pytest.mark.parametrize``; all but the fast ones are slow tests."""
    return [v if v in fast else pytest.param(v, marks=pytest.mark.slow) for v in variants]
