"""BM3D, which the denoising of ``denoising`` is compared with.

The package bm3d from PyPI, which is for non-commercial use, holds programs for x86-64 and for Macs.
What it gives is kept in ``results/memoized/bm3d``. Where it cannot run, run this script on a
machine where it can, and bring these files.
"""

import time
from typing import Any

import numpy as np
import typer

from experiments.common import remember, show
from experiments.memoized.bsds import noisy, psnr, test_photographs

__all__ = ["bm3d_of", "main"]


class NoBM3DError(Exception):
    """The package is not installed, or has no program for this machine."""


def bm3d_of(name: str, image: np.ndarray, sd: float) -> dict[str, Any] | None:
    """Return psnr and seconds of BM3D on a noisy photograph (H, W), or None if it cannot run."""

    def compute() -> dict[str, Any]:
        try:
            import bm3d
        except (ImportError, OSError) as error:
            raise NoBM3DError from error
        began = time.perf_counter()
        estimate = bm3d.bm3d(noisy(name, image, sd), sigma_psd=sd)
        return {"psnr": psnr(estimate, image), "seconds": time.perf_counter() - began}

    try:
        return remember(f"memoized/bm3d/{name}", {"name": name, "sd": sd}, compute)
    except NoBM3DError:
        return None


def main(images: int = 30, sd: float = 25.0 / 255.0) -> None:
    """Denoise the first test photographs by BM3D, and keep what comes out."""
    lines = []
    for name, image in test_photographs(images).items():
        run = bm3d_of(name, image, sd)
        if run is None:
            raise SystemExit("bm3d cannot run here. pip install bm3d, on x86-64 or a Mac.")
        lines.append([name, f"{run['psnr']:.2f}", f"{run['seconds']:.1f}"])
        print(*lines[-1], flush=True)
    show("BM3D", ["photograph", "PSNR (dB)", "seconds"], lines)


if __name__ == "__main__":
    typer.run(main)
