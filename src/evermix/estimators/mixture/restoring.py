"""Undoing a fit that has failed before it learnt anything."""

from contextlib import AbstractContextManager
from typing import Any

from evermix.estimators.fitting import restored_on_error
from evermix.estimators.mixture.learner import Learner


def restored_unless_learnt(mix: Any) -> AbstractContextManager[None]:
    """Return a context that restores a mixture if learning fails too early.

    A new model is kept if it has made a step, or if the user has interrupted it.
    """
    before = vars(mix).get("learner_")

    def keep(error: BaseException) -> bool:
        now: Learner | None = vars(mix).get("learner_")
        if now is None or now is before:
            return False
        return bool(now.history) or isinstance(error, KeyboardInterrupt)

    return restored_on_error(mix, keep)
