r"""Special functions that compilers can turn into vector code.

``math.log`` and ``math.lgamma`` are calls into the C library, one number at a time. The functions
here are plain arithmetic on the number and its bits, so that a loop over clusters runs on the
machine's vector units.
"""

from typing import Any

from llvmlite import ir  # type: ignore[import-untyped]
from numba import types
from numba.extending import intrinsic

from evermix.kernels.base import strict

MANTISSA = 0x000FFFFFFFFFFFFF
HALF_ROOT = 0x3FE6A09E667F3BCD  # the bits of sqrt(1/2)
ONE = 0x3FF0000000000000
TWO_52 = 0x4330000000000000  # the bits of 2^52, whose last place is 1
LN2_HIGH, LN2_LOW = 6.93147180369123816490e-01, 1.90821492927058770002e-10


def _bitcast(argument: Any, result: Any, code: Any) -> Any:
    """Return a compiled function that reads the 64 bits of its argument as another type."""

    def declare(typing: Any, x: Any) -> Any:
        def generate(context: Any, builder: Any, signature: Any, values: Any) -> Any:
            return builder.bitcast(values[0], code)

        return result(argument), generate

    return intrinsic(declare)


_bits = _bitcast(types.float64, types.int64, ir.IntType(64))
_float = _bitcast(types.int64, types.float64, ir.DoubleType())


@strict
def log(x: float) -> float:
    """Natural logarithm of a finite, positive, normal number, to one unit in the last place.

    With x = 2^k (1 + f) and sqrt(1/2) <= 1 + f < sqrt(2), log x = k log 2 + 2 atanh(f / (2 + f)),
    where atanh is a minimax polynomial of degree 14 (the classical splitting of libm).
    """
    shifted = _bits(x) + (ONE - HALF_ROOT)
    # The exponent becomes a float by its bits: a conversion of integers would not be vectorised.
    k: float = _float((shifted >> 52) + TWO_52) - (4503599627370496.0 + 1023.0)
    f: float = _float((shifted & MANTISSA) + HALF_ROOT) - 1.0
    s = f / (2.0 + f)
    z = s * s
    w = z * z
    even = w * (0.3999999999940941908 + w * (0.2222219843214978396 + w * 0.1531383769920937332))
    odd = z * (
        0.6666666666666735130
        + w * (0.2857142874366239149 + w * (0.1818357216161805012 + w * 0.1479819860511658591))
    )
    half = 0.5 * f * f
    return k * LN2_HIGH - ((half - (s * (half + even + odd) + k * LN2_LOW)) - f)


@strict
def _stirling(y: float) -> float:
    """The series of log Gamma(1/y) beyond its leading terms, for y <= 1/10."""
    z = y * y
    tail = 1 / 1680 - z * (1 / 1188 - z * (691 / 360360 - z * (1 / 156)))
    return y * (1 / 12 - z * (1 / 360 - z * (1 / 1260 - z * tail)))


@strict
def _rising_10(a: float) -> float:
    """Product of a, a + 1, ..., a + 9."""
    low = (a * (a + 1)) * ((a + 2) * (a + 3)) * (a + 4)
    return low * (((a + 5) * (a + 6)) * ((a + 7) * (a + 8)) * (a + 9))


@strict
def log_rising(a: float, x: float) -> float:
    """Log of Gamma(a + x) / Gamma(a) for a > 0, x >= 0, both below 1e25.

    The recurrence lifts a by 10, where Stirling's series is exact to rounding. The leading terms
    are written as a difference, so that a large a costs no accuracy.
    """
    lift = _rising_10(a) / _rising_10(a + x)
    a, b = a + 10, a + 10 + x
    inverse = 1 / (a * b)  # one division serves 1 / a and 1 / b
    x_over_a = x * (b * inverse)
    u = 1 + x_over_a
    log_u = log(u) + (x_over_a - (u - 1)) * (a * a * inverse)  # log1p(x / a)
    lead = (b - 0.5) * log_u + x * (log(a) - 1)
    return lead + (_stirling(a * inverse) - _stirling(b * inverse)) + log(lift)
