"""Photographs of the Berkeley segmentation data set (BSDS500), and their 8 x 8 patches.

Photographs are grey, with values in [0, 1]. The mean of a patch is taken away, and the rest written
in an orthonormal basis of what is left, 63 cosines: distances and densities are those of the
patches, but no direction is always zero. Along such a direction every cluster would have no
variance but the prior's, which gains the more the larger the cluster is, and so feigns a reason to
merge.
"""

import io
import tarfile
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from numpy.lib.format import open_memmap
from numpy.lib.stride_tricks import sliding_window_view
from PIL import Image
from scipy.fft import dct

from experiments.common import RESULTS, find

__all__ = [
    "SIDE",
    "TRAIN",
    "basis",
    "noisy",
    "patches",
    "photographs",
    "psnr",
    "test_photographs",
    "training_patches",
]

SIDE = 8
TRAIN, TEST = "bsds500/bsds500_train.tar", "bsds500/bsds500_test.tar"


def photographs(path: str) -> Iterator[tuple[str, np.ndarray]]:
    """Yield name and grey values (H, W) of the photographs of a set, in the order of names."""
    with tarfile.open(find(path), "r:") as tar:
        for name in sorted(name for name in tar.getnames() if name.endswith(".jpg")):
            data = tar.extractfile(name)
            assert data is not None
            grey = Image.open(io.BytesIO(data.read())).convert("L")
            yield Path(name).stem, np.asarray(grey, dtype=np.float64) / 255.0


def test_photographs(n: int) -> dict[str, np.ndarray]:
    """Return the first n test photographs (H, W) by name."""
    return dict(pair for pair, _ in zip(photographs(TEST), range(n), strict=False))


def noisy(name: str, image: np.ndarray, sd: float) -> np.ndarray:
    """Return a photograph (H, W) with white noise of this standard deviation, not clipped.

    The name, which is a number, is the seed: everybody gets the same noise.
    """
    return image + sd * np.random.default_rng(int(name)).standard_normal(image.shape)


def psnr(estimate: np.ndarray, image: np.ndarray) -> float:
    """Return the peak signal-to-noise ratio of an estimate (H, W), in decibels."""
    return float(-10.0 * np.log10(np.mean((estimate - image) ** 2)))


def basis() -> np.ndarray:
    """Return an orthonormal basis (63, 64) of patches whose mean is zero."""
    cosines = dct(np.eye(SIDE), axis=0, norm="ortho")
    return np.kron(cosines, cosines)[1:]


def patches(image: np.ndarray) -> np.ndarray:
    """Return all patches of an image (H, W), as a view (H - 7, W - 7, 8, 8)."""
    return sliding_window_view(image, (SIDE, SIDE))


def training_patches(per_image: int, seed: int = 0) -> np.ndarray:
    """Return patches (200 per_image, 63) of the training photographs in random order.

    They are drawn from each without replacement and kept in the folder of results as a file, which
    is mapped, not read. Grey values are whole numbers of 255ths; each gets a random amount of half
    of that either way. Else patches of one grey value, and lines of a few values, would be clusters
    of infinite density.
    """
    file = RESULTS / "memoized" / f"patches-{per_image}-{seed}.npy"
    if not file.is_file():
        file.parent.mkdir(parents=True, exist_ok=True)
        part = file.with_suffix(".part")
        _write_patches(part, per_image, np.random.default_rng(seed))
        part.replace(file)  # an interrupt never leaves half a file
    return np.load(file, mmap_mode="r")


def _write_patches(file: Path, per_image: int, rng: np.random.Generator) -> None:
    images = [image for _, image in photographs(TRAIN)]
    directions = basis()
    shape = (len(images) * per_image, len(directions))
    rows = open_memmap(file, mode="w+", dtype=np.float64, shape=shape)
    places = rng.permutation(shape[0]).reshape(len(images), per_image)
    for image, own in zip(images, places, strict=True):
        views = patches(image + (rng.random(image.shape) - 0.5) / 255.0)
        H, W = views.shape[:2]
        i, j = np.divmod(rng.choice(H * W, per_image, replace=False), W)
        rows[own] = views[i, j].reshape(per_image, -1) @ directions.T
    rows.flush()
