"""Numbers of things in words, and lists, which never end with "and 1 more"."""

import numpy as np
import pytest

import evermix as em
from evermix._words import counted, listed
from evermix.estimators.columns_in_words import groups_in_words
from evermix.estimators.mixture.explanation import Contribution, Explanation
from evermix.estimators.plain_words import ids_in_words
from evermix.report.page import Report


def summary(n):
    items = [{"name": f"cluster {k}", "share": 1 / n, "words": []} for k in range(n)]
    facts = {"clusters": f"{n}, 1 of them of one row"}
    return Report("some", "cluster", "rows", facts, items).summary()


def explained(n):
    each = tuple(Contribution(f"column {k}", None, 1.0) for k in range(n))
    return repr(Explanation(0, 1, None, None, 1.0, 0.0, float(n), each))


LISTS = {
    "list": lambda n: listed(map(str, range(n)), 3),
    "columns": lambda n: groups_in_words({"ignored": [str(k) for k in range(n)]})["ignored"],
    "ids": lambda n: ids_in_words(range(n)),
    "summary": summary,
    "explanation": explained,
}


@pytest.mark.parametrize("name", LISTS)
def test_what_would_be_left_alone_is_named(name):
    texts = [LISTS[name](n) for n in range(2, 20)]
    cut = ["more" in text or "..." in text for text in texts]
    first = cut.index(True)
    assert all(cut[first:]) and not any(" 1 more" in text for text in texts)
    assert " 2 more" in texts[first] or "..." in texts[first]


def test_one_thing_is_named_in_the_singular():
    assert (counted(1, "row"), counted("1", "row")) == ("1 row", "1 row")
    assert (counted(0, "row"), counted("0.4", "row")) == ("0 rows", "0.4 rows")
    mix = em.Mixture().partial_fit(np.zeros((300, 1)) + np.linspace(0, 1, 300)[:, None])
    mix.partial_fit([[90.0]])
    last = mix.cards()[-1]
    assert repr(last).startswith(f"cluster {last.id}: 1 row, ") and "0 rows ago" in repr(last)
