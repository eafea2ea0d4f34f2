"""Topic models whose topics may change over time."""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any, ClassVar, Self

import numpy as np
from scipy import sparse
from sklearn.utils.validation import check_is_fitted, validate_data

from evermix._random import generator
from evermix._xp import Array, Floats, Ints, host, is_foreign
from evermix.estimators import files
from evermix.estimators.chains import ChainEstimator, Observer
from evermix.estimators.data.fingerprint import OtherRowsError
from evermix.estimators.data.periods import check_period, first_periods, later_periods
from evermix.estimators.data.texts import counted
from evermix.estimators.data.times import Times
from evermix.estimators.topics.exchange import TopicExchange
from evermix.estimators.topics.fitted import FittedTopics
from evermix.estimators.topics.live import LiveTopics
from evermix.estimators.topics.naming import NamedTopics
from evermix.estimators.topics.progress import ProgressLines
from evermix.estimators.topics.questions import TopicQuestions
from evermix.estimators.topics.reading import TopicReading, names_of
from evermix.estimators.topics.settings import (
    check_no_texts,
    check_several,
    check_times_meant,
    check_words,
    checked_alpha,
    checked_counts,
    public_sampler,
    wanted_prior,
    wanted_rest,
    wanted_sampler,
)
from evermix.priors.hyper import HYPERPRIORS, Gamma
from evermix.report.chains import to_inference_data
from evermix.topics.hierarchies import TOPIC_PRIORS, Hierarchy
from evermix.topics.priors import MNGG, TNGG
from evermix.topics.rows import SAMPLERS, RowSampler
from evermix.topics.words.corpus import Corpus
from evermix.topics.words.franchise import Franchise
from evermix.topics.words.samplers import WORD_SAMPLERS, WordSampler
from evermix.topics.words.snapshots import Snapshot, WordRun


