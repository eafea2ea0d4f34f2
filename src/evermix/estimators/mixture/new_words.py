"""Texts with words that a mixture has never met: how probable it is that they are something new."""

from dataclasses import replace
from typing import Any

import numpy as np
from scipy.special import logsumexp

from evermix._xp import Array
from evermix.estimators.data.texts import counter_of
from evermix.estimators.mixture.fitted import log_joint
from evermix.families.base import Family
from evermix.families.growing import resized
from evermix.families.multinomial import Multinomial
from evermix.io.embedded_texts import EmbeddedTexts
from evermix.model import Model


def with_new_words(mix: Any, X: Any) -> Any:
    """Return the counts of texts (N, V + 1), the last of words that a mixture has never met.

    None if X does not hold texts, or the mixture does not count words.
    """
    found = counter_of(mix, X)
    if found is None or isinstance(found[0], EmbeddedTexts):
        return None
    return found[0].with_unknown(found[1])


def proba_with_new_words(mix: Any, X: Any) -> Array:
    """Return the probability of each cluster and of a new one, (N, K + 1).

    A word that was never met says that a text is not of a cluster, the more so the more words the
    cluster has, since all of these were others. Which of such words it is says nothing: all have
    the same probability in every cluster. Where the vocabulary was fixed before the fit, words
    outside of it count as they do where it grows. A prior that is not the same for all words says
    nothing of further ones, and other families have no words: there they are left out.

    Parameters
    ----------
    mix : Mixture
        A fitted one.
    X : CSR matrix (N, V + 1)
        Counts of words, as :meth:`evermix.io.text_counter.TextCounter.with_unknown` returns them:
        the last column is how many words of a text are none of the V.
    """
    n, fitted = X.shape[1] - 1, mix._fitted()
    found = mix.predict_proba(known_words(fitted.model.family, X), new_cluster=True)
    some = np.flatnonzero(X[:, n].toarray())
    model = wider_model(fitted.point.model)
    if not len(some) or model is None:
        return found
    rows = resized(X[some], max(model.family.n_features or 0, n + 1))
    joint = log_joint(fitted.engine, model, fitted.point.state, rows)
    found[some] = np.exp(joint - logsumexp(joint, axis=1, keepdims=True))
    return found


def known_words(family: Family, X: Any) -> Any:
    """Return the counts (N, V) of the words that have a column, as a family takes them."""
    known = X[:, :-1] if X.shape[1] > 1 else X * 0  # a mixture needs a column
    return known if family.sparse else known.toarray()


def wider_model(model: Model) -> Model | None:
    """Return a model that takes words without a column; None if its prior says nothing of them."""
    family: Any = model.family
    if not isinstance(family, Multinomial) or isinstance(family.alpha, np.ndarray):
        return None
    return replace(model, family=replace(family, growing=True))
