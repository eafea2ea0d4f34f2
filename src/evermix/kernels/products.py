"""Products of pairs of columns."""

from evermix._xp import Array
from evermix.kernels.base import kernel


@kernel
def write_products(x: Array, out: Array) -> None:
    """Write products x_d x_e, d <= e, of rows x (N, D) into the last columns of out.

    Consumes: out.
    """
    D = x.shape[1]
    first = out.shape[1] - D * (D + 1) // 2
    for n in range(x.shape[0]):
        row, products, place = x[n], out[n], first
        for d in range(D):
            factor, shift = row[d], place - d
            for e in range(d, D):
                products[shift + e] = factor * row[e]
            place += D - d
