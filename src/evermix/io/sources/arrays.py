"""NumPy and SciPy files: dense rows in ``.npy``, sparse rows in ``.npz``."""

import zipfile
from collections.abc import Iterator
from typing import Any

import numpy as np
from scipy import sparse

from evermix.io.sources.formats import Block, BlockSource


class DenseArray(BlockSource):
    """A two-dimensional ``.npy`` file, mapped into memory; a row's id is its index from 0.

    Whole numbers (an integer dtype) are counts unless the user names another kind.
    """

    suffixes = (".npy",)
    splittable = True

    def survey(self) -> None:
        """Find out what the file holds."""
        X = self.mapped()
        if X.ndim != 2 or X.dtype.kind not in "biuf":
            raise self.error(
                "expected a two-dimensional array of numbers (rows, features), "
                f"got shape {X.shape} and dtype {X.dtype}."
            )
        if X.dtype.kind == "f":
            self.kind = self.choose_kind("vectors", "counts")
        else:
            self.kind = self.choose_kind("counts", "vectors")
        self.set_shape(*X.shape)

    def mapped(self) -> Any:
        """Return all rows (N, D) as a memory map."""
        try:
            return np.load(self.path, mmap_mode="r", allow_pickle=False)
        except FileNotFoundError as error:
            raise self.error("there is no such file.") from error
        except (OSError, EOFError, ValueError) as error:
            raise self.error(f"expected a complete .npy file of numbers ({error}).") from error

    def blocks(self, start: int, size: int) -> Iterator[Block]:
        """Yield the rows from ``start`` on, ``size`` at a time."""
        X = self.mapped()
        for first in range(start, self.n_rows, size):
            yield Block(first, np.array(X[first : first + size]))


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
            raise self.error("there is no such file.") from error
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
