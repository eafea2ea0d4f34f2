"""Some hundred mutated checkpoints; ``python -m tests.attacks.checkpoints`` makes thousands."""

import pytest

from attacks.checkpoints import run

SOME = ("waiting", "stream", "words", "diagonal", "ep", "gibbs", "full", "memoized", "thinned")
KINDS = {"mixtures": SOME[:-1], "dependent mixtures": SOME[-1:], "topics": ("topics", "flat")}


@pytest.mark.parametrize("names", KINDS.values(), ids=KINDS)
def test_mutated_checkpoints_do_no_harm(names):
    _, failures = run(60 * len(names), seed=7, names=names)
    assert not failures, "\n".join(failures)


@pytest.mark.slow
def test_five_thousand_mutated_checkpoints_of_every_kind_do_no_harm():
    _, failures = run(5000, seed=0)
    assert not failures, "\n".join(failures)
