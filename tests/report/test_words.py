"""Words that describe clusters."""

import numpy as np
import pytest

from evermix.report import distinctive_words, frequent_words, lift_words

WORDS = ["the", "cat", "dog", "rare"]
COUNTS = np.array([[90.0, 40.0, 2.0, 1.0], [90.0, 1.0, 50.0, 0.0]])


def test_frequent_words_come_in_order_of_count():
    assert frequent_words(COUNTS, WORDS, 2) == [["the", "cat"], ["the", "dog"]]


def test_distinctive_words_pass_over_what_all_clusters_use():
    assert distinctive_words(COUNTS, WORDS, 1) == [["cat"], ["dog"]]


@pytest.mark.parametrize("words_of", [distinctive_words, lift_words])
def test_a_word_met_once_is_no_mark_of_its_cluster(words_of):
    assert words_of(COUNTS, WORDS, 4)[0].index("rare") > 0


def test_without_smoothing_a_word_met_once_has_the_highest_lift_there_can_be():
    assert lift_words(COUNTS, WORDS, 1, smoothing=0.0)[0] == ["rare"]
    assert distinctive_words(COUNTS, WORDS, 1, smoothing=0.0)[0] == ["cat"]


def test_of_words_that_are_rare_elsewhere_the_frequent_one_comes_first():
    counts = np.array([[60.0, 20.0, 100.0], [30.0, 0.0, 400.0]])
    assert lift_words(counts, ["qt", "qwidget", "how"], 1)[0] == ["qwidget"]
    assert distinctive_words(counts, ["qt", "qwidget", "how"], 1)[0] == ["qt"]


def test_words_do_not_depend_on_the_size_of_a_cluster():
    """They are ranked by proportion: a cluster of the same words ranks them alike."""
    twice = np.vstack([COUNTS, 3 * COUNTS[:1]])
    first, _, third = distinctive_words(twice, WORDS, 3)
    assert first == third


def test_chosen_rows_are_described_against_the_whole_corpus():
    assert distinctive_words(COUNTS, WORDS, 2, rows=np.array([1])) == [
        distinctive_words(COUNTS, WORDS, 2)[1]
    ]
    assert frequent_words(COUNTS, WORDS, 2, rows=np.array([1])) == [["the", "dog"]]


def test_words_that_a_cluster_does_not_use_are_left_out():
    assert frequent_words(COUNTS, WORDS, 10)[1] == ["the", "dog", "cat"]


def test_wrong_shapes_and_smoothing_are_named():
    with pytest.raises(ValueError, match=r"counts must be \(K, 4\).*\(2, 3\)"):
        frequent_words(COUNTS[:, :3], WORDS)
    with pytest.raises(ValueError, match="smoothing must be >= 0, got -1"):
        distinctive_words(COUNTS, WORDS, smoothing=-1.0)
