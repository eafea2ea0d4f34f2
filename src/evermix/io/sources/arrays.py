"""NumPy and SciPy files: dense rows in ``.npy``, sparse rows in ``.npz``."""

import zipfile
from collections.abc import Iterator
from typing import Any

import numpy as np
from scipy import sparse

from evermix.io.sources.base import Kind, Options
from evermix.io.sources.blocks import Block, BlockSource


class DenseArray(BlockSource):
    """A two-dimensional ``.npy`` file, mapped into memory; a row's id is its index from 0.

    Whole numbers (an integer dtype) are counts unless the kind says otherwise.
    """

    def __init__(self, path: str, options: Options) -> None:
        super().__init__(path, options)
        X = self._mapped()
        if X.ndim != 2 or X.dtype.kind not in "biuf":
            raise self._error(
                "wanted a two-dimensional array of numbers (rows, features), "
                f"got shape {X.shape} and dtype {X.dtype}."
            )
        default: Kind = "vectors" if X.dtype.kind == "f" else "counts"
        self.kind = self._choose(default, ("vectors", "counts"))
        self.n_rows = X.shape[0]
        if self.n_rows == 0:
            raise self._empty("wanted at least one row, the array has none.")
        self._set_features(X.shape[1])

    def _mapped(self) -> Any:
        """Return all rows, in the file."""
        try:
            return np.load(self.path, mmap_mode="r", allow_pickle=False)
        except FileNotFoundError as error:
            raise self._error("there is no such file.") from error
        except (OSError, EOFError, ValueError) as error:
            raise self._error(f"wanted a whole .npy file of numbers ({error}).") from error

    def _blocks(self, start: int, size: int) -> Iterator[Block]:
        mapped = self._mapped()
        for first in range(start, self.n_rows, size):
            X = np.array(mapped[first : first + size], dtype=np.float64)
            ids = list(range(self.before + first, self.before + first + len(X)))
            yield Block(first, ids, sparse.csr_matrix(X) if self.kind == "counts" else X, {})


class SparseMatrix(BlockSource):
    """A ``.npz`` file of ``scipy.sparse.save_npz``, loaded once; a row's id is its index from 0."""

    _X: Any = None

    def __init__(self, path: str, options: Options) -> None:
        super().__init__(path, options)
        self.kind = self._choose("counts", ("counts", "vectors"))
        self._X = self._load()
        if self._X.dtype.kind not in "biuf":
            raise self._error(f"wanted a matrix of numbers, got dtype {self._X.dtype}.")
        self.n_rows = self._X.shape[0]
        if self.n_rows == 0:
            raise self._empty("wanted at least one row, the matrix has none.")
        self._set_features(self._X.shape[1])

    def __getstate__(self) -> dict[str, Any]:
        return vars(self) | {"_X": None}

    def _load(self) -> Any:
        try:
            X = sparse.csr_matrix(sparse.load_npz(self.path))
            X.check_format(full_check=True)  # indices outside the matrix would reach the kernels
            X.sum_duplicates()
            return X
        except FileNotFoundError as error:
            raise self._error("there is no such file.") from error
        except (OSError, EOFError, ValueError, KeyError, zipfile.BadZipFile) as error:
            raise self._error(
                f"wanted a sparse matrix as scipy.sparse.save_npz writes it ({error})."
            ) from error

    def _blocks(self, start: int, size: int) -> Iterator[Block]:
        if self._X is None:
            self._X = self._load()
        for first in range(start, self.n_rows, size):
            X = self._X[first : first + size].astype(np.float64)
            ids = list(range(self.before + first, self.before + first + X.shape[0]))
            yield Block(first, ids, X if self.kind == "counts" else X.toarray(), {})
