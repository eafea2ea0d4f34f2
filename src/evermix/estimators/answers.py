"""What is answered for each row of a stream, wherever it comes from."""

from collections.abc import Sequence
from typing import Any

from evermix.estimators.mixture.estimator import Mixture

FEWEST = 5.0  # rows of a cluster that is no longer provisional
COLUMNS = "id", "cluster", "probability", "new", "from", "name"
"""What the answer for a row may hold, beside what streams with times, forgetting or waiting say."""


def row_answers(
    mix: Mixture,
    ids: Sequence[Any],
    clock: int,
    *,
    faded: Sequence[int] = (),
    provisional: bool | None = False,
    novelty: Sequence[float] | None = None,
    offsets: Sequence[str] | None = None,
) -> list[dict[str, Any]]:
    """Return the answer for each row of the last call of ``partial_fit``.

    Parameters
    ----------
    mix : Mixture
    ids : sequence of length n
        None: the row has no id.
    clock : int
        Number of rows before these.
    faded : sequence of int
        Clusters that have faded meanwhile, which the row after the end of each says.
    provisional : bool or None
        Whether clusters may get other numbers, since the model waits for more rows to begin with.
        None: those may that hold fewer than five rows now, which may soon be merged or dropped.
        That depends on where rows are cut into batches.
    novelty : sequence of length n, optional
        The probability that each row was in no cluster that there was before; None: answers do
        not say.
    offsets : sequence of length n, optional
        Where the rows were in their source.
    """
    labels, lineage, calendar = mix.labels_.tolist(), mix.lineage_, mix.learner_.shown.calendar
    times = mix.learner_.first_answers.times
    answers = _plain(ids, labels, mix.probabilities_.tolist(), novelty)
    for cluster, parent in mix.learner_.first_answers.of(lineage, labels, clock).items():
        place = labels.index(cluster)
        answers[place]["new"] = parent is None
        if parent is not None:
            answers[place]["from"] = parent
        since = calendar.time(lineage.born[cluster])
        if since is not None:
            own = since if times is None else float(times[place])  # it may be a stray before it
            answers[place]["since"] = calendar.shown(min(since, own))
    names = lineage.hand.names
    if not names.keys().isdisjoint(labels):
        for cluster, answer in zip(labels, answers, strict=True):
            if cluster in names:
                answer["name"] = names[cluster]
    for cluster in faded:  # before the row after its end, or perhaps behind the last one
        i = min(lineage.ended[cluster] - clock, len(answers) - 1)
        if i >= 0:
            answers[i].setdefault("faded", []).append(cluster)
    if provisional is not False:
        tally = mix.tally_
        young = set(tally.ids[tally.mass < FEWEST].tolist()) - lineage.hand.pinned
        for answer in answers:
            if provisional or answer["cluster"] in young:
                answer["provisional"] = True
    if offsets is not None:
        for answer, offset in zip(answers, offsets, strict=True):
            answer["offset"] = offset
    return answers


def _plain(
    ids: Sequence[Any],
    labels: Sequence[int],
    probabilities: Sequence[float],
    novelty: Sequence[float] | None,
) -> list[dict[str, Any]]:
    """Return answers with what all have; of thousands of rows, one literal for each is fastest."""
    if novelty is None:
        return [
            {"cluster": cluster, "probability": share, "new": False}
            if id is None
            else {"id": id, "cluster": cluster, "probability": share, "new": False}
            for id, cluster, share in zip(ids, labels, probabilities, strict=True)
        ]
    return [
        {"cluster": cluster, "probability": share, "novelty": new, "new": False}
        if id is None
        else {"id": id, "cluster": cluster, "probability": share, "novelty": new, "new": False}
        for id, cluster, share, new in zip(ids, labels, probabilities, novelty, strict=True)
    ]
