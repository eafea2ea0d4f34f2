"""Fixtures of the command line."""

import os

import pytest


@pytest.fixture(scope="session")
def children():
    """Runs of the command line in processes of their own, which can be killed."""
    if os.name != "posix":
        pytest.skip("needs POSIX signals")
    import children

    return children
