"""The command line: ``evermix demo | stream | fit | topics | predict | info``."""

from evermix.cli.app import app

__all__ = ["app"]
