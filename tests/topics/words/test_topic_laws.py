"""Laws of hierarchical topic models: learnt numbers, new documents, and what they are made of."""

import math
from collections import Counter
from itertools import product

import numpy as np
import pytest
from scipy import sparse, special

import evermix as em
from evermix.kernels.stirling import log_stirling_sum, seat_ratios
from evermix.kernels.weights import QUADRATURE, new_weight
from evermix.priors import Beta, Gamma
from evermix.topics.measures import Laws
from evermix.topics.words.corpus import Corpus
from evermix.topics.words.evaluation import fold_flat, fold_in, freeze, halves
from evermix.topics.words.franchise import Franchise
from evermix.topics.words.samplers import H1, H2
from evermix.topics.words.snapshots import Snapshot
from helpers import plain_franchise as plain
from helpers.dependent_oracles import mixed, thinned
from helpers.franchise_oracles import (
    corpus,
    log_document,
    log_words,
    one_measure,
    seating,
    walk_chain,
)
from helpers.oracles import set_partitions

LEARNT = Laws(Beta(3.0, 3.0), Gamma(6.0, 3.0))  # means 1/2 and 2
SWEEPS = 2000


# ---- Stirling numbers ------------------------------------------------------------------------


@pytest.mark.parametrize("sigma", [0.0, 0.3, 0.95])
def test_ratios_of_stirling_numbers_follow_the_recursion(sigma):
    S, out = plain.stirling(12, sigma), np.empty((12, 7, 2))
    seat_ratios(sigma, out)
    for n in range(12):
        for t in range(min(n, 6) + 1):
            if t or not n:
                stay = S[n + 1, t] / S[n, t] * (n + 1 - t) / (n + 1)
                leave = S[n + 1, t + 1] / S[n, t] * (t + 1) / (n + 1)
                np.testing.assert_allclose(out[n, t], [stay, leave], rtol=1e-12)


@pytest.mark.parametrize("sigma", [0.0, 0.3, 0.95])
def test_logs_of_stirling_numbers_are_those_of_the_recursion(sigma):
    S, times = plain.stirling(12, sigma), np.zeros((13, 8), dtype=np.int64)
    times[5, 2], times[12, 7], times[3, 1], times[4, 4], times[12, 1] = 2, 1, 4, 2, 1
    want = sum(m * math.log(S[n, t]) for (n, t), m in np.ndenumerate(times) if m)
    assert log_stirling_sum(sigma, times) == pytest.approx(want, rel=1e-12)


def test_sums_over_seats_are_stirling_numbers():
    """The joint density without seats is the sum of those with seats."""
    words, sigma = corpus(np.array([[3, 0], [1, 2]]), (0, 0)), 0.3
    below, measure = seating(words, sigma=sigma), one_measure()
    chain = Franchise.start(measure, below, 0.5, words)
    chain.dish[:], chain.region = [0, 0, 0, 1, 1, 1], np.zeros(2, dtype=np.int64)
    chain.on, chain.opens[:] = np.ones((1, 2), dtype=bool), [1, 1, 0, 1, 0, 0]
    without = chain.log_joint(words)
    each = []
    for table in ([0, 0, 1], [0, 1, 0], [0, 1, 1]):  # three words at two tables
        chain.table[:] = [*table, 0, 0, 0]
        each.append(chain.log_joint(words))
    assert np.logaddexp.reduce(each) == pytest.approx(without, rel=1e-12)


# ---- what is learnt --------------------------------------------------------------------------


def deviation(values, mean):
    """How many standard errors the mean of a chain is from what it should be, by batches."""
    batches = np.array_split(np.asarray(values), 25)
    means = np.array([batch.mean() for batch in batches])
    return abs(means.mean() - mean) / (means.std(ddof=1) / 5)


def learnt_case(name, words):
    below = seating(words, a=2.0, sigma=0.5, laws=LEARNT)
    if name == "HNGG":
        return one_measure(2.0, 0.5, LEARNT), below
    if name == "HMNGG":
        return mixed(laws=LEARNT._replace(q=Gamma(3.0, 3.0)), a=(2.0, 2.0), sigma=0.5), below
    return thinned(laws=LEARNT._replace(q=Beta(3.0, 3.0)), a=(2.0, 2.0), sigma=0.5), below


