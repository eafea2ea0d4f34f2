"""Fits of topic models that are saved, interrupted, fail half way, and go on."""

import os
import signal
from types import SimpleNamespace

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

import evermix as em
from evermix.estimators.topics.report import course_of
from evermix.io import checkpoint
from evermix.topics.words.snapshots import Snapshot, WordRun
from evermix.topics.words.sweeps import SeatedSweep
from helpers.topic_cases import SHORT, YEARS, X


@pytest.fixture(scope="module")
def fitted():
    return em.TopicModel(em.HMNGG(), burn_in=80, draws=60, random_state=1).fit(X, times=YEARS)


GOING_ON = [
    (em.HDP(), em.H1()),
    (em.HTNGG(), em.H1()),
    (em.HTNGG(), em.H1(slices=True)),
    (em.HMNGG(), em.H2()),
    (em.HTNGP(), em.H2()),
    (em.MNGG(), em.M1()),
    (em.MNGG(), em.M3()),
    (em.TNGG(), None),
]


@pytest.mark.parametrize(("prior", "sampler"), GOING_ON, ids=lambda x: type(x).__name__)
def test_saved_fits_go_on_bit_for_bit(prior, sampler, tmp_path):
    settings = {"prior": prior, "sampler": sampler, "burn_in": 3, "random_state": 3, "chains": 2}
    times = None if isinstance(prior, em.HDP) else YEARS
    whole = em.TopicModel(draws=9, **settings).fit(X, times=times)
    part = em.TopicModel(draws=4, **settings).fit(X, times=times)
    part.save(tmp_path / "topics.evermix")
    loaded = em.load(tmp_path / "topics.evermix").set_params(draws=9).resume(X, times)
    for name, values in whole.traces_.items():
        np.testing.assert_array_equal(loaded.traces_[name], values)
    np.testing.assert_array_equal(loaded.components_, whole.components_)
    assert loaded.perplexity(X, YEARS) == whole.perplexity(X, YEARS)


def test_loaded_models_answer_as_before(fitted, tmp_path):
    fitted.save(tmp_path / "topics.evermix")
    loaded = em.load(tmp_path / "topics.evermix")
    np.testing.assert_array_equal(loaded.transform(X, YEARS), fitted.transform(X, YEARS))
    np.testing.assert_array_equal(loaded.evolution_, fitted.evolution_)
    assert loaded.get_params().keys() == fitted.get_params().keys()
    assert loaded.prior == em.HMNGG()


def test_files_from_before_alpha_was_learnt_go_on_bit_for_bit(tmp_path):
    """They have one number for all draws, in the header alone."""
    path, settings = tmp_path / "topics.evermix", {"alpha": 0.3, "burn_in": 3, "random_state": 3}
    whole = em.TopicModel(em.HDP(), draws=9, **settings).fit(X)
    em.TopicModel(em.HDP(), draws=4, **settings).fit(X).save(path)
    arrays, header = checkpoint.read(path)
    assert header["beta"] == 0.3
    for name in list(arrays):
        if name.endswith(".beta"):
            del arrays[name]
        elif name.endswith(".numbers"):
            arrays[name] = arrays[name][:5].copy()
    checkpoint.write(path, arrays, header)
    loaded = em.load(path)
    assert loaded.alpha == 0.3
    loaded.set_params(draws=9).resume(X)
    np.testing.assert_array_equal(loaded.traces_["log_joint"], whole.traces_["log_joint"])
    np.testing.assert_array_equal(loaded.components_, whole.components_)
    assert loaded.perplexity(X) == whole.perplexity(X)


@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("chain.0.dish", lambda x: x + 1),
        ("chain.0.beta", lambda x: -x),
        ("draws.0.0.numbers", lambda x: -x),
        ("chain.0.opens", lambda x: x[:-1]),
        ("chain.0.region", lambda x: x - 9),
        ("chain.0.on", lambda x: x[:1]),
        ("chain.0.measure.u", lambda x: x[:1]),
        ("draws.0.0.words", lambda x: x[:1]),
        ("draws.0.0.counts.indices", lambda x: x + 1000),
        ("draws.0.0.measure.q", lambda x: -x),
        ("traces", lambda x: x[..., 1:]),
    ],
)
def test_files_that_were_edited_are_not_loaded(fitted, name, change, tmp_path):
    path = tmp_path / "topics.evermix"
    fitted.save(path)
    arrays, header = checkpoint.read(path)
    arrays[name] = np.ascontiguousarray(change(arrays[name]))
    checkpoint.write(path, arrays, header)
    with pytest.raises(em.CheckpointError, match="not hold a whole"):
        em.load(path)


