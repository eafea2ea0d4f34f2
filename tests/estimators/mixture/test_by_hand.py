"""What people do to clusters stays done: names, merges, splits and pins."""

from copy import deepcopy

import numpy as np
import pytest

import evermix as em
from evermix.engines.merging.stream import join
from evermix.engines.prune import prune
from evermix.io import checkpoint
from evermix.io.checkpoint import CheckpointError
from helpers.engine_cases import data_for
from helpers.mixture_cases import texts
from helpers.same_models import assert_same

FAMILY = em.Gaussian(0.0, 0.01, 5.0, 1.0)
CENTRES = np.array([[0.0, 0.0], [12.0, 0.0], [0.0, 40.0]])


def rows(n=600, seed=0, centres=CENTRES):
    rng = np.random.default_rng(seed)
    y = rng.integers(len(centres), size=n)
    return centres[y] + rng.normal(size=(n, 2)), y


def given(**settings):
    return em.Mixture(FAMILY, em.DP(1.0), em.ADF(**settings))


def ids_of(mix, centres=CENTRES):
    return [int(id) for id in mix.predict(centres)]


def again(mix, path):
    mix.save(path)
    return em.load(path)


def totals(mix):
    return mix.tally_.mass.sum(), mix.tally_.stats.sum(axis=0)


# ---- names -------------------------------------------------------------------------------------


@pytest.mark.parametrize("learn", ["fit", "partial_fit"])
def test_a_name_stays_with_its_cluster(learn, tmp_path):
    X, _ = rows()
    mix = getattr(em.Mixture(), learn)(X)
    a, b, _ = ids_of(mix)
    labels = mix.labels_
    assert mix.rename(a, "billing") is mix
    np.testing.assert_array_equal(mix.labels_, labels)
    mix = again(mix, tmp_path / "m.evermix")
    mix.partial_fit(rows(3000, seed=1)[0])
    assert mix.card(a).name == "billing" and "(billing)" in repr(mix.card(a))
    assert ids_of(mix)[0] == a
    assert mix.explain(CENTRES[0]).cluster_name == "billing"
    with pytest.raises(ValueError, match=f"cluster {a} is called 'billing' already"):
        mix.rename(b, "billing")
    assert mix.rename(a, None).card(a).name is None


def test_a_fit_that_goes_on_keeps_names(tmp_path):
    X, _ = rows()
    mix = em.Mixture(em.Gaussian(), em.DP(1.0), em.EP(laps=1)).fit(X)
    mix.rename(ids_of(mix)[2], "far").set_params(engine=em.EP(laps=3)).resume(X)
    assert mix.card(ids_of(mix)[2]).name == "far"


def test_bad_names_are_refused():
    mix = em.Mixture().fit(rows()[0])
    for name in ("", " "):
        with pytest.raises(ValueError, match=r"must not be empty.* None \(null in JSON\)"):
            mix.rename(0, name)
    for name in (" x", "a\nb", "x" * 201):
        with pytest.raises(ValueError, match="the name of a cluster must be"):
            mix.rename(0, name)
    for name in ("7", "-1", "007"):
        with pytest.raises(ValueError, match="must not be a whole number"):
            mix.rename(0, name)
    assert mix.rename(0, "7 to 9").card(0).name == "7 to 9"
    with pytest.raises(TypeError, match="must be a string"):
        mix.rename(0, 7)
    with pytest.raises(ValueError, match="no cluster 99"):
        mix.rename(99, "x")
    with pytest.raises(ValueError, match="still wait"):
        em.Mixture().partial_fit(rows(5)[0]).rename(0, "x")


def test_the_name_follows_a_merge_by_the_engine():
    lineage = em.Mixture().fit(rows()[0]).lineage_
    lineage.hand.names[0] = "one"
    lineage.merge(0, 1, 700)
    assert lineage.hand.names == {1: "one"}


def test_a_cluster_is_called_by_its_name_wherever_an_id_is_taken():
    mix = em.Mixture().partial_fit(rows()[0])
    a, b, c = ids_of(mix)
    mix.rename(a, "fam").rename(b, "near").rename("near", "beside")
    assert mix.card("fam") == mix.card(a) and mix.card("beside").name == "beside"
    assert mix.explain(CENTRES[2], against="fam") == mix.explain(CENTRES[2], against=a)
    assert mix.pin("fam").card(a).pinned and not mix.unpin("fam").card(a).pinned
    assert mix.merge_clusters(["fam", b, str(c)]) == a and mix.n_clusters_ == 1
    assert mix.split_cluster("fam") in mix.cluster_ids_ and mix.n_clusters_ == 2


