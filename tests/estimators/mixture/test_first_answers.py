"""The first answer that names a cluster says so, whenever its first row comes."""

import numpy as np
import pytest

import evermix as em
from evermix.estimators.answers import row_answers
from evermix.estimators.mixture.first_answers import FirstAnswers
from evermix.state import Lineage

START = np.datetime64("2024-01-01T00:00:00")


def stream(seed, n=1500):
    """Return rows of a few clusters, of which some are near each other and some come late."""
    rng = np.random.default_rng(seed)
    centres = np.array([[0.0, 0.0], [2.5, 0.0], [9.0, 9.0], [9.0, 11.5], [-12.0, 3.0]])
    which = rng.integers(0, 3, n)
    which[n // 3 :] = rng.integers(0, 5, n - n // 3)
    return centres[which] + rng.normal(scale=0.7, size=(n, 2))


def answered(mix, X, cuts, saved=None):
    """Return the answers to the rows X, learnt in batches; the model is saved after each."""
    dates = START + np.arange(len(X)) * np.timedelta64(1, "h")
    answers, at = [], 0
    for end in [*cuts, len(X)]:
        mix.partial_fit(X[at:end], times=dates[at:end])
        answers += row_answers(mix, [None] * (end - at), at)
        at = end
        if saved is not None:
            mix.save(saved)
            mix = em.load(saved)
    return answers, dates


@pytest.mark.parametrize("seed", range(3))
def test_every_cluster_is_said_to_be_new_once(seed):
    """Where it was split before its first row came, "from" is said with that row."""
    X = stream(seed)
    answers, dates = answered(em.Mixture(random_state=0), X, range(100, 1500, 7))
    known, flags = set(), 0
    for answer, date in zip(answers, dates, strict=True):
        first = answer["cluster"] not in known
        known.add(answer["cluster"])
        assert (answer["new"] or "from" in answer) == ("since" in answer) == first, answer
        flags += "from" in answer
        if first:
            assert np.datetime64(answer["since"]) <= date
    assert len(known) > 3
    assert flags


@pytest.mark.parametrize("cuts", [[], [700], range(100, 1500, 7)], ids=str)
def test_answers_say_of_no_cluster_that_it_is_from_one_they_have_not_named(cuts, tmp_path):
    """Reviews split clusters that have no row yet; a cluster of such a one is new."""
    for seed in range(3):
        known = set()
        for answer in answered(em.Mixture(random_state=0), stream(seed), cuts)[0]:
            first = answer["cluster"] not in known
            assert (answer["new"] or "from" in answer) == first, answer
            assert answer.get("from", answer["cluster"]) in known or answer["new"], answer
            known.add(answer["cluster"])


def test_a_cluster_is_new_if_that_it_is_from_has_ended_without_an_answer():
    lineage = Lineage()
    for clock, parent in ((1, None), (20, 0), (30, 1)):
        lineage.birth(clock, parent)
    firsts = FirstAnswers()
    firsts.answered(lineage, 1, np.array([0]))
    lineage.drop(1, 35)
    for label in (0, 2):
        firsts = FirstAnswers.from_spec(sorted(firsts.unmet), lineage)
        firsts.answered(lineage, 3, np.array([label]))
    assert firsts.of(lineage, [2], 40) == {2: None}
    assert not firsts.unmet


@pytest.mark.parametrize("cuts", [[], [100], [700], range(90, 1500, 90)], ids=str)
def test_answers_and_cards_agree_since_when_there_is_a_cluster(cuts):
    """Reviews split clusters, and merges fuse them, after rows of the same call."""
    mix = em.Mixture(random_state=0)
    answers, dates = answered(mix, stream(1), cuts)
    firsts = {a["cluster"]: (a["since"], dates[i]) for i, a in enumerate(answers) if "since" in a}
    assert len(firsts) > 3
    for card in mix.cards():
        assert np.datetime64(card.since) == dates[card.born - 1]
        if mix.lineage_.found_at(card.id) > 1000 or not cuts:  # it may have taken in others since
            since, date = firsts[card.id]  # of a row that may be a stray before it began
            assert np.datetime64(since) == min(np.datetime64(card.since), date)


def test_what_a_review_finds_begins_where_its_rows_do(tmp_path):
    """Not with the review, however the stream is cut; the lineage says when it was found."""
    rng = np.random.default_rng(0)
    late = (np.arange(600) >= 200) & (rng.random(600) < 0.5)
    X = rng.normal(size=(600, 2)) + np.where(late[:, None], [3.5, 0.0], 0.0)
    dates = START + np.arange(600) * np.timedelta64(1, "h")
    mixes = []
    for n in (30, 600):
        mix = em.Mixture(random_state=0)
        for at in range(0, 600, n):
            mix.partial_fit(X[at : at + n], times=dates[at : at + n])
        mixes.append(mix)
    mix = mixes[0]
    new = next(id for id in mix.lineage_.parents if id in mix.cluster_ids_)
    card = mix.card(new)
    assert 195 <= card.born <= 215 < mix.lineage_.found_at(new)
    assert card.since == str(dates[card.born - 1])
    assert f"first row {card.born}" in repr(card) and "split from" in repr(card)
    assert mixes[1].lineage_ == mix.lineage_
    assert [c.since for c in mixes[1].cards()] == [c.since for c in mix.cards()]
    mix.save(tmp_path / "a.evermix")
    assert em.load(tmp_path / "a.evermix").lineage_ == mix.lineage_


def test_what_waits_for_its_first_row_is_saved(tmp_path):
    cuts = range(100, 1500, 23)
    there = answered(em.Mixture(random_state=0), stream(2), cuts)[0]
    again = answered(em.Mixture(random_state=0), stream(2), cuts, tmp_path / "a.evermix")[0]
    assert there == again


def test_a_split_by_hand_is_said_with_the_first_row_until_it_is_undone(tmp_path):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 1)) + np.repeat([[0.0], [9.0]], 200, 0)
    mix = em.Mixture(random_state=0).partial_fit(X)
    old = mix.merge_clusters(mix.cluster_ids_)
    new = mix.split_cluster(old)
    row = X[mix.predict(X) == new][:1]
    mix.save(tmp_path / "split.evermix")
    mix = em.load(tmp_path / "split.evermix")
    mix.partial_fit(row)
    (answer,) = row_answers(mix, [None], 400)
    assert (answer["cluster"], answer["new"], answer["from"]) == (new, False, old)
    mix.partial_fit(row)
    (answer,) = row_answers(mix, [None], 401)
    assert answer["cluster"] == new
    assert "from" not in answer

    undone = em.load(tmp_path / "split.evermix")
    undone.undo()
    assert not undone.learner_.first_answers.unmet
    undone.partial_fit(row)
    assert "from" not in row_answers(undone, [None], 400)[0]


def test_files_of_clusters_that_are_not_there_are_refused():
    lineage = Lineage([1, 2], [-1, 5], [-1, 0])
    assert FirstAnswers.from_spec([0], lineage).unmet == {0}
    for unmet in ([1], [2], [-1]):
        with pytest.raises(ValueError, match="must be there"):
            FirstAnswers.from_spec(unmet, lineage)
