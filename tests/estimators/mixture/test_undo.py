"""The last change by hand can be undone, to the last bit, until rows are learnt."""

import numpy as np
import pytest

import evermix as em
from evermix.io import checkpoint
from evermix.io.checkpoint import CheckpointError
from helpers.same_models import assert_same
from helpers.variants import slow_but

RNG = np.random.default_rng(0)
FAMILY = em.Gaussian(0.0, 0.01, 5.0, 1.0)
CENTRES = np.array([[0.0, 0.0], [12.0, 0.0], [0.0, 40.0]])
X = CENTRES[RNG.integers(3, size=900)] + RNG.normal(size=(900, 2))

EDITS = {
    "rename": lambda mix, a, b: mix.rename(a, "small"),
    "merge": lambda mix, a, b: mix.merge_clusters([a, b]),
    "split": lambda mix, a, b: mix.split_cluster(a, X),
    "pin": lambda mix, a, b: mix.pin(a),
    "unpin": lambda mix, a, b: mix.unpin(a),
}
BEGINNINGS = {
    "stream": lambda: em.Mixture(random_state=0).partial_fit(X, times=np.arange(900)),
    "fit": lambda: em.Mixture(random_state=0).fit(X),
    "given": lambda: em.Mixture(FAMILY, em.DP(), em.SUGS()).partial_fit(X),
}


@pytest.mark.parametrize("stored", slow_but([True], [False, True]))
@pytest.mark.parametrize("what", EDITS)
@pytest.mark.parametrize("begun", slow_but(["stream", "fit"], BEGINNINGS))
def test_undo_gives_back_every_bit(tmp_path, begun, what, stored):
    mix = BEGINNINGS[begun]()
    mix.save(tmp_path / "before.evermix")
    a, b = (int(id) for id in mix.predict(CENTRES[:2]))
    EDITS[what](mix, a, b)
    if stored:
        mix.save(tmp_path / "edited.evermix")
        mix = em.load(tmp_path / "edited.evermix")
    undone = mix.undo()
    assert undone.what == what and undone.ids[0] == a
    mix.save(tmp_path / "after.evermix")
    assert (tmp_path / "after.evermix").read_bytes() == (tmp_path / "before.evermix").read_bytes()
    other = em.load(tmp_path / "before.evermix")
    if begun == "fit":
        mix.resume(X)  # as if nothing had been done
    assert_same(mix.partial_fit(X + 0.5), other.partial_fit(X + 0.5))
    with pytest.raises(ValueError, match="nothing to undo"):
        mix.undo()


def test_only_the_last_change_and_only_until_rows_are_learnt():
    mix = BEGINNINGS["stream"]()
    with pytest.raises(ValueError, match="nothing to undo"):
        mix.undo()
    a, b, c = (int(id) for id in mix.predict(CENTRES))
    mix.merge_clusters([a, b])
    mix.rename(c, "tall")
    assert mix.undo().what == "rename" and mix.n_clusters_ == 2
    with pytest.raises(ValueError, match="only the last change"):
        mix.undo()
    for learn in (lambda: mix.partial_fit(X[:1]), lambda: mix.partial_fit(X[:9])):
        mix.pin(c)
        learn()
        with pytest.raises(ValueError, match="until rows are learnt.*rename .* again; split a"):
            mix.undo()


def test_a_name_costs_nothing_in_files_and_forged_pasts_are_refused(tmp_path):
    mix, path = BEGINNINGS["given"](), tmp_path / "mix.evermix"
    mix.rename(int(mix.predict(CENTRES[:1])[0]), "small")
    mix.save(path)
    arrays, header = checkpoint.read(path)
    assert not any(name.startswith("before.") for name in arrays)
    for forged in (
        {"params": header["params"]},
        {"before": {}},
        {"arrays": ["tally"]},
        {"state": None},
        {"engine": {"name": "RCRP"}},
    ):
        checkpoint.write(path, arrays, {**header, "before": {**header["before"], **forged}})
        with pytest.raises(CheckpointError):
            em.load(path)
