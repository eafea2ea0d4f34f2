"""``python -m evermix`` is the command line."""

from evermix.cli import app

if __name__ == "__main__":
    app(prog_name="evermix")
