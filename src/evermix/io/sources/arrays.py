"""NumPy and SciPy files: dense rows in ``.npy``, sparse rows in ``.npz``."""

import zipfile
from collections.abc import Iterator
from hashlib import blake2b
from typing import Any

import numpy as np
from scipy import sparse

from evermix.families.choosing import are_counts, is_binary
from evermix.io.similar_names import did_you_mean
from evermix.io.sources.blocks import Block, BlockSource
from evermix.io.sources.chunk import Mark
from evermix.io.sources.lines import changed
from evermix.io.sources.options import Kind

_ROWS = 4096  # to digest at a time
_LOOK = 1000  # rows that tell whether whole numbers are counts


class DenseArray(BlockSource):
    """A two-dimensional ``.npy`` file, mapped into memory; a row's id is its index from 0.

    Whole numbers (an integer dtype) that are plainly counts of words are counts, unless the user
    names another kind; all others are vectors.
    """

    suffixes = (".npy",)
    splittable = True
    _digested: Any = None  # number of rows, and a hash of them

    def survey(self) -> None:
        """Find out what the file holds."""
        X = self.mapped()
        if X.ndim != 2 or X.dtype.kind not in "biuf":
            raise self.error(
                "expected a two-dimensional array of numbers (rows, features), "
                f"got shape {X.shape} and dtype {X.dtype}."
            )
        some = np.asarray(X[:_LOOK])
        counts = X.dtype.kind in "iu" and are_counts(some) and not is_binary(some)
        kinds: tuple[Kind, ...] = ("counts", "vectors") if counts else ("vectors", "counts")
        self.kind = self.choose_kind(*kinds)
        self.set_shape(*X.shape)

    def mapped(self) -> Any:
        """Return all rows (N, D) as a memory map."""
        try:
            return np.load(self.path, mmap_mode="r", allow_pickle=False)
        except FileNotFoundError as error:
            raise self.error(f"there is no such file.{did_you_mean(self.path)}") from error
        except (OSError, EOFError, ValueError) as error:
            raise self.error(f"expected a complete .npy file of numbers ({error}).") from error

    def blocks(self, start: int, size: int) -> Iterator[Block]:
        """Yield the rows from ``start`` on, ``size`` at a time."""
        X = self.mapped()
        for first in range(start, self.n_rows, size):
            yield Block(first, np.array(X[first : first + size]))

    def mark(self, offset: int, read: Any) -> Mark:
        """Return what a checkpoint notes of this file: a digest of the rows that were read."""
        del read
        return self._mark(self.mapped(), offset)

    def recall(self, mark: Mark) -> None:
        """Check that the file begins with the rows that it had when it was marked."""
        if mark.digest is not None:
            X = self.mapped()
            rows = mark.size // (X.dtype.itemsize * X.shape[1])
            if rows > len(X) or self._mark(X, rows).digest != mark.digest:
                raise changed(self.path)

    def _mark(self, X: Any, rows: int) -> Mark:
        if self._digested is None or self._digested[0] > rows:
            self._digested = 0, blake2b(X.dtype.str.encode(), digest_size=32)
        done, digest = self._digested
        for first in range(done, rows, _ROWS):
            digest.update(np.ascontiguousarray(X[first : min(first + _ROWS, rows)]))
        self._digested = rows, digest
        size = rows * X.dtype.itemsize * X.shape[1]
        return Mark(self.path, size, None, digest.hexdigest())


class SparseMatrix(BlockSource):
    """A ``.npz`` file of ``scipy.sparse.save_npz``, loaded once; a row's id is its index from 0."""

    suffixes = (".npz",)
    _X: Any = None

    def survey(self) -> None:
        """Find out what the file holds."""
        self.kind = self.choose_kind("counts", "vectors")
        self._X = self._load()
        if self._X.dtype.kind not in "biuf":
            raise self.error(f"expected a matrix of numbers, got dtype {self._X.dtype}.")
        self.set_shape(*self._X.shape)

    def __getstate__(self) -> dict[str, Any]:
        return vars(self) | {"_X": None}  # it is loaded again where it is needed

    def _load(self) -> Any:
        try:
            X = sparse.csr_matrix(sparse.load_npz(self.path))
            X.check_format(full_check=True)  # indices outside the matrix would reach the kernels
            X.sum_duplicates()
            return X
        except FileNotFoundError as error:
            raise self.error(f"there is no such file.{did_you_mean(self.path)}") from error
        except (OSError, EOFError, ValueError, KeyError, zipfile.BadZipFile) as error:
            raise self.error(
                f"expected a sparse matrix as scipy.sparse.save_npz writes it ({error})."
            ) from error

    def blocks(self, start: int, size: int) -> Iterator[Block]:
        """Yield the rows from ``start`` on, ``size`` at a time."""
        if self._X is None:
            self._X = self._load()
        for first in range(start, self.n_rows, size):
            yield Block(first, self._X[first : first + size])
