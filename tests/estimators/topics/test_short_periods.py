"""Topics over many short times, each with few short documents."""

import numpy as np
import pytest
from sklearn.metrics import adjusted_mutual_info_score

import evermix as em
from evermix.estimators.topics.card import OverTime, TopicCards

DAYS, TICKETS, SUBJECTS, OWN = 60, 30, 6, 12
BEGIN = np.array([0, 0, 0, 0, 20, 40])  # the day on which each subject begins


def tickets(seed):
    """Counts, days and subjects: a ticket has two to five words of its subject."""
    rng = np.random.default_rng(seed)
    days = np.repeat(np.arange(DAYS), TICKETS)
    subjects = np.array([rng.choice(np.flatnonzero(BEGIN <= day)) for day in days])
    X = np.zeros((len(days), SUBJECTS * OWN), dtype=np.int64)
    for row, subject in zip(X, subjects, strict=True):
        row[subject * OWN + rng.choice(OWN, size=rng.integers(2, 6), replace=False)] = 1
    return X, days, subjects


@pytest.mark.parametrize("prior", [em.HMNGG(), em.HMNGP()], ids=lambda p: type(p).__name__)
def test_subjects_of_every_day_are_one_topic_each(prior):
    """They were cut into topics that take turns from day to day."""
    X, days, subjects = tickets(0)
    model = em.TopicModel(prior, burn_in=150, draws=50, random_state=0).fit(X, times=days)
    main = model.documents_.toarray().argmax(axis=1)
    assert adjusted_mutual_info_score(subjects, main) > 0.97
    assert np.sum(model.weights_ > 0.02) == SUBJECTS
    alive = TopicCards(model, over_time=OverTime.of(model)).alive
    of = {int(np.bincount(main[subjects == s]).argmax()): BEGIN[s] for s in range(SUBJECTS)}
    born = {k: day for day, some in enumerate(alive.births) for k in some if k in of}
    assert born == {k: day for k, day in of.items() if day > 0}
