"""Checks of the settings and of the documents of a topic model."""

from typing import Any

import numpy as np

from evermix._warning import warn
from evermix._xp import Array
from evermix.engines.settings import check_whole
from evermix.estimators.data.checks import check_csr
from evermix.estimators.data.times import Times, shown_label
from evermix.priors.base import finite_number
from evermix.priors.hyper import Gamma, HyperPrior
from evermix.topics.hierarchies import HDP, HMNGG, Flat, Hierarchy
from evermix.topics.priors import MNGG, TNGG
from evermix.topics.rows import M1, M3, T1, RowSampler
from evermix.topics.words.corpus import Corpus
from evermix.topics.words.dirichlet import LEARNT
from evermix.topics.words.samplers import H1, H2, Direct, WordSampler
from evermix.topics.words.snapshots import Rest

LARGEST = 2**31 - 1  # words of one kind in a document


def wanted_prior(prior: Any, times: Any) -> Hierarchy:
    """Return the prior of a fit, or raise TypeError or ValueError if it cannot be used."""
    if prior is None:
        prior = HDP() if times is None else HMNGG()
    if isinstance(prior, MNGG | TNGG):
        prior = Flat(prior)
    if not isinstance(prior, Hierarchy):
        raise TypeError(
            "prior must be em.HDP, em.HNGG, em.HSNGG, em.HMNGG, em.HMNGP, em.HTNGG, em.HTNGP, "
            f"em.MNGG or em.TNGG, got {prior!r}."
        )
    if prior.timed and times is None:
        raise ValueError(
            f"{type(prior).__name__} is a model over time, and times are missing: give one "
            "number, date or label for each document, such as fit(X, times=years). Models "
            "without times are em.HDP() and em.HNGG()."
        )
    return prior


def wanted_rest(tol: Any, patience: Any) -> Rest | None:
    """Return when a burn-in ends early, None for never; or raise if that cannot be."""
    check_whole("patience", patience)
    if tol is None:
        return None
    number = finite_number("tol", tol)
    if number < 0:
        raise ValueError(
            f"tol must be at least 0, or None for a burn-in of fixed length, got {tol}."
        )
    return Rest(number, int(patience))


def check_times_meant(prior: Any, times: Any, y: Any) -> None:
    """Warn of times that a prior does not use, and of a y that may have been meant as times.

    ``y`` is what pipelines hand on to every step, labels of a classifier most often.
    """
    if isinstance(prior, Hierarchy) and not prior.timed and times is not None:
        warn(
            f"{type(prior).__name__} is a model without times: those that were given are not used. "
            "Leave them out, or take a prior over time such as em.HMNGG().",
        )
    if y is not None and times is None:
        if isinstance(prior, Hierarchy) and prior.timed:
            raise ValueError(
                f"{type(prior).__name__} is a model over time, and times are missing: y, the "
                "second argument, is ignored. Give times by name: fit(X, times=years)."
            )
        if prior is None:
            warn(
                "y is ignored, and topics are found without times. If it holds times, give them by "
                "name: fit(X, times=years). Otherwise prior=em.HDP() says that there are none.",
            )


def check_several(n_documents: int) -> None:
    """Warn of a fit to one document: nothing tells its topics apart."""
    if n_documents == 1:
        warn(
            "there is one document only, and topics are words that come together in several. Give "
            "a row of X for each text; a long text can be cut into paragraphs.",
        )


def check_no_texts(X: Any, first_rows: bool, counts: bool) -> None:
    """Raise TypeError if documents are texts whose words were not counted.

    ``first_rows``: they are those that a fit begins with. ``counts``: the model counts words.
    """
    first = X
    if not isinstance(X, str) and getattr(X, "ndim", 1) == 1:
        values = getattr(X, "values", X)  # of a pandas series
        if (isinstance(values, list | tuple) or hasattr(values, "dtype")) and len(values):
            first = values[0]
    if isinstance(first, str | bytes):
        if first_rows:
            remedy = (
                "Count their words first: counter = CountVectorizer(stop_words='english') of "
                "scikit-learn, X = counter.fit_transform(texts), then fit(X, vocabulary=counter)."
            )
        elif counts:
            remedy = "This model counts their words if it is given a list, of nothing but strings."
        else:
            remedy = (
                "Count their words as those of the fit: X = counter.transform(texts), where "
                "counter is the CountVectorizer of the fit. A model keeps its words, but not how "
                "texts are taken apart."
            )
        raise TypeError(f"X must hold how often each word is in each document, got texts. {remedy}")


def checked_alpha(alpha: Any) -> float | Gamma:
    """Return the number of the Dirichlet law of topics, or its law; or raise if it is neither."""
    if alpha is None:
        return LEARNT
    if isinstance(alpha, Gamma):
        return alpha
    if isinstance(alpha, HyperPrior):
        raise TypeError(f"alpha must be a number, or em.Gamma to learn it, got {alpha!r}.")
    number = finite_number("alpha", alpha)
    if number <= 0:
        raise ValueError(f"alpha must be positive, got {alpha}.")
    return number


def wanted_sampler(sampler: Any, prior: Hierarchy) -> WordSampler:
    """Return the sampler of words, or raise TypeError if it does not suit the prior."""
    if not prior.flat:
        sampler = H1() if sampler is None else sampler
        if isinstance(sampler, H1 | H2):
            return sampler
        raise TypeError(
            f"sampler must be em.H1(), em.H2() or None for {type(prior).__name__}, got {sampler!r}."
        )
    known: dict[Any, Direct] = {None: Direct(), M1(): Direct(False), M3(): Direct(True)}
    if isinstance(prior.top, TNGG):
        known = {None: Direct(), T1(): Direct(True)}
    if sampler in known:
        return known[sampler]
    names = ", ".join(f"em.{name!r}" for name in known if name is not None)
    raise TypeError(
        f"sampler must be {names} or None where every document is a time, got {sampler!r}."
    )


def public_sampler(sampler: WordSampler, prior: Hierarchy) -> WordSampler | RowSampler:
    """Return the sampler that a user would name."""
    if not isinstance(prior, Flat):
        return sampler
    if isinstance(prior.prior, TNGG):
        return T1()
    return M3() if sampler.jumps else M1()


def checked_counts(X: Array) -> Array:
    """Return a CSR matrix with sorted columns and whole numbers, or raise ValueError."""
    check_csr(X.data, X.indices, X.indptr, X.shape)
    if not X.has_canonical_format:
        X = X.copy()
        X.sum_duplicates()
    wrong = (X.data < 0) | (X.data > LARGEST) | (X.data != np.floor(X.data))
    if np.any(wrong):
        place = int(np.flatnonzero(wrong)[0])
        row = int(np.searchsorted(X.indptr, place, side="right")) - 1
        raise ValueError(
            "X must hold how often each word is in each document: whole numbers >= 0, and at most "
            f"{LARGEST}. Negative values in data passed to TopicModel, fractions and larger "
            f"numbers are invalid, got {X.data[place]} in row {row}, column {X.indices[place]}."
        )
    return X


def check_words(corpus: Corpus, times: Times, new: int = 0) -> None:
    """Raise ValueError unless every time has words, from the number ``new`` on."""
    if not len(corpus):
        raise ValueError("X holds no words: at least one document must have some.")
    n = np.bincount(corpus.time, corpus.lengths, minlength=corpus.n_times)[new:]
    if np.any(n == 0):
        time = shown_label(times.values[new + int(np.flatnonzero(n == 0)[0])])
        raise ValueError(
            f"all documents of the time {time} are empty. Leave them out, or join times."
        )