ASKED = {
    "card": lambda mix, which: mix.card(which),
    "rename": lambda mix, which: mix.rename(which, "x"),
    "merge": lambda mix, which: mix.merge_clusters([which, mix.cluster_ids_[0]]),
    "split": lambda mix, which: mix.split_cluster(which),
    "pin": lambda mix, which: mix.pin(which),
    "unpin": lambda mix, which: mix.unpin(which),
    "explain": lambda mix, which: mix.explain(CENTRES[0], against=which),
}


@pytest.mark.parametrize("ask", ASKED.values(), ids=ASKED)
def test_a_name_that_no_cluster_has_is_told_by_every_method(ask):
    mix = em.Mixture().partial_fit(rows()[0])
    mix.rename(int(mix.cluster_ids_[0]), "family")
    with pytest.raises(ValueError, match="no cluster has the name 'famly'. Did you mean 'family'"):
        ask(mix, "famly")
    for wrong in (0.5, None, [0]):
        if wrong is None and ask is ASKED["explain"]:
            continue
        with pytest.raises(TypeError, match="called by its id or its name, such as 3 or 'tall'"):
            ask(mix, wrong)
    with pytest.raises(TypeError, match=r"a list of ids, .*, got 'family'"):
        mix.merge_clusters("family")


# ---- merges ------------------------------------------------------------------------------------


@pytest.mark.parametrize("learn", ["fit", "partial_fit"])
def test_what_was_merged_is_the_sum_and_stays_merged(learn, tmp_path):
    X, y = rows()
    mix = getattr(em.Mixture(), learn)(X)
    a, b, c = ids_of(mix)
    assert len({a, b, c}) == 3
    mass, stats = totals(mix)
    assert mix.merge_clusters([a, b]) == a
    assert ids_of(mix) == [a, a, c] and mix.lineage_.into[b] == a
    assert mix.card(a).pinned and mix.card(a).merged == (b,)
    assert mix.card(a).changes[0][::2] == ("merge", (a, b))
    np.testing.assert_allclose(totals(mix)[0], mass)
    np.testing.assert_allclose(totals(mix)[1], stats)
    assert set(mix.labels_[y == 1]) == {a}  # labels follow
    mix = again(mix, tmp_path / "m.evermix")
    mix.partial_fit(rows(4000, seed=1)[0])
    assert ids_of(mix) == [a, a, c]
    assert mix.card(a).size == pytest.approx(4600 * 2 / 3, rel=0.1)


def test_unpinned_a_review_may_take_it_apart_again():
    X, _ = rows()
    mix = em.Mixture().partial_fit(X)
    a, b, _ = ids_of(mix)
    mix.merge_clusters([a, b], pin=False)
    mix.partial_fit(rows(4000, seed=1)[0])
    assert len(set(ids_of(mix))) == 3


def test_a_merge_keeps_a_name_and_wants_two():
    mix = em.Mixture().partial_fit(rows()[0])
    a, b, c = ids_of(mix)
    mix.rename(b, "b").merge_clusters([a, b])
    assert mix.card(a).name == "b"
    for ids in ([], [a], [a, a]):
        with pytest.raises(ValueError, match="two or more different ids"):
            mix.merge_clusters(ids)
    with pytest.raises(
        TypeError, match=rf"list of ids, such as merge_clusters\(\[2, 4\]\), got {a}"
    ):
        mix.merge_clusters(a, c)
    with pytest.raises(ValueError, match=f"no cluster {b};"):
        mix.merge_clusters([c, b])
    assert mix.merge_clusters([c, a]) == c and mix.n_clusters_ == 1
    mix.partial_fit(rows(1000, seed=1)[0])


# ---- splits ------------------------------------------------------------------------------------


NEAR = np.array([[0.0, 0.0], [7.0, 0.0], [0.0, 40.0]])


def joined(n=600, **settings):
    """A model in which the first two of three true clusters are one."""
    X, y = rows(n, centres=NEAR)
    mix = given(**settings).partial_fit(X[y == 2]).partial_fit(X)
    if len(set(ids_of(mix, NEAR))) == 3:
        mix.merge_clusters(ids_of(mix, NEAR)[:2], pin=False)
    return mix, X, y


