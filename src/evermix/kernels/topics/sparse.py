r"""A word chooses among the topics that have it, so that topics without it cost nothing.

A word x has the weight :math:`(\beta + c_{xk}) \, g_k` in topic k, where :math:`g_k` is that of
joining a table or of opening one, and c counts words. The sum over all topics has two parts
[yao2009]_:

.. math::

    \sum_{k : c_{xk} > 0} c_{xk} \, g_k + \beta \sum_k g_k.

The first has as many terms as there are topics that have the word; the second is kept up to date
as topics change, and is chosen seldom.

References
----------
.. [yao2009] L. Yao, D. Mimno and A. McCallum. Efficient methods for topic model inference on
   streaming document collections. KDD, 2009.
"""

from evermix.kernels.base import lean
from evermix.kernels.topics.dishes import Dishes, DishWeights, WordTopics

STRIDE = 32  # dishes that are passed over together where all of them may be chosen


@lean
def count_in(lists: WordTopics, x: int, k: int) -> None:
    """Count one more word x in topic k; the list stays sorted."""
    j, end = lists.start[x], lists.end[x]
    while j < end and lists.topic[j] != k:
        j += 1
    if j == end:
        lists.topic[j], lists.n[j] = k, 0
        lists.end[x] = end + 1
    n, i = lists.n[j], j
    while i > lists.start[x] and lists.n[i - 1] == n:
        i -= 1
    lists.topic[j] = lists.topic[i]  # both have n words
    lists.topic[i], lists.n[i] = k, n + 1


@lean
def count_out(lists: WordTopics, x: int, k: int) -> None:
    """Count one word x less in topic k; the list stays sorted."""
    j, last = lists.start[x], lists.end[x] - 1
    while lists.topic[j] != k:
        j += 1
    n, i = lists.n[j], j
    while i < last and lists.n[i + 1] == n:
        i += 1
    lists.topic[j] = lists.topic[i]
    lists.topic[i], lists.n[i] = k, n - 1
    if n == 1:  # it is the last one
        lists.end[x] = last


@lean
def count_of(lists: WordTopics, x: int, k: int) -> int:
    """Return how many words x topic k has."""
    for j in range(lists.start[x], lists.end[x]):
        if lists.topic[j] == k:
            return lists.n[j]
    return 0


@lean
def recount(dishes: Dishes, x: int, before: int, after: int) -> None:
    """Count word x in one dish instead of another; before is -1 for a word that had none."""
    if before >= 0:
        count_out(dishes.lists, x, before)
    count_in(dishes.lists, x, after)
    if dishes.counts.shape[1] > 0:
        if before >= 0:
            dishes.counts[x, before] -= 1
        dishes.counts[x, after] += 1


@lean
def sum_weights(worth: DishWeights, K: int) -> None:
    """Sum the weights of all dishes, when a document begins."""
    old, top = 0.0, 0.0
    for k in range(K):
        old += worth.old[k]
        top += worth.top[k]
    worth.sums[0], worth.sums[1] = old, top


@lean
def weigh(worth: DishWeights, k: int, old: float, top: float) -> None:
    """Set the weights of dish k, and their sums."""
    worth.sums[0] += old - worth.old[k]
    worth.sums[1] += top - worth.top[k]
    worth.old[k], worth.top[k] = old, top


@lean
def choose_sparse(
    lists: WordTopics,
    x: int,
    beta: float,
    scale: float,
    worth: DishWeights,
    K: int,
    novel: float,
    own: int,
    less: int,
    uniform: float,
) -> tuple[int, float]:
    """Draw a dish for word x, which is still counted ``less`` times too often in dish ``own``.

    Returns the dish, and a uniform number below what joining and opening a table of it weigh,
    beta + count left out; or K for a new one, of weight ``novel``, and a uniform number below that.
    """
    begin, size, near = lists.start[x], lists.end[x] - lists.start[x], 0.0
    for j in range(size):
        k = lists.topic[begin + j]
        n = lists.n[begin + j] - (less if k == own else 0)
        weight = n * (worth.old[k] + scale * worth.top[k])
        worth.weight[j] = weight
        near += weight
    any_dish = beta * max(worth.sums[0] + scale * worth.sums[1], 0.0)
    target = uniform * (near + any_dish + novel)
    if target < near:
        j = 0
        while j < size - 1 and target >= worth.weight[j]:
            target -= worth.weight[j]
            j += 1
        while j > 0 and worth.weight[j] == 0.0:
            j -= 1  # rounding ran over the last one that has weight
        k = lists.topic[begin + j]
        whole = worth.old[k] + scale * worth.top[k]
        return k, min(target / max(worth.weight[j], 1e-300), 1.0) * whole
    target -= near
    if target < any_dish or novel == 0.0:
        return _choose_any(worth, scale, K, target / beta)
    return K, min(target - any_dish, novel)


@lean
def _choose_any(worth: DishWeights, scale: float, K: int, target: float) -> tuple[int, float]:
    """Return the dish where the weights up to it exceed the target, and what is left."""
    k = 0
    while k + STRIDE <= K:
        part = 0.0
        for i in range(k, k + STRIDE):
            part += worth.old[i] + scale * worth.top[i]
        if target < part:
            break
        target -= part
        k += STRIDE
    while k < K:
        weight = worth.old[k] + scale * worth.top[k]
        if target < weight:
            return k, target
        target -= weight
        k += 1
    k = max(K - 1, 0)
    while k > 0 and worth.old[k] + scale * worth.top[k] == 0.0:
        k -= 1  # rounding ran over the last one that has weight
    return k, worth.old[k] + scale * worth.top[k]