def test_kept_draws_depend_on_their_number_alone(monkeypatch):
    """Few are kept however long a chain is, at even distances."""
    monkeypatch.setattr("evermix.topics.words.snapshots.MAX_SNAPSHOTS", 4)
    topics = em.TopicModel(em.HDP(), burn_in=1, draws=13, random_state=0).fit(X)
    assert [snapshot.draw for snapshot in topics._fitted.run.snapshots[0]] == [0, 8]
    short = em.TopicModel(em.HDP(), burn_in=1, draws=5, random_state=0).fit(X)
    again = short.set_params(draws=13).resume(X)
    assert [snapshot.draw for snapshot in again._fitted.run.snapshots[0]] == [0, 8]


@pytest.mark.parametrize("after", [2, 5])
def test_interrupts_leave_a_model_that_can_be_used_and_go_on(after, monkeypatch, tmp_path):
    sweep, calls = em.H1.sweep, []

    def stopped(self, *args):
        sweep(self, *args)
        calls.append(1)
        if len(calls) == after:
            os.kill(os.getpid(), signal.SIGINT)

    settings = {"burn_in": 3, "draws": 4, "random_state": 0}
    whole = em.TopicModel(em.HDP(), **settings).fit(X)
    topics = em.TopicModel(em.HDP(), **settings)
    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr(em.H1, "sweep", stopped)
        topics.fit(X)
    assert topics.transform(X).shape == (24, topics.n_topics_)
    topics.save(tmp_path / "topics.evermix")
    loaded = em.load(tmp_path / "topics.evermix")
    assert loaded.n_topics_ == topics.n_topics_
    np.testing.assert_array_equal(loaded.resume(X).traces_["log_joint"], whole.traces_["log_joint"])


@pytest.mark.parametrize("chains", [1, 2])
def test_a_sweep_that_fails_leaves_everything_as_it_was(chains, monkeypatch):
    """Words have been moved by then, to topics that the chain does not know yet."""
    settings = {"burn_in": 3, "draws": 4, "chains": chains, "random_state": 0}
    whole = em.TopicModel(em.HDP(), **settings).fit(X)
    finish, calls = SeatedSweep._finish, []

    def fails(self):
        calls.append(1)
        if len(calls) == 4:
            raise MemoryError
        finish(self)

    topics = em.TopicModel(em.HDP(), **settings)
    with monkeypatch.context() as patch, pytest.raises(MemoryError):
        patch.setattr(SeatedSweep, "_finish", fails)
        topics.fit(X)
    assert topics.n_sweeps_ == {1: 3, 2: 1}[chains]
    np.testing.assert_array_equal(topics.resume(X).traces_["log_joint"], whole.traces_["log_joint"])


@pytest.mark.parametrize(("prior", "sampler"), GOING_ON, ids=lambda x: type(x).__name__)
def test_a_sweep_that_fails_at_its_end_leaves_everything_as_it_was(prior, sampler, monkeypatch):
    """Everything has been moved by then, in both chains."""
    settings = {"burn_in": 2, "draws": 4, "chains": 2, "random_state": 0}
    times = None if isinstance(prior, em.HDP) else YEARS
    whole = em.TopicModel(prior, sampler=sampler, **settings).fit(X, times=times)
    move = WordRun._move

    def fails(self, chain, rng):
        move(self, chain, rng)
        if self.sweeps == 3:
            raise MemoryError

    topics = clone(whole)
    with monkeypatch.context() as patch, pytest.raises(MemoryError):
        patch.setattr(WordRun, "_move", fails)
        topics.fit(X, times=times)
    assert topics.n_sweeps_ == 3
    topics.resume(X, times)
    for name, values in whole.traces_.items():
        np.testing.assert_array_equal(topics.traces_[name], values)


def test_a_draw_that_cannot_be_kept_leaves_everything_as_it_was(monkeypatch):
    settings = {"burn_in": 2, "draws": 4, "chains": 2, "random_state": 0}
    whole = em.TopicModel(em.HDP(), **settings).fit(X)
    of, calls = Snapshot.of, []

    def fails(*args):
        calls.append(1)
        if len(calls) == 4:  # that of the second chain
            raise MemoryError
        return of(*args)

    topics = em.TopicModel(em.HDP(), **settings)
    with monkeypatch.context() as patch, pytest.raises(MemoryError):
        patch.setattr(Snapshot, "of", fails)
        topics.fit(X)
    assert topics.n_sweeps_ == 3
    assert [len(rows) for rows in topics._fitted.run.rows] == [1, 1]
    np.testing.assert_array_equal(topics.resume(X).traces_["log_joint"], whole.traces_["log_joint"])