@pytest.mark.parametrize("n", [600, 9000])
def test_a_cluster_is_split_by_the_rows_that_are_kept(n, tmp_path):
    mix, X, y = joined(n)
    a, b, c = ids_of(mix, NEAR)
    assert a == b != c
    mass, next_id = mix.tally_.mass.sum(), mix.lineage_.next_id
    assert mix.state_.lookback.complete == (n == 600)
    new = mix.split_cluster(a)
    assert new == next_id and set(ids_of(mix, NEAR)[:2]) == {a, new}
    assert mix.tally_.mass.sum() == pytest.approx(mass)
    sizes = [mix.card(id).size for id in (a, new)]
    assert sizes == pytest.approx([n / 3, n / 3], rel=0.1)
    assert mix.card(new).changes[0][::2] == ("split", (a, new))
    mix = again(mix, tmp_path / "m.evermix").partial_fit(rows(4000, seed=1, centres=NEAR)[0])
    assert set(ids_of(mix, NEAR)[:2]) == {a, new}


def test_a_cluster_is_split_on_given_rows():
    X, y = rows(centres=NEAR)
    mix = em.Mixture().fit(X)
    a, b, c = ids_of(mix, NEAR)
    mix.merge_clusters([a, b])
    with pytest.raises(ValueError, match="keeps no rows"):
        mix.split_cluster(a)
    new = mix.split_cluster(a, X)  # rows of the third cluster are left out
    assert {a, new} == set(ids_of(mix, NEAR)[:2]) and ids_of(mix, NEAR)[2] == c
    assert mix.card(c).size == pytest.approx((y == 2).sum(), abs=1)


def test_what_cannot_be_split_stays_as_it_is():
    mix = given(lookback=0).partial_fit(rows()[0])
    before = mix.state_
    with pytest.raises(ValueError, match="cannot be split on 50 rows"):
        mix.split_cluster(ids_of(mix)[0], np.zeros((50, 2)))
    with pytest.raises(ValueError, match="cannot be split on 1 row: "):
        mix.split_cluster(ids_of(mix)[0], CENTRES)
    assert mix.state_ is before
    full = em.Mixture(max_clusters=3).partial_fit(rows()[0])
    with pytest.raises(ValueError, match="max_clusters=3"):
        full.split_cluster(ids_of(full)[0])


@pytest.mark.parametrize("name", sorted(em.families.FAMILIES))
def test_clusters_of_every_family_are_merged_and_split(name):
    X = data_for(name, n=300)
    family = em.families.FAMILIES[name]().candidates(X)[0]
    mix = em.Mixture(family, em.DP(5.0), em.ADF()).partial_fit(X)
    mass, stats = totals(mix)
    first, second = (card.id for card in mix.cards(top=2, tiny=True))
    mix.merge_clusters([first, second])
    np.testing.assert_allclose(totals(mix)[1], stats, atol=1e-9)
    new = mix.split_cluster(first, X)
    assert totals(mix)[0] == pytest.approx(mass)
    assert {first, new} <= set(mix.cluster_ids_)
    mix.partial_fit(X)
    assert {first, new} <= set(mix.cluster_ids_)
    assert np.isfinite(mix.score(X))


# ---- pins --------------------------------------------------------------------------------------


def dusty():
    """A model with many clusters of one blob, which a stream would join, and dust."""
    X = np.random.default_rng(3).normal(size=(4000, 2))
    engine = em.ADF(birth=0.01, merge=None)
    return em.Mixture(em.Gaussian(0.0, 0.1, 4.0, 0.05), em.DP(5.0), engine).partial_fit(X)


def test_pinned_clusters_are_in_no_merge():
    mix = dusty()
    assert (gone := join(mix.model_, deepcopy(mix.state_), 0.0)[0]) is not None
    state = deepcopy(mix.state_)
    state.lineage.hand.pinned |= set(gone)
    merges = join(mix.model_, state, 0.0)
    assert not set(gone) & {id for pair in merges for id in pair}
    assert set(gone) <= set(state.tally.ids)


