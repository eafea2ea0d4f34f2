"""Chains of topic models begin at several topics, and do not stay at one."""

import numpy as np
import pytest

import evermix as em
from evermix.topics.hierarchies import FIRST_SIGMA
from evermix.topics.words.franchise import Franchise
from evermix.topics.words.samplers import H1, H2
from evermix.topics.words.starts import HELD_SWEEPS, MOST, begin, first_number
from helpers.franchise_oracles import corpus, seating


def drawn(seed=0):
    """Sixty documents of 60 words, from six topics of ten words each."""
    rng = np.random.default_rng(seed)
    topics = np.repeat(np.eye(6), 10, axis=1) / 10
    return np.array(
        [rng.multinomial(60, rng.dirichlet(np.full(6, 0.2)) @ topics) for _ in range(60)]
    )


def test_the_number_of_first_topics_grows_with_the_words():
    numbers = [first_number(n) for n in (1, 100, 10_000, 1_000_000, 10**9)]
    assert numbers[0] == 1
    assert numbers == sorted(numbers)
    assert numbers[-1] == MOST


@pytest.mark.parametrize(
    "prior", [em.HDP(), em.HMNGG(), em.HTNGG(), em.HSNGG(window=1)], ids=lambda x: type(x).__name__
)
def test_chains_begin_where_the_measure_allows_it(prior):
    """All words have a topic that their time may see, and one table for each topic."""
    counts = drawn()
    words = corpus(counts, tuple(np.arange(60) % 5) if prior.timed else (0,) * 60)
    measure = prior.measure(np.ones(words.n_times))
    chain = Franchise.start(measure, seating(words), 0.1, words)
    begin(words, chain, np.random.default_rng(0))
    assert chain.K > 1
    assert np.array_equal(np.unique(chain.dish), np.arange(chain.K))
    seen = measure.q[chain.region[chain.dish], words.time[words.document]]
    assert np.all(seen > 0)
    assert np.all(chain.on[words.time[words.document], chain.dish])
    pairs = np.unique(np.column_stack([words.document, chain.dish]), axis=0)
    assert chain.opens.sum() == len(pairs)
    tables = np.unique(np.column_stack([words.document, chain.table]), axis=0)
    assert len(tables) == len(pairs)
    assert np.isfinite(chain.log_joint(words))


@pytest.mark.parametrize("sampler", [H1(), pytest.param(H2(), marks=pytest.mark.slow)], ids=repr)
def test_no_chain_stays_at_a_single_topic(sampler):
    """Six topics are found from every seed, and predict new documents equally well."""
    X, new = drawn(0), drawn(1)
    found = []
    for seed in range(5):
        model = em.TopicModel(em.HDP(), sampler=sampler, burn_in=150, draws=20, random_state=seed)
        model.fit(X)
        assert model.n_topics_ >= 6
        found.append(model.perplexity(new))
    assert max(found) < 1.02 * min(found)
    assert max(found) < 30  # a single topic would have 60


def test_sigma_of_documents_stays_in_the_first_sweeps_of_a_burn_in():
    """It begins low, moves as soon as tables say something of it, and draws always have its law."""
    run = em.TopicModel(em.HNGG(), burn_in=0, draws=1, random_state=0)._begun(
        em.HNGG(), H1(), corpus(drawn(), (0,) * 60)
    )
    for _ in range(HELD_SWEEPS):
        run.sweep(keep=False)
        assert run.chains[0].seating.sigma == FIRST_SIGMA
    laws = run.chains[0].seating.laws
    assert laws.sigma is not None
    run.sweep(keep=False)
    assert run.chains[0].seating.sigma != FIRST_SIGMA


def test_without_a_burn_in_sigma_moves_at_once():
    model = em.TopicModel(em.HNGG(), burn_in=0, draws=2, random_state=0).fit(drawn())
    assert len({FIRST_SIGMA, *model.traces_["sigma"]}) == 3


def test_a_fixed_sigma_is_that_of_the_prior():
    model = em.TopicModel(em.HNGG(sigma=0.6), burn_in=2, draws=2, random_state=0).fit(drawn())
    assert np.all(model.traces_["sigma"] == 0.6)


def test_a_fit_goes_on_where_sigma_was_held(tmp_path):
    """A fit that was stopped while sigma stays ends where one ends that was not."""
    X = drawn()

    def stop(model, sweep):
        if sweep.number == HELD_SWEEPS // 2:
            raise KeyboardInterrupt

    model = em.TopicModel(em.HNGG(), burn_in=HELD_SWEEPS + 5, draws=4, random_state=0)
    whole = em.TopicModel(em.HNGG(), burn_in=HELD_SWEEPS + 5, draws=4, random_state=0).fit(X)
    with pytest.raises(KeyboardInterrupt):
        model.fit(X, observers=[stop])
    model.save(tmp_path / "topics.evermix")
    again = em.load(tmp_path / "topics.evermix").resume(X)
    for name, values in whole.traces_.items():
        np.testing.assert_array_equal(again.traces_[name], values, err_msg=name)
