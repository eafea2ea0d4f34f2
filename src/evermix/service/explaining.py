"""Why observations are in their clusters."""

from typing import Any

from evermix.estimators.mixture.explanation import NEW, explained_words
from evermix.estimators.mixture.held import absent
from evermix.service.bodies import BodyError, Observations
from evermix.service.core import Core
from evermix.service.edits import LISTED

MOST_EXPLAINED = 20  # observations in a request


def explained(core: Core, given: Observations, against: int | None) -> list[dict[str, Any]]:
    """Return for every row why it is in its cluster, as ``evermix explain --json`` does."""
    if len(given.ids) > MOST_EXPLAINED:
        raise BodyError(
            f"explain takes {MOST_EXPLAINED} observations at most, got {len(given.ids):,}. "
            "Send several requests."
        )
    words = core.words(given)
    if against is not None and against not in (NEW, *core.ids):
        raise BodyError(absent(core.mix.lineage_, against, LISTED))
    answers = list[dict[str, Any]]()
    for i, id in enumerate(given.ids):
        if words is None:
            why = core.mix.explain(core.features(given.part([i])), against, core.names)
        else:
            why = explained_words(core.mix, words[i : i + 1], against, core.names)
        answers.append(({} if id is None else {"id": id}) | why.to_dict())
    return answers
