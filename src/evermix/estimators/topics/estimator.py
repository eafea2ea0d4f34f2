"""Topic models whose topics may change over time."""

from collections.abc import Callable, Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any, Self, TypeAlias

import numpy as np
from scipy import sparse
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from evermix._random import generator
from evermix._xp import Array, host, is_foreign
from evermix.engines.run import interrupts_wait
from evermix.engines.settings import check_begun, check_whole
from evermix.estimators.data.rows import check_csr
from evermix.estimators.data.times import Times
from evermix.estimators.mixture.learner import watches
from evermix.estimators.topics.fitted import ToldTopics
from evermix.kernels.topics.evaluation import Frozen
from evermix.priors.base import finite_number
from evermix.topics.chains import Run, Sweep
from evermix.topics.hierarchies import HDP, HMNGG, Flat, Hierarchy
from evermix.topics.priors import MNGG, TNGG
from evermix.topics.rows.samplers import M1, M3, T1, Sampler
from evermix.topics.words.corpus import Corpus
from evermix.topics.words.evaluation import add_probabilities, fold_flat, fold_in, frozen, halves
from evermix.topics.words.franchise import start
from evermix.topics.words.samplers import H1, H2, Direct, WordSampler
from evermix.topics.words.snapshots import Snapshot

SWEEPS, SKIP = 20, 20  # over new documents: those that are averaged, and those before them
LARGEST = 2**31 - 1  # words of one kind in a document

Watch: TypeAlias = Callable[[Any, Sweep], None]
"""Called with the topic model after every sweep of a fit."""


