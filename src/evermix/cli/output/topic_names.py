"""Names of topics in answers, where words are known."""

from typing import Any

from evermix.cli.input.model_rows import saved_words
from evermix.estimators import TopicModel
from evermix.report.words import NAME, naming_words, topic_name

PLAIN = ".csv", ".parquet"  # files whose cells hold numbers of topics and shares alone


def topic_names(
    model: TopicModel, extra: dict[str, Any], n_coarse: int | None, out: str
) -> tuple[dict[int, str], dict[int, str]]:
    """Return the names of topics, and of so many coarse ones, by id, for the answers in ``out``.

    They are those that people gave, or else the first words that tables and pictures show; none
    where columns have no words.
    """
    words = saved_words(model, extra)
    if out.lower().endswith(PLAIN):
        return {}, {}
    names = dict(enumerate(map(topic_name, naming_words(model, NAME, words)))) | model.names_
    coarse = [] if n_coarse is None else model.coarse_topics(n_coarse, words)
    return _known(names), _known({each.id: each.name or topic_name(each.words) for each in coarse})


def _known(names: dict[int, str]) -> dict[int, str]:
    return {id: name for id, name in names.items() if name}
