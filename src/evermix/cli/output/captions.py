"""What names a cluster in lines of text: its own name, or the words or values that set it apart."""

from collections.abc import Sequence

from evermix.cli.input.model_rows import column_names, words_of_texts
from evermix.estimators import Mixture
from evermix.estimators.mixture.naming import Names, written_size
from evermix.estimators.mixture.report import naming
from evermix.io.text_counter import TextCounter

SHOWN = 3  # words or values


def captions(mix: Mixture, text: TextCounter | None) -> dict[int, str]:
    """Return what names each cluster, by its id; those are left out of which nothing is known.

    That is the name that was given by hand, or else the first words or values on its card. Columns
    that have only numbers name nothing.
    """
    found = dict(mix.lineage_.hand.names)
    words, names = words_of_texts(mix, text), column_names(mix, text)
    named = bool(Names.of(mix, mix.model_.family, names).columns)
    for card in mix.cards(names=names) if words or named else ():
        if first := naming(mix, card, words)[:SHOWN]:
            found.setdefault(card.id, ", ".join(first))
    return found


def sizes_and_captions(mix: Mixture, text: TextCounter | None, ids: Sequence[int]) -> list[str]:
    """Return a line for each of these clusters: its id, how many rows it has, and what names it."""
    known = captions(mix, text)
    sizes = dict(zip(mix.cluster_ids_.tolist(), mix.state_.tally.mass.tolist(), strict=True))
    lines = (f"{id}: {written_size(sizes[id])} rows, {known.get(id, '')}" for id in ids)
    return [line.rstrip(", ") for line in lines]