class TopicModel(ClassNamePrefixFeaturesOutMixin, TransformerMixin, ToldTopics):  # type: ignore[misc]
    """Finds topics in documents, how many there are, and how they come and go over time.

    Parameters
    ----------
    prior : HDP, HNGG, HSNGG, HMNGG, HMNGP, HTNGG, HTNGP, MNGG, TNGG or None
        How documents and times share topics. None is ``HMNGG()`` where times are given, and
        ``HDP()``, which knows no times, otherwise. With MNGG and TNGG there is no hierarchy: every
        document is a time of its own, and times serve to tell of topics only.
    alpha : float
        Of the symmetric Dirichlet law of the words of a topic. Small values ask for topics that use
        few words.
    sampler : H1, H2, M1, M3, T1 or None
        How draws are made. None is ``H1()``; for MNGG ``M1()``, for TNGG ``T1()``.
    burn_in : int
        Sweeps over all words before draws are kept.
    draws : int
        Sweeps whose draws are kept, of each chain.
    chains : int
        Number of independent chains, each in a thread of its own.
    random_state : int, RandomState, Generator or None

    Attributes
    ----------
    n_topics_ : int
        Number of topics in the kept draw of the largest joint density; so it is with all that
        follows. Topics are ordered by size.
    components_ : array (K, V)
        Probability of each word in each topic.
    weights_ : array (K,)
        Share of each topic among all words.
    times_ : array (T,)
        The times, in order; empty for models without times.
    evolution_ : array (T, K)
        Share of each topic among the words of each time.
    predicted_evolution_ : array (T, K)
        Weight of each topic at each time, as predicted for one more document; ``evolution_`` where
        every document is a time.
    regions_ : int64 array (K,)
        The region that each topic lies in.
    traces_ : dict of arrays (chains * draws,)
        Numbers of all draws, by name: log_joint, n_topics, n_tables, sigma, sigma0, M or a, M0[r]
        or a0[r], u[t], q[r,t]; those that a model has.
    sampler_ : H1, H2, M1, M3 or T1
        The sampler that draws.
    n_sweeps_ : int
        Number of sweeps so far, burn-in included.
    n_features_in_ : int
        Number V of words in the vocabulary.

    Examples
    --------
    >>> import numpy as np, evermix as em
    >>> rng = np.random.default_rng(0)
    >>> halves = np.repeat([[4.0, 4, 4, 0, 0, 0], [0, 0, 0, 4, 4, 4]], 20, axis=0)
    >>> topics = em.TopicModel(em.HDP(), burn_in=50, draws=50, random_state=0)
    >>> words = topics.fit(rng.poisson(halves)).top_words(3)
    >>> sorted(sorted(some) for some in words[:2])
    [[0, 1, 2], [3, 4, 5]]
    """

    def __init__(
        self,
        prior: Hierarchy | MNGG | TNGG | None = None,
        alpha: float = 0.3,
        sampler: WordSampler | Sampler | None = None,
        burn_in: int = 2000,
        draws: int = 1000,
        chains: int = 1,
        random_state: Any = None,
    ) -> None:
        super().__init__(prior, sampler, burn_in, draws, random_state)
        self.alpha = alpha
        self.chains = chains

    def __sklearn_is_fitted__(self) -> bool:
        return "_run" in vars(self)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = tags.input_tags.positive_only = True
        return tags

    # ---- learning --------------------------------------------------------------------------

    def fit(
        self, X: Any, times: Any = None, y: Any = None, *, observers: Iterable[Watch] = ()
    ) -> Self:
        """Forget everything, and draw from the posterior of these documents.

        An interrupt (Ctrl-C) between two sweeps leaves a model that can be used, and
        :meth:`resume` goes on.

        Parameters
        ----------
        X : array or CSR matrix (D, V)
            How often each word is in each document: whole numbers.
        times : numbers, dates or labels (D,), optional
            The time of each document, for models over time. Numbers and dates are sorted, and so
            are labels that read as either; other labels keep the order in which they appear, pandas
            categories theirs.
        y : ignored
        observers : iterable of callables
            Each is called as ``observer(topics, sweep)`` after every sweep, where ``sweep`` tells
            its number, how many topics there are and the log joint density; it may save the model.
        """
        watching = watches(observers)
        self._check_settings()
        prior = self._asked_prior(times)
        with self._or_as_before():
            X = self._validated(X, reset=True)
            known, codes = Times([]), np.zeros(X.shape[0], dtype=np.int64)
            if times is not None and (prior.timed or prior.flat):
                known, codes = Times.read(times, X.shape[0])
            corpus = Corpus.of(X, codes, max(len(known), 1))
            _check_words(corpus, known)
            corpus = corpus.apart() if prior.flat else corpus
            self._prior, self._corpus = prior, corpus
            self._beta, self._seen = float(self.alpha), corpus.digest
            self._run = self._begun()
            self._times = known
            self._go_on(watching)
        return self

    def resume(
        self, X: Any, times: Any = None, y: Any = None, *, observers: Iterable[Watch] = ()
    ) -> Self:
        """Go on with a fit that was interrupted, or given more draws, as if it had not been.

        Parameters are those of :meth:`fit`, with the same documents and times.
        """
        check_is_fitted(self)
        watching = watches(observers)
        self._check_settings()
        check_begun("chains", len(self._run.chains), self.chains)
        check_begun("alpha", self._beta, float(self.alpha))
        if self.prior is not None:
            self._asked_prior(times)
            begun = self._prior.prior if isinstance(self._prior, Flat) else self._prior
            check_begun("prior", begun, self.prior)
        check_begun("sampler", self.sampler_, self._public(self._asked_sampler(self._prior)))
        corpus = self._corpus_of(X, times)
        if self._prior.flat and times is not None and len(self._times):
            corpus = replace(corpus, time=self._times.codes(times, corpus.n_documents))
        corpus = corpus.apart() if self._prior.flat else corpus
        if corpus.digest != self._seen:
            raise ValueError(
                "these are not the documents, or not the times, that the fit was begun with. Give "
                "the same X and times again, or call fit."
            )
        self._corpus = corpus
        self._go_on(watching)
        return self

    def _begun(self) -> Run:
        """Return chains before their first sweep."""
        corpus, n = self._corpus, self._corpus.lengths
        # A guess of the number of tables, which the first sweep replaces.
        tables = np.bincount(corpus.time, np.log1p(n) + 1.0, minlength=corpus.n_times)
        chains = [
            start(self._prior.measure(tables), self._prior.seating(n), self._beta, corpus)
            for _ in range(self.chains)
        ]
        sampler = self._asked_sampler(self._prior)
        sampler.check(chains[0].measure)
        return Run(
            sampler,
            chains,
            generator(self.random_state).spawn(self.chains),
        )

    def _go_on(self, observers: tuple[Watch, ...]) -> None:
        """Sweep until there are as many draws as asked for."""
        self._views = {}
        while self._run.sweeps < self.burn_in + self.draws:
            with interrupts_wait():
                self._run.sweep(self._corpus, keep=self._run.sweeps >= self.burn_in)
                self._views.clear()
                if observers:
                    last = self._run.last(self._corpus)
                    for observe in observers:
                        observe(self, last)

    def _asked_prior(self, times: Any) -> Hierarchy:
        prior = self.prior
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
        self._asked_sampler(prior)
        return prior

    def _asked_sampler(self, prior: Hierarchy) -> WordSampler:
        sampler = self.sampler
        if not prior.flat:
            sampler = H1() if sampler is None else sampler
            if isinstance(sampler, H1 | H2):
                return sampler
            raise TypeError(
                f"sampler must be em.H1(), em.H2() or None for {type(prior).__name__}, got "
                f"{sampler!r}."
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

    def _check_settings(self) -> None:
        super()._check_settings()
        check_whole("chains", self.chains)
        if finite_number("alpha", self.alpha) <= 0:
            raise ValueError(f"alpha must be positive, got {self.alpha}.")

    def _validated(self, X: Any, reset: bool) -> Array:
        """Return counts of words as a CSR matrix with sorted columns."""
        X = host(X) if is_foreign(X) else X
        X = validate_data(self, X, reset=reset, accept_sparse="csr", dtype="numeric")
        return self._checked_counts(sparse.csr_matrix(X, copy=False))

    def _checked_counts(self, X: Array) -> Array:
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
                "X must hold how often each word is in each document, whole numbers >= 0. Negative "
                f"values in data passed to TopicModel, fractions and larger numbers than {LARGEST} "
                f"cannot be: got {X.data[place]} in row {row}, column {X.indices[place]}."
            )
        return X

    @property
    def sampler_(self) -> WordSampler | Sampler:
        """The sampler that draws."""
        check_is_fitted(self)
        return self._public(self._run.sampler)

    def _public(self, sampler: WordSampler) -> WordSampler | Sampler:
        """Return the sampler that a user would name."""
        if not isinstance(self._prior, Flat):
            return sampler
        if isinstance(self._prior.prior, TNGG):
            return T1()
        return M3() if sampler.jumps else M1()

    @property
    def n_sweeps_(self) -> int:
        """Number of sweeps so far, burn-in included."""
        check_is_fitted(self)
        return self._run.sweeps

    @property
    def _n_features_out(self) -> int:
        return self.n_topics_

    # ---- asking ----------------------------------------------------------------------------

    def transform(self, X: Any, times: Any = None) -> Array:
        """Return the share of each topic in each document, (D, K).

        Topics stay as they are. A document gets the same answer whatever others are beside it; if
        no topic is there at all, in a model without hierarchy, those of all documents.
        """
        point = self._point()
        old = self._shares(point, self._corpus_of(X, times), seed=0)[1][:, :-1]
        old[~old.any(axis=1)] = point.words.sum(axis=0)
        return old / old.sum(axis=1, keepdims=True)

    def fit_transform(self, X: Any, times: Any = None, y: Any = None) -> Array:
        """Fit, and return the share of each topic in each document, (D, K)."""
        return self.fit(X, times).transform(X, times)

    def perplexity(self, X: Any, times: Any = None) -> float:
        """Return how many words the model wavers between, for each word of new documents.

        Half of the words of each document, chosen at random with a fixed seed, tell its topics; the
        others are foretold. Probabilities are averaged over the kept draws, inside the log.
        """
        first, second = halves(self._corpus_of(X, times))
        if not len(second):
            raise ValueError("X holds no words to foretell: give documents that have some.")
        p, snapshots = np.zeros(len(second)), self._snapshots()
        for seed, snapshot in enumerate(snapshots):
            model, theta = self._shares(snapshot, first, seed)
            add_probabilities(model, second, self._beta, theta, p)
        return float(np.exp(-np.log(p / len(snapshots)).mean()))

    def score(self, X: Any, times: Any = None) -> float:
        """Return the mean log probability of a word; see :meth:`perplexity`."""
        return -float(np.log(self.perplexity(X, times)))

    def _shares(self, snapshot: Snapshot, corpus: Corpus, seed: int) -> tuple[Frozen, Array]:
        """Return topics as they are, and shares (D, K + 1) of them, and of a new one."""
        if isinstance(self._prior, Flat):
            law = self._prior.prior
            return fold_flat(snapshot, law, corpus, self._beta, SWEEPS, SKIP, seed)
        model = frozen(snapshot, self._measure(), self._beta)
        return model, fold_in(model, corpus, self._beta, SWEEPS, SKIP, seed)

    def _corpus_of(self, X: Any, times: Any) -> Corpus:
        """Return documents to ask about, validated."""
        check_is_fitted(self)
        X = self._validated(X, reset=False)
        codes, T = np.zeros(X.shape[0], dtype=np.int64), max(len(self._times), 1)
        if self._prior.timed:
            codes = self._times.codes(times, X.shape[0])
        return Corpus.of(X, codes, T)

    # ---- files -----------------------------------------------------------------------------

    def save(self, path: str | Path) -> None:
        """Write the model to one file, from which :func:`evermix.load` restores it.

        A model that was loaded goes on with :meth:`resume` as if it had never stopped.
        """
        from evermix.estimators.topics.file import save  # which knows this class

        save(self, path)


def _check_words(corpus: Corpus, times: Times) -> None:
    """Raise ValueError unless every time has words."""
    if not len(corpus):
        raise ValueError("X holds no words: at least one document must have some.")
    n = np.bincount(corpus.time, corpus.lengths, minlength=corpus.n_times)
    if np.any(n == 0):
        time = times.values[int(np.flatnonzero(n == 0)[0])]
        raise ValueError(
            f"all documents of the time {time} are empty. Leave them out, or join times."
        )
