"""The command line: ``evermix demo | stream | predict | info``."""

from evermix.cli.app import app

__all__ = ["app"]