def test_a_fit_that_fails_before_its_first_sweep_leaves_the_old_model(monkeypatch):
    topics = em.TopicModel(em.HDP(), burn_in=1, draws=1, random_state=0)

    def fails(*_):
        raise MemoryError

    with monkeypatch.context() as patch:
        patch.setattr(SeatedSweep, "_finish", fails)
        with pytest.raises(MemoryError):
            topics.fit(X)
        with pytest.raises(NotFittedError):
            topics.transform(X)
    before = topics.fit(X).components_
    with monkeypatch.context() as patch, pytest.raises(MemoryError):
        patch.setattr(SeatedSweep, "_finish", fails)
        topics.fit(X[:5])
    np.testing.assert_array_equal(topics.components_, before)


@pytest.mark.parametrize("sampler", [em.H1(jumps=False), em.H2(jumps=False)], ids=repr)
def test_sets_of_many_times_are_not_visited(sampler):
    topics = em.TopicModel(em.HTNGG(), sampler=sampler, burn_in=1, draws=1)
    with pytest.raises(ValueError, match=r"at most 8 times, got 24. Leave out jumps=False"):
        topics.fit(X, times=np.arange(24))


def test_observers_hear_of_every_sweep_and_change_nothing(tmp_path):
    """Also one that saves the model, from which a fit goes on as if it had not stopped."""
    heard = []

    def watch(topics, sweep):
        heard.append(sweep)
        if sweep.number == 4:
            topics.save(tmp_path / "topics.evermix")

    topics = em.TopicModel(em.HDP(), burn_in=3, draws=4, chains=2, random_state=0)
    topics.fit(X, observers=[watch])
    alone = clone(topics).fit(X)
    assert [(sweep.number, sweep.kept) for sweep in heard] == [(i, i > 3) for i in range(1, 8)]
    log_joint = np.array([sweep.log_joint for sweep in heard[3:]]).T.ravel()
    np.testing.assert_array_equal(log_joint, alone.traces_["log_joint"])
    np.testing.assert_array_equal(
        np.array([sweep.n_topics for sweep in heard[3:]]).T.ravel(), alone.traces_["n_topics"]
    )
    assert all(np.all(np.isfinite(sweep.log_joint)) for sweep in heard)
    again = em.load(tmp_path / "topics.evermix").resume(X, observers=[watch])
    assert [sweep.number for sweep in heard[7:]] == [5, 6, 7]
    np.testing.assert_array_equal(again.traces_["log_joint"], alone.traces_["log_joint"])
    with pytest.raises(TypeError, match="observers must be"):
        clone(topics).fit(X, observers=[3])


def test_a_fit_that_ended_in_its_burn_in_has_no_traces():
    topics = em.TopicModel(em.HDP(), burn_in=2, draws=1, random_state=0).fit(X)
    topics._fitted.run.rows, topics._fitted.run.snapshots = [], []
    with pytest.raises(AttributeError, match="no draw was kept yet"):
        topics.traces_  # noqa: B018


@pytest.mark.parametrize(
    ("name", "other"),
    [("alpha", 0.2), ("prior", em.MNGG(2)), ("sampler", em.M3()), ("chains", 2)],
)
def test_a_fit_does_not_go_on_with_other_settings(name, other, tmp_path):
    """They were ignored, and files could not be read that said so."""
    topics = em.TopicModel(em.MNGG(3), sampler=em.M1(), **SHORT).fit(X)
    components = topics.components_
    topics.set_params(**{name: other})
    with pytest.raises(ValueError, match=f"the fit was begun with {name}="):
        topics.resume(X)
    assert topics.sampler_ == em.M1()
    topics.save(tmp_path / "topics.evermix")
    loaded = em.load(tmp_path / "topics.evermix")
    np.testing.assert_array_equal(loaded.components_, components)
    before = em.TopicModel().alpha
    loaded.set_params(alpha=before, prior=em.MNGG(3), sampler=None, chains=1).resume(X)


def test_other_documents_are_not_those_of_the_fit(fitted):
    with pytest.raises(ValueError, match="not the documents"):
        clone(fitted).set_params(**SHORT).fit(X, times=YEARS).resume(X[::-1], YEARS)
    with pytest.raises(ValueError, match="cannot go on with chains=3"):
        clone(fitted).set_params(**SHORT).fit(X, times=YEARS).set_params(chains=3).resume(X, YEARS)


@pytest.mark.parametrize("rises", [[np.nan], [0.0], [0.2]])
def test_the_course_of_a_fit_is_told_with_a_verb(rises):
    """Since "the fit" stands before it on the command line."""
    told = course_of(SimpleNamespace(climbing_=np.array(rises), draws=9))
    assert told.startswith(("shows ", "still improves, ", "cannot be judged "))
