"""Where the pictures of examples go: the folder in EVERMIX_PICTURES, or docs/images."""

import os
from pathlib import Path
from typing import Any

import numpy as np

FOLDER = Path(os.environ.get("EVERMIX_PICTURES", Path(__file__).parents[1] / "docs" / "images"))


def save(axes: Any, name: str) -> None:
    """Save the figure of some axes as a small PNG."""
    np.ravel(axes)[0].figure.savefig(FOLDER / f"{name}.png", dpi=72)
