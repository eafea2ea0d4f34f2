"""Why observations are in their clusters."""

from dataclasses import replace
from typing import Any

from evermix.estimators.mixture.explanation import NEW
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
    novelty = core.proba(given)[:, -1].tolist()
    if against is not None and against not in (NEW, *core.ids):
        raise BodyError(absent(core.mix.lineage_, against, LISTED))
    answers = list[dict[str, Any]]()
    for i, id in enumerate(given.ids):
        one = given.part([i])
        X = core.features(one) if core.text is None else core.text.counts(one.rows)
        why = replace(core.mix.explain(X, against, core.names), novelty=novelty[i])
        answers.append(({} if id is None else {"id": id}) | why.to_dict())
    return answers
