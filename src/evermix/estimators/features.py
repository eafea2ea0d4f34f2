"""What an estimator knows of its features while it looks at new rows."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

__all__ = ["or_as_before"]

_FEATURES = ("n_features_in_", "feature_names_in_")


@contextmanager
def or_as_before(estimator: Any) -> Iterator[None]:
    """Put the features of the old model back where rows turn out to be no good.

    Validation sets them at once, but the model is still the old one.
    """
    known = vars(estimator)
    before = {name: known[name] for name in _FEATURES if name in known}
    try:
        yield
    except BaseException:
        for name in _FEATURES:
            known.pop(name, None)
        known.update(before)
        raise