def check_laws(chains, has_q):
    rows = []
    for chain in chains:
        measure, below = chain.measure, chain.seating
        numbers = below.sigma, below.mass, measure.sigma, measure.mass[0], chain.beta
        rows.append([*numbers, measure.q[0, 0]])
    wanted = [0.5, 2.0, 0.5, 2.0, 2.0, {"HMNGG": 1.0, "HTNGG": 0.5}.get(has_q)]
    for values, mean in zip(np.array(rows).T, wanted, strict=True):
        if mean is not None:
            assert deviation(values, mean) < 4


def cases(quick, *others):
    """Pairs of a prior and a sampler; all but the quick ones are slow."""
    slow = [pytest.param(*case, marks=pytest.mark.slow) for case in others]
    return pytest.mark.parametrize(("name", "sampler"), [*quick, *slow], ids=repr)


@cases(
    [("HMNGG", H2())],
    ("HNGG", H1()),
    ("HNGG", H2()),
    ("HMNGG", H1()),
    ("HTNGG", H1()),
    ("HTNGG", H2()),
)
def test_without_data_learnt_numbers_keep_their_laws(name, sampler):
    """A vocabulary of one word tells nothing of topics."""
    words = corpus(np.array([[3], [2]]), (0, 0) if name == "HNGG" else (0, 1))
    measure, below = learnt_case(name, words)
    check_laws(walk_chain(sampler, measure, below, words, SWEEPS, beta=LEARNT.mass), name)


def redrawn(words, chain, rng):
    """Draw the words of all documents anew, given their topics, and sort them in documents."""
    counts, word = np.full((chain.K, words.size), chain.beta), np.empty_like(words.word)
    for w, k in enumerate(chain.dish):
        word[w] = rng.choice(words.size, p=counts[k] / counts[k].sum())
        counts[k, word[w]] += 1
    order = np.lexsort((word, words.document))
    for array in (chain.dish, chain.opens, chain.table):
        array[:] = array[order]
    return Corpus(word[order], words.start, words.time, words.size, words.n_times)


@cases([("HNGG", H1())], ("HNGG", H2()), ("HTNGG", H1()), ("HTNGG", H2()))
def test_with_words_drawn_anew_learnt_numbers_keep_their_laws(name, sampler):
    """Geweke's test: sweeps and new data in turn leave the joint law of both invariant."""
    words = corpus(np.array([[2, 1], [1, 2]]), (0, 0) if name == "HNGG" else (0, 1))
    measure, below = learnt_case(name, words)

    def chains():
        rng, data, chain = (
            np.random.default_rng(0),
            words,
            Franchise.start(measure, below, LEARNT.mass, words),
        )
        for sweep in range(SWEEPS):
            sampler.sweep(data, chain, rng)
            data = redrawn(data, chain, rng)
            if sweep > 20:
                yield chain

    check_laws(chains(), name)


# ---- new documents ---------------------------------------------------------------------------


def probabilities(model, beta):
    """Probabilities (V, K + 1) of the words of topics, and of a new one."""
    lists = model.lists
    counts = np.zeros((len(lists.end), model.n_topics))
    for x, (begin, end) in enumerate(zip(lists.start[:-1], lists.end, strict=True)):
        counts[x, lists.topic[begin:end]] = lists.n[begin:end]
    return (beta + counts) * model.inverse


def exact_shares(model, word, beta):
    """Probability of each topic for one more word of a document, over all seatings and dishes."""
    C, n = model.n_topics, len(word)
    p = probabilities(model, beta)
    total, shares = 0.0, np.zeros(C)
    for seats in set_partitions(n):
        sizes = np.bincount(seats)
        seats_p = math.exp(log_document(model.a, model.sigma, sizes.tolist()))
        omega = new_weight(QUADRATURE, model.a, model.sigma, 1.0, float(n), float(len(sizes)))
        for dishes in product(range(C), repeat=len(sizes)):
            weight = seats_p * math.prod(model.top[0, k] for k in dishes)
            weight *= math.prod(p[x, dishes[j]] for x, j in zip(word, seats, strict=True))
            share = omega * model.top[0, :C]
            for k, size in zip(dishes, sizes, strict=True):
                share[k] += size - model.sigma
            total += weight
            shares += weight * share / share.sum()
    return shares / total


