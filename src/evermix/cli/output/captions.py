"""What names a cluster in lines of text: its own name, or the words or values that set it apart."""

from collections.abc import Sequence

from evermix._words import counted
from evermix.cli.input.model_rows import column_names, words_of_texts
from evermix.estimators import Mixture
from evermix.estimators.mixture.card import naming_traits
from evermix.estimators.mixture.naming import Names, written_size
from evermix.estimators.mixture.report import naming
from evermix.estimators.mixture.traits import traits_of
from evermix.families import Multinomial
from evermix.io.embedded_texts import EmbeddedTexts
from evermix.io.text_counter import TextCounter
from evermix.report import distinctive_words
from evermix.tally import Tally

SHOWN = 3  # words or values


def captions(mix: Mixture, text: TextCounter | None) -> dict[int, str]:
    """Return what names each cluster, by its id; those are left out of which nothing is known.

    That is the name that was given by hand, or else the first words or values on its card. Columns
    that have only numbers name nothing.
    """
    found = dict(mix.lineage_.hand.names)
    words, names = words_of_texts(mix, text), column_names(mix, text)
    named = bool(Names.of(mix, mix.model_.family, names).columns)
    for card in mix.cards(names=names, tiny=True) if words or named else ():
        if first := naming(mix, card, words)[:SHOWN]:
            found.setdefault(card.id, ", ".join(first))
    return found


def parts_shown(mix: Mixture, text: TextCounter | None, ids: Sequence[int]) -> list[str]:
    """Return a line for each of these clusters: its id and name, how many rows, what sets it apart.

    One is set apart from all others, and several from each other.
    """
    names, tally = mix.lineage_.hand.names, mix.state_.tally
    sizes = dict(zip(tally.ids.tolist(), tally.mass.tolist(), strict=True))
    known = _among(mix, text, ids if len(ids) > 1 else tally.ids.tolist())
    called = {id: f"{id} ({names[id]})" if id in names else str(id) for id in ids}
    lines = (
        f"{called[id]}: {counted(written_size(sizes[id]), 'row')}, {known.get(id, '')}"
        for id in ids
    )
    return [line.rstrip(", ") for line in lines]


def _among(mix: Mixture, text: TextCounter | None, ids: Sequence[int]) -> dict[int, str]:
    """Return what sets some clusters apart from each other, by id."""
    family, tally = mix.model_.family, mix.state_.tally
    if isinstance(text, EmbeddedTexts):
        counts, words = text.words_of(ids, mix.lineage_.current)
        marks = distinctive_words(counts, words, SHOWN) if words else []
        return {id: ", ".join(some) for id, some in zip(ids, marks, strict=False)}
    at = [tally.ids.tolist().index(id) for id in ids]
    few = Tally.of(tally.ids[at], tally.mass[at], tally.stats[at], {}, tally.layout)
    columns, found = Names.of(mix, family, column_names(mix, text)), dict[int, str]()
    for k, id in enumerate(ids):
        traits = naming_traits(traits_of(family, few, k, columns)[0], SHOWN)
        words = isinstance(family, Multinomial)
        found[id] = ", ".join(trait.column if words else trait.brief() for trait in traits)
    return found