def test_pinned_dust_stays():
    mix = dusty()
    state = deepcopy(mix.state_)
    state.tally.extras["hard"][3:] = 0.0
    state.tally.mass[3:] = 0.1
    state.tally.extras["log_empty"][3:] = np.log(0.9)
    pinned = int(state.tally.ids[5])
    loose = deepcopy(state)
    assert pinned in prune(loose)
    state.lineage.hand.pinned.add(pinned)
    assert pinned not in prune(state) and pinned in state.tally.ids


def test_a_review_ends_no_pinned_cluster():
    """Two halves of one blob."""
    X = np.random.default_rng(0).normal(size=(3000, 2))
    for pinned in (False, True):
        mix = given().partial_fit(X[:500])
        new = mix.split_cluster(mix.cards()[0].id, pin=False)
        if pinned:
            mix.pin(new)
        mix.partial_fit(X[500:])
        assert (new in mix.cluster_ids_) == pinned
    assert mix.card(new).size > 100
    assert mix.unpin(new).partial_fit(X).n_clusters_ == 1


def test_a_pinned_cluster_does_not_fade():
    X, y = rows()
    for pinned in (False, True):
        mix = em.Mixture(FAMILY, em.DP(1.0), forgetting=em.Exponential(100)).partial_fit(X)
        far = ids_of(mix)[2]
        if pinned:
            mix.pin(far)
        more, _ = rows(5000, seed=1, centres=CENTRES[:2])
        mix.partial_fit(more)
        assert (far in mix.cluster_ids_) == pinned
        if pinned:
            assert ids_of(mix)[2] == far
            mix.partial_fit(CENTRES[[2]] + np.zeros((30, 1)))
            assert mix.card(far).size > 20


def test_a_review_leaves_pinned_clusters_as_they_are():
    """While all rows are kept, and later; beside them it finds others."""
    X, _ = rows(60)
    mix = em.Mixture().partial_fit(np.vstack([X, X, X]))
    a, b, c = ids_of(mix)
    mix.merge_clusters([a, b])
    before = mix.card(a).size
    wide = np.vstack([CENTRES, [[60.0, 60.0]]])
    mix.partial_fit(rows(8000, seed=1, centres=wide)[0])
    assert ids_of(mix)[:2] == [a, a] and len(set(ids_of(mix, wide))) == 3
    assert mix.card(a).size == pytest.approx(before + 4000, rel=0.05)


def test_all_clusters_may_be_pinned():
    X, _ = rows(200)
    mix = em.Mixture().partial_fit(X)
    ids = ids_of(mix)
    for id in mix.cluster_ids_:
        mix.pin(id)
    wide = np.vstack([CENTRES, [[60.0, 60.0]]])
    mix.partial_fit(rows(3000, seed=1, centres=wide)[0])
    assert ids_of(mix) == ids and len(set(ids_of(mix, wide))) == 4


# ---- files, cuts and what is refused -----------------------------------------------------------


def edited(mix):
    a, b, c = ids_of(mix)
    mix.merge_clusters([a, b])
    mix.split_cluster(c)
    return mix.rename(a, "both").pin(c)


@pytest.mark.parametrize("mix", [em.Mixture(), given(), given(lookback=0)], ids=str)
def test_going_on_is_the_same_whatever_the_cuts_and_files(mix, tmp_path):
    X, more = rows()[0], rows(3000, seed=1)[0]
    mix = mix.partial_fit(X)
    if mix.state_.lookback is None:
        mix.merge_clusters(ids_of(mix)[:2])
        mix.split_cluster(ids_of(mix)[2], X)
        mix.rename(ids_of(mix)[0], "both")
    else:
        edited(mix)
    cut = again(mix, tmp_path / "m.evermix")
    assert cut.lineage_ == mix.lineage_ and cut.lineage_.hand.names
    whole = again(mix, tmp_path / "m.evermix").partial_fit(more)
    for start in range(0, 3000, 700):
        cut.partial_fit(more[start : start + 700])
        cut = again(cut, tmp_path / "n.evermix")
    cut.learner_.results = whole.learner_.results
    assert_same(whole, cut)


def test_texts_too_are_merged_split_and_kept(tmp_path):
    X, y = texts(600)
    mix = em.Mixture().partial_fit(X)
    one, two = (card.id for card in mix.cards(top=2))
    mix.rename(one, "first").merge_clusters([one, two])
    mix = again(mix, tmp_path / "m.evermix").partial_fit(texts(600, seed=0)[0])
    assert mix.card(one).name == "first" and two not in mix.cluster_ids_
    new = mix.split_cluster(one)
    assert {one, new} <= set(mix.cluster_ids_)