@pytest.mark.parametrize("sigma", [0.0, 0.4])
def test_topics_of_new_documents_have_the_posterior_of_the_enumeration(sigma):
    beta, top = 0.3, np.array([[0.5, 0.3, 0.2]])
    model = freeze(np.array([[5, 1], [0, 2]]), top, beta, 0.8, sigma)
    words = corpus(np.array([[2, 1], [0, 3], [0, 0]]), (0, 0, 0))
    theta = fold_in(model, words, beta, 100_000, 10, 0)
    np.testing.assert_allclose(theta.sum(axis=1), 1.0, rtol=1e-11)  # after 300,000 additions
    np.testing.assert_allclose(theta[2], top[0], rtol=1e-12)
    for d, word in enumerate([(0, 0, 1), (1, 1, 1)]):
        np.testing.assert_allclose(theta[d], exact_shares(model, word, beta), atol=0.015)


def flat_case(prior, fresh, rounds):
    """Shares of a document of three words, and what they are made of."""
    beta, counts = 0.3, np.array([[5, 1, 3], [0, 2, 1]])
    snapshot = Snapshot(
        sparse.csr_matrix(counts), counts[:1], counts[:1], np.array([0, 1, 1]), np.ones((1, 3)),
        {"jump": np.array([1.0, 2.0, 0.5]), "fresh": np.array(fresh)}, 0.0, 0.0, 0, 0, 0.0,
        beta,
    )  # fmt: skip
    words = corpus(np.array([[1, 2]]), (0,))
    _, theta = fold_flat(snapshot, prior, words, rounds, 50, 0)
    p = np.column_stack([(beta + counts) / (2 * beta + counts.sum(axis=0)), [0.5, 0.5]])
    return theta[0], p


def test_weights_of_regions_of_new_documents_have_their_posterior():
    """Of two regions, the share of the first of both is a single integral."""
    a, (S0, S1) = 0.7, (1.0 + 0.2, 2.5 + 0.3)
    theta, p = flat_case(em.MNGG(2, q=Gamma(a, 2.0)), (0.2, 0.3), 30_000)
    x = special.expit(np.linspace(-40.0, 40.0, 4001))[:, None]
    share = np.hstack([x * 1.0, (1 - x) * 2.0, (1 - x) * 0.5, x * 0.2 + (1 - x) * 0.3])
    share /= x * S0 + (1 - x) * S1
    weight = (x * (1 - x))[:, 0] ** a * (share @ p[0]) * (share @ p[1]) ** 2
    np.testing.assert_allclose(theta, weight @ share / weight.sum(), atol=0.015)


@pytest.mark.parametrize("law", [0.4, Beta(2.0, 1.0)], ids=["fixed", "learnt"])
def test_topics_that_are_there_for_new_documents_have_their_posterior(law):
    """Of three topics, all eight sets that may be there are enumerated."""
    theta, p = flat_case(em.TNGG(2, q=law), (0.2, 0.3), 30_000)
    grid, prior = np.array([0.4]), np.ones(1)
    if isinstance(law, Beta):
        grid = special.expit(np.linspace(-25.0, 25.0, 201))
        prior = grid**law.a * (1 - grid) ** law.b
    q0, q1 = (q[..., None] for q in np.meshgrid(grid, grid))
    q, total, want = np.stack([q0, q1, q1], axis=-1)[..., 0, :], 0.0, 0.0
    for there in product((0, 1), repeat=3):
        on = np.array(there)
        share = np.concatenate([np.ones_like(q0) * on * [1.0, 2.0, 0.5], q0 * 0.2 + q1 * 0.3], -1)
        share /= share.sum(axis=-1, keepdims=True)
        weight = np.where(on, q, 1 - q).prod(axis=-1) * np.outer(prior, prior)
        weight = weight * (share @ p[0]) * (share @ p[1]) ** 2
        total, want = total + weight.sum(), want + (weight[..., None] * share).sum(axis=(0, 1))
    np.testing.assert_allclose(theta, want / total, atol=0.015)


def test_documents_with_many_tables_make_room_for_them(monkeypatch):
    monkeypatch.setattr("evermix.topics.words.evaluation.FIRST_TABLES", 1)
    model = freeze(np.zeros((1, 1)), np.array([[0.5, 0.5]]), 1.0, 50.0, 0.5)
    words = corpus(np.array([[30]]), (0,))
    theta = fold_in(model, words, 1.0, 5, 5, 0)
    assert theta.sum() == pytest.approx(1.0)


