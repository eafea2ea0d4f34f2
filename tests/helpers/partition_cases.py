"""Partitions and their losses, straight from the definitions."""

from itertools import combinations
from math import log

import numpy as np


def all_partitions(n):
    """Every partition of n rows, clusters numbered as they appear."""
    found = [[0]]
    for _ in range(n - 1):
        found = [[*labels, k] for labels in found for k in range(max(labels) + 2)]
    return np.array(found, dtype=np.int32)


def entropy(labels):
    n = len(labels)
    return -sum(labels.count(k) / n * log(labels.count(k) / n) for k in set(labels))


def vi(a, b):
    """H(A) + H(B) - 2 I(A, B) = 2 H(A, B) - H(A) - H(B)."""
    a, b = list(a), list(b)
    return 2 * entropy(list(zip(a, b, strict=True))) - entropy(a) - entropy(b)


def binder(a, b):
    """Ordered pairs that are together in one partition and apart in the other, over N^2."""
    pairs = combinations(range(len(a)), 2)
    return 2 * sum((a[i] == a[j]) != (b[i] == b[j]) for i, j in pairs) / len(a) ** 2


LOSSES = {"vi": vi, "binder": binder}
