"""Topics of thinned measures that are switched on and off together with the tables they have."""

import numpy as np

from evermix._xp import Array
from evermix.kernels.topics.tables import Blocks, Topics, switch_pass
from evermix.topics.measures import Occupancy, Thinned
from evermix.topics.words.corpus import Corpus
from evermix.topics.words.franchise import Franchise


def switch_topics(
    corpus: Corpus, chain: Franchise, atoms: Occupancy, rng: np.random.Generator
) -> None:
    """Draw where topics are on, and what tables order, given who sits at them.

    Jumps and the words of topics are drawn for the purpose, and forgotten: jumps of the atoms are
    invalid afterwards.   Consumes: chain, atoms.

    Parameters
    ----------
    corpus : Corpus
    chain : Franchise
        Of a thinned measure, with words at tables, or each a table of its own.
    atoms : Occupancy
        The dishes of the chain.
    rng : Generator
    """
    measure = chain.measure
    assert isinstance(measure, Thinned)
    measure.draw_jumps(atoms, rng)
    place, blocks = _blocks(corpus, chain)
    phi = rng.standard_gamma(chain.beta + chain.counts(corpus).astype(np.float64))
    phi /= phi.sum(axis=0)
    switch_pass(
        blocks,
        Topics(phi, atoms.log_jump, measure.log_odds(atoms), atoms.counts, atoms.on),
        rng,
    )
    chain.dish[place] = np.repeat(blocks.dish, np.diff(blocks.begin))
    chain.on = atoms.on


def _blocks(corpus: Corpus, chain: Franchise) -> tuple[Array, Blocks]:
    """Return the words of all tables, sorted by time, and where they are in the corpus, (N,)."""
    table = corpus.start[corpus.document] + chain.table if chain.seated else np.arange(len(corpus))
    time = corpus.time[corpus.document]
    place = np.lexsort((table, time))
    begin = np.flatnonzero(np.diff(table[place], prepend=-1))
    first = np.searchsorted(time[place][begin], np.arange(corpus.n_times + 1))
    dish = chain.dish[place][begin].astype(np.int64)
    return place, Blocks(corpus.word[place], np.append(begin, len(corpus)), first, dish)
