"""Where the pictures of examples go: the current folder, or that in EVERMIX_PICTURES."""

import os
from pathlib import Path
from typing import Any

import numpy as np

FOLDER = Path(os.environ.get("EVERMIX_PICTURES", "."))


def save(axes: Any, name: str) -> None:
    """Save the figure of some axes as a small PNG."""
    np.ravel(axes)[0].figure.savefig(FOLDER / f"{name}.png", dpi=72)