@files.registered("topics", "topic model")
class TopicModel(
    LiveTopics,
    TopicQuestions,
    TopicReading,
    TopicExchange,
    NamedTopics,
    ChainEstimator,
):
    """Finds topics in documents, how many there are, and how they come and go over time.

    Parameters
    ----------
    prior : HDP, HNGG, HSNGG, HMNGG, HMNGP, HTNGG, HTNGP, MNGG, TNGG or None
        How documents and times share topics. None is ``HMNGG()`` where times are given, and
        ``HDP()``, which knows no times, otherwise. With MNGG and TNGG there is no hierarchy: every
        document is a time of its own, and times only serve to show topics over time.
    alpha : float, Gamma or None
        Of the symmetric Dirichlet law of the words of a topic. With small values, topics use few
        words, and there are more of them. A law has it learnt, a number fixes it. None is
        ``Gamma(1, 3)``.
    sampler : H1, H2, M1, M3, T1 or None
        How draws are made. None is ``H1()``; for MNGG ``M1()``, for TNGG ``T1()``.
    burn_in : int
        Sweeps over all words before draws are kept.
    draws : int
        Sweeps whose draws are kept, of each chain.
    chains : int
        Number of independent chains, each in a thread of its own.
    random_state : int, RandomState, Generator or None
    tol : float, optional
        The burn-in ends before its time when the mean log joint density of ``patience`` sweeps is
        less than this above that of the ``patience`` sweeps before, in nats a word; 0.001 with a
        patience of 50 is a start. None: it takes ``burn_in`` sweeps.
    patience : int
    verbose : bool
        Whether to tell on standard error how far a fit is.
    period : {"year", "month", "day"}, optional
        What times that are dates are turned into. None: years, or months or days if there are fewer
        than three years; later documents get the periods of the fit. Dates with a time zone count
        as those of UTC.

    Attributes
    ----------
    n_topics_ : int
        Number of topics in the kept draw of the largest joint density, which all that follows is
        from. Topics are ordered by size; after :meth:`partial_fit` they keep their places.
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
    names_ : dict of int to str
        Names that :meth:`rename` gave to topics.
    traces_ : dict of arrays (chains * draws,)
        Numbers of all draws, by name: log_joint, n_topics, n_tables, alpha, sigma, sigma0, M or a,
        M0[r] or a0[r], u[t], q[r,t]; those that a model has.
    sampler_ : H1, H2, M1, M3 or T1
        The sampler that draws.
    n_sweeps_ : int
        Number of sweeps so far, burn-in included.
    n_draws_ : int
        Number of draws of each chain that were kept.
    gone_on_ : bool
        Whether documents were learnt by :meth:`partial_fit` after a fit.
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

    kind: ClassVar[str] = "topics"
    named_classes: ClassVar[Mapping[str, Mapping[str, Any]]] = {
        "prior": TOPIC_PRIORS,
        "alpha": HYPERPRIORS,
        "sampler": {**WORD_SAMPLERS, **SAMPLERS},
    }
    fitted_class: ClassVar[Any] = FittedTopics
    _fitted: FittedTopics

    def __init__(
        self,
        prior: Hierarchy | MNGG | TNGG | None = None,
        alpha: float | Gamma | None = None,
        sampler: WordSampler | RowSampler | None = None,
        burn_in: int = 300,
        draws: int = 100,
        chains: int = 1,
        random_state: Any = None,
        tol: float | None = None,
        patience: int = 50,
        verbose: bool = False,
        period: str | None = None,
    ) -> None:
        super().__init__(prior, sampler, burn_in, draws, chains, random_state)
        self.alpha = alpha
        self.tol, self.patience, self.verbose = tol, patience, verbose
        self.period = period

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = tags.input_tags.positive_only = True
        return tags

    # ---- learning --------------------------------------------------------------------------

    def fit(
        self,
        X: Any,
        y: Any = None,
        *,
        times: Any = None,
        vocabulary: Any = None,
        observers: Iterable[Observer] = (),
    ) -> Self:
        """Forget everything, and draw from the posterior of these documents.

        An interrupt (Ctrl-C) between two sweeps leaves a model that can be used, and
        :meth:`resume` goes on.

        Parameters
        ----------
        X : array or CSR matrix (D, V)
            How often each word is in each document: whole numbers. One document alone is learnt
            with a warning, since topics are words that come together in several.
        y : ignored
        times : numbers, dates or labels (D,), optional
            The time of each document, for models over time. Dates, also those that are texts, are
            turned into periods (see ``period``). Numbers are sorted, and so are labels that read as
            numbers or periods such as "2007-05"; other labels keep the order in which they appear,
            pandas categories theirs. None: topics are found without times, by ``HDP``, and
            ``times_`` is empty. If all are equal, nothing is told of births, deaths and changes.
        vocabulary : sequence (V,) or CountVectorizer, optional
            The words, which are saved with the model; how a CountVectorizer takes texts apart is
            not, so keep it to count new texts. None for the names of the columns of X, if it has
            any.
        observers : iterable of callables
            Each is called as ``observer(topics, sweep)`` after every sweep, where ``sweep`` has its
            number, the numbers of topics and the log joint densities; it may save the model.
        """
        watching = self._check_settings(observers)
        check_times_meant(self.prior, times, y)
        prior = wanted_prior(self.prior, times)
        sampler = wanted_sampler(self.sampler, prior)
        with self._warn_of_lost_names(), self._or_as_before():
            X = self._validated(X, reset=True)
            check_several(X.shape[0])
            names = None if vocabulary is None else names_of(vocabulary, X.shape[1]).tolist()
            known, codes = Times([]), np.zeros(X.shape[0], dtype=np.int64)
            if times is None or prior.timed or prior.flat:
                times = first_periods(times, X.shape[0], self.period)
            if times is not None and (prior.timed or prior.flat):
                known, codes = Times.read(times, X.shape[0])
            corpus = Corpus.of(X, codes, max(len(known), 1))
            check_words(corpus, known)
            corpus = corpus.one_time_each() if prior.flat else corpus
            alpha, run = checked_alpha(self.alpha), self._begun(prior, sampler, corpus)
            words = None if names is None else [str(name) for name in names]
            size, digest = corpus.size, corpus.digest
            per_time = np.bincount(codes, minlength=len(known)).tolist() if len(known) else []
            self._fitted = FittedTopics(
                prior, alpha, known, run, digest, size, words, per_time, len(known)
            )
            self._go_on(watching)
        return self

    def resume(self, X: Any, times: Any = None, *, observers: Iterable[Observer] = ()) -> Self:
        """Go on with a fit that was interrupted, or given more draws, as if it had not been.

        Parameters are those of :meth:`fit`, with the same documents and times.
        """
        check_is_fitted(self)
        watching = self._check_settings(observers)
        fitted, run = self._fitted, self._resumed()
        prior, known = fitted.prior, fitted.times
        self._check_begun(times)
        corpus = self._corpus(X, times, seen=True)
        if prior.flat and times is not None and len(known):
            n = corpus.n_documents
            times = later_periods(times, n, known.values)
            corpus = replace(corpus, time=known.codes(times, n))
        corpus = corpus.one_time_each() if prior.flat else corpus
        if corpus.digest != fitted.digest:
            raise OtherRowsError(
                "these are not the documents, or not the times, that the fit was begun with. Give "
                "the same X and times again, or call fit."
            )
        fitted.check_corpus(corpus)
        run.corpus = corpus
        with self._warn_of_lost_names():
            self._go_on(watching)
        return self

    def _begun(self, prior: Hierarchy, sampler: WordSampler, corpus: Corpus) -> WordRun:
        """Return chains before their first sweep."""
        n, alpha = corpus.lengths, checked_alpha(self.alpha)
        # A guess of the number of tables, which the first sweep replaces.
        guess = np.bincount(corpus.time, np.log1p(n) + 1.0, minlength=corpus.n_times)
        tables: Floats = guess.astype(np.float64)
        chains = [
            Franchise.start(prior.measure(tables), prior.seating(n), alpha, corpus)
            for _ in range(self.chains)
        ]
        sampler.check(chains[0].measure)
        rngs = generator(self.random_state).spawn(self.chains)
        rest = wanted_rest(self.tol, self.patience)
        return WordRun(corpus, sampler, chains, rngs, rest=rest)

    def _check_settings(self, observers: Iterable[Observer]) -> tuple[Observer, ...]:
        watching = super()._check_settings(observers)
        checked_alpha(self.alpha)
        wanted_rest(self.tol, self.patience)
        check_period(self.period)
        return (*watching, ProgressLines(self.burn_in + self.draws)) if self.verbose else watching

    def _validated(self, X: Any, reset: bool) -> Array:
        """Return counts of words as a CSR matrix with sorted columns."""
        if reset and hasattr(self, "text_counter_"):
            del self.text_counter_
        X = counted(self, X)
        check_no_texts(X, first_rows=reset, counts=hasattr(self, "text_counter_"))
        X = host(X) if is_foreign(X) else X
        X = validate_data(self, X, reset=reset, accept_sparse="csr", dtype="numeric")
        return checked_counts(sparse.csr_matrix(X, copy=False))

    @property
    def sampler_(self) -> WordSampler | RowSampler:
        """The sampler that draws."""
        check_is_fitted(self)
        return public_sampler(self._fitted.run.sampler, self._fitted.prior)

    # ---- draws -----------------------------------------------------------------------------

    @property
    def traces_(self) -> dict[str, Floats]:
        """Numbers of all draws by name, those of a chain after each other."""
        self._check_drawn()
        return self._fitted.run.traces()[0]

    def to_arviz(self) -> Any:
        """Return the traces for ArviZ's plots and diagnostics.

        The group ``posterior`` holds all of them but ``log_joint``, which is in ``sample_stats``.

        Returns
        -------
        xarray.DataTree (ArviZ 1) or arviz.InferenceData (ArviZ 0)
        """
        self._check_drawn()
        posterior, chain = self._fitted.run.traces()
        stats = {"log_joint": posterior.pop("log_joint")}
        return to_inference_data({"posterior": posterior, "sample_stats": stats}, chain)

    def _point(self) -> Snapshot:
        check_is_fitted(self)
        return self._fitted.point()

    @property
    def n_topics_(self) -> int:
        """Number of topics."""
        return self._point().K

    @property
    def _n_features_out(self) -> int:
        return self.n_topics_

    @property
    def components_(self) -> Floats:
        """Probability of each word in each topic, (K, V)."""
        return self._point().components()

    @property
    def regions_(self) -> Ints:
        """The region of each topic, (K,)."""
        return self._point().region.copy()

    @property
    def weights_(self) -> Floats:
        """Share of each topic among all words, (K,)."""
        words = self._point().words.sum(axis=0)
        return words / words.sum()

    @property
    def evolution_(self) -> Floats:
        """Share of each topic among the words of each time, (T, K)."""
        words = self._point().words
        return words / words.sum(axis=1, keepdims=True)

    @property
    def predicted_evolution_(self) -> Floats:
        """Weight of each topic at each time, new topics left out, (T, K)."""
        point = self._point()
        if self._fitted.prior.flat:
            return self.evolution_
        weights = np.exp(point.log_weights(self._fitted.measure())[:, :-1])
        return weights / weights.sum(axis=1, keepdims=True)

    def _corpus(self, X: Any, times: Any, seen: bool = False) -> Corpus:
        """Return documents, validated; their times must have been there if they were ``seen``."""
        check_is_fitted(self)
        X, known = self._validated(X, reset=False), self._fitted.times
        codes = np.zeros(X.shape[0], dtype=np.int64)
        if self._fitted.prior.timed:
            times = later_periods(times, X.shape[0], known.values)
            codes = (known.codes if seen else known.codes_so_far)(times, X.shape[0])
        return Corpus.of(X, codes, max(len(known), 1))
