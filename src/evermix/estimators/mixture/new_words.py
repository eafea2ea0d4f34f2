"""Texts with words that a mixture has never met: how probable it is that they are something new."""

from dataclasses import replace
from typing import Any

import numpy as np
from scipy.special import logsumexp

from evermix._xp import Array
from evermix.estimators.data.texts import counter_of
from evermix.estimators.mixture.fitted import log_joint
from evermix.families.growing import resized
from evermix.families.multinomial import Multinomial
from evermix.io.embedded_texts import EmbeddedTexts


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
    family: Any = fitted.model.family
    known = X[:, :n] if n else X[:, :1] * 0  # a mixture needs a column
    found = mix.predict_proba(known if family.sparse else known.toarray(), new_cluster=True)
    some = np.flatnonzero(X[:, n].toarray())
    if not len(some) or not isinstance(family, Multinomial) or isinstance(family.alpha, np.ndarray):
        return found
    model, state, _ = fitted.point
    wider = replace(model, family=replace(model.family, growing=True))
    rows = resized(X[some], max(family.n_features or 0, n + 1))
    joint = log_joint(fitted.engine, wider, state, rows)
    found[some] = np.exp(joint - logsumexp(joint, axis=1, keepdims=True))
    return found