def test_files_that_lie_about_people_are_refused(tmp_path):
    path = tmp_path / "m.evermix"
    mix = edited(em.Mixture().partial_fit(rows()[0]))
    mix.save(path)
    arrays, header = checkpoint.read(path)
    hand, (a, *_) = header["state"]["hand"], mix.cluster_ids_.tolist()
    gone = next(id for id, heir in enumerate(mix.lineage_.into) if heir >= 0)
    lies = [
        {"pinned": [gone]},
        {"pinned": [-1]},
        {"names": [[99, "x"]]},
        {"names": [[a, "x"], [a, "y"]]},
        {"names": [[a, "\n"]]},
        {"changes": [["sing", 1, [a]]]},
        {"changes": [["merge", -1, [a]]]},
        {"more": 1},
    ]
    for lie in lies:
        forged = header | {"state": header["state"] | {"hand": hand | lie}}
        checkpoint.write(path, arrays, forged)
        with pytest.raises(CheckpointError):
            em.load(path)
    checkpoint.write(path, arrays, header)
    assert em.load(path).lineage_ == mix.lineage_


ENGINES = [em.RCRP(), em.DPMeans(), em.EP(laps=1), em.MemoizedVB(laps=9), em.FullVB(laps=2)]


@pytest.mark.parametrize("engine", ENGINES, ids=lambda engine: type(engine).__name__)
def test_engines_that_cannot_keep_it_say_so(engine):
    mix = em.Mixture(em.FixedGaussian(1.0, 100.0), em.DP(1.0), engine, random_state=0)
    mix.fit(rows()[0])
    a, b = mix.cluster_ids_[:2]
    mix.rename(a, "named")
    assert mix.card(a).name == "named"
    for ask in (
        lambda: mix.pin(a),
        lambda: mix.merge_clusters([a, b]),
        lambda: mix.split_cluster(a),
    ):
        with pytest.raises(TypeError, match=f"{type(engine).__name__} cannot keep what people"):
            ask()


def test_samplers_have_no_clusters_to_name():
    mix = em.Mixture(em.FixedGaussian(1.0, 100.0), em.DP(1.0), em.Gibbs(sweeps=3, burn_in=1))
    mix.fit(rows(60)[0])
    with pytest.raises(TypeError, match="one draw"):
        mix.rename(0, "x")


def test_an_edited_fit_is_a_stream():
    X, _ = rows()
    mix = em.Mixture().fit(X)
    mix.pin(0)
    with pytest.raises(ValueError, match="no fit to go on with"):
        mix.resume(X)


def test_merged_models_keep_names_and_pins():
    X, _ = rows(900)
    first = given(lookback=0).partial_fit(X[:450])
    engine = em.Mixture(first.model_.family, em.DP(1.0), em.ADF(lookback=0))
    second = engine.partial_fit(X[450:])
    first.rename(ids_of(first)[0], "one")
    second.rename(ids_of(second)[1], "two").pin(ids_of(second)[1])
    both = em.merge([first, second])
    a, b, _ = ids_of(both)
    assert (both.card(a).name, both.card(b).name, both.card(b).pinned) == ("one", "two", True)


def test_laps_of_a_fit_count_its_rows_once(tmp_path):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 2)) + 9.0 * rng.integers(3, size=(300, 1))
    mix = em.Mixture(random_state=0).fit(X)
    assert mix.state_.clock > 300  # several laps
    first, second, *_ = mix.cluster_ids_.tolist()
    mix.rename(first, "near")
    mix.merge_clusters([first, second])
    assert mix.state_.clock == 300
    assert {change.clock for change in mix.lineage_.hand.changes} == {300}
    card = mix.card(first)
    assert (card.born, card.age, card.last_seen) == (None, None, None)
    mix.report(tmp_path / "page.html", X)
    page = (tmp_path / "page.html").read_text()
    assert f"{mix.n_clusters_} clusters in 300 rows" in page
    mix.partial_fit(X[:10] + 100.0)
    assert mix.state_.clock == 310
    assert 300 < mix.card(mix.cluster_ids_[-1]).born <= 310