def test_perplexity_is_that_of_the_enumeration(monkeypatch):
    """Averaged over draws inside the log, of the words of the second halves."""
    monkeypatch.setattr("evermix.estimators.topics.fitted.SWEEPS", 20_000)
    X = np.array([[2, 1, 0], [0, 1, 2], [3, 0, 0], [0, 0, 3]])
    topics = em.TopicModel(em.HDP(), None, burn_in=5, draws=3, random_state=0).fit(X)
    assert len(set(topics.traces_["alpha"])) == 3
    new = np.array([[1, 1, 1], [2, 0, 2]])
    first, second = halves(Corpus.of(sparse.csr_matrix(new), np.zeros(2, dtype=int), 1))
    p = np.zeros(len(second))
    for snapshot in topics._fitted.run.all_snapshots():
        model, _ = topics._fitted.shares(snapshot, first, 0)
        for w, (x, d) in enumerate(zip(second.word, second.document, strict=True)):
            theta = exact_shares(model, first.word[first.document == d], snapshot.beta)
            p[w] += theta @ probabilities(model, snapshot.beta)[x] / 3
    assert topics.perplexity(new) == pytest.approx(math.exp(-np.log(p).mean()), rel=0.01)


@pytest.mark.parametrize(("draws", "starts"), [(1, 20), (6, 24), (20, 20)])
def test_perplexity_of_few_draws_is_the_mean_over_several_starts_of_each(draws, starts):
    X = np.array([[2, 1, 0], [0, 1, 2], [3, 0, 0], [0, 0, 3]])
    topics = em.TopicModel(em.HDP(), burn_in=5, draws=draws, random_state=0).fit(X)
    new = np.array([[5, 1, 3], [2, 4, 2]])
    first, second = halves(Corpus.of(sparse.csr_matrix(new), np.zeros(2, dtype=int), 1))
    p, snapshots = np.zeros(len(second)), topics._fitted.run.all_snapshots()
    assert len(snapshots) == draws
    for seed in range(starts):
        snapshot = snapshots[seed % draws]
        model, theta = topics._fitted.shares(snapshot, first, seed)
        by_word = probabilities(model, snapshot.beta)[second.word]
        p += np.einsum("nk,nk->n", theta[second.document], by_word) / starts
    assert topics.perplexity(new) == pytest.approx(math.exp(-np.log(p).mean()), rel=1e-9)


def test_halves_are_fixed_and_make_up_the_documents():
    words = corpus(np.array([[4, 3], [0, 1], [2, 2]]), (0, 0, 0))
    first, second = halves(words)
    assert np.array_equal(first.lengths, [3, 0, 2])
    assert np.array_equal(first.lengths + second.lengths, words.lengths)
    both = Counter(zip(first.document, first.word, strict=True))
    both += Counter(zip(second.document, second.word, strict=True))
    assert both == Counter(zip(words.document, words.word, strict=True))
    assert np.array_equal(halves(words)[0].word, first.word)


@pytest.mark.parametrize("shift", [1e-200, 1e200])
def test_a_weight_without_tables_does_not_make_a_draw_likelier(shift):
    """The density of q itself has no bound at 0, where its law has a shape below one."""
    words = corpus(np.array([[2, 1], [1, 2]]), (0, 1))
    measure = em.HMNGG(regions=3).measure(np.ones(2))
    *_, chain = walk_chain(H1(), measure, seating(words), words, 5)
    unused = np.setdiff1d(np.arange(3), chain.region)
    assert len(unused)
    before = chain.log_joint(words)
    chain.measure.q[unused] = np.clip(shift * chain.measure.q[unused], 1e-240, 1e240)
    assert chain.log_joint(words) < before


def test_log_words_of_the_oracle_are_those_of_a_chain():
    words = corpus(np.array([[2, 1], [1, 2]]), (0, 0))
    *_, chain = walk_chain(H2(), one_measure(), seating(words), words, 5)
    tables = chain.tables(words)[1]
    rest = chain.measure.log_joint(chain.occupancy(words))
    rest += chain.seating.log_joint(words.lengths, tables, chain.log_seats(words))
    rest += chain.measure.log_jacobian() + chain.seating.log_jacobian(words.lengths)
    want = log_words(words, chain.dish.tolist(), chain.beta)
    assert chain.log_joint(words) - rest == pytest.approx(want, rel=1e-9)
