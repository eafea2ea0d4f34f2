"""Mixtures for BERTopic: its topics are the clusters, by the same numbers."""

from collections import Counter
from collections.abc import Sequence
from typing import Any, Self

import numpy as np
from bertopic import BERTopic
from bertopic._bertopic import TopicMapper
from bertopic.dimensionality import BaseDimensionalityReduction
from bertopic.vectorizers import ClassTfidfTransformer, OnlineCountVectorizer
from numpy.typing import NDArray
from scipy import sparse

from evermix.estimators import Mixture

OWN = ("hdbscan_model", "nr_topics", "zeroshot_topic_list")
"""Settings of BERTopic that would number topics in another way."""


class _CopyingTfidf(ClassTfidfTransformer):  # type: ignore[misc]
    """Weights words as BERTopic does, and leaves the counts, which it would overwrite if floats."""

    def transform(self, X: Any) -> Any:
        """Return the weights of words in topics."""
        return super().transform(X.copy())


class MixtureBERTopic(BERTopic):  # type: ignore[misc]
    """A BERTopic whose topics are the clusters of a :class:`evermix.Mixture`.

    Topic 7 is cluster 7, after ``fit`` and after every ``partial_fit``: topics are not renumbered
    by size, new clusters are new topics, and when the mixture merges two clusters the words and the
    number of documents of one go to the other. A topic that has ended is not listed any more, so
    numbers may be missing in between; they are never used again.

    Parameters
    ----------
    mixture : Mixture or None
        What clusters the embeddings; None is ``Mixture()``.
    calculate_probabilities : bool
        Whether ``probabilities_``, and those of :meth:`transform`, are of all clusters,
        (N, K), where column j is ``cluster_ids_[j]``; else of the topic of each document, (N,).
    **settings
        All others of BERTopic, but for ``hdbscan_model``, ``nr_topics`` and
        ``zeroshot_topic_list``. Where BERTopic has other defaults, embeddings are clustered as they
        are (``umap_model``), and words are counted by an ``OnlineCountVectorizer`` without English
        stop words (``vectorizer_model``; :meth:`partial_fit` needs one of that class).

    Attributes
    ----------
    mixture : Mixture
        What was learnt. Merge and rename clusters there; topics follow in the next batch.
    cluster_ids_ : int64 array (K,)
        The clusters in order.
    topic_embeddings_ : array (number of topics, D)
        Mean embedding of the documents of each topic, in the order of their numbers.

    Notes
    -----
    Functions of BERTopic that take the number of a topic for its place, such as custom labels,
    need topics without gaps: those of ``fit``.
    """

    topic_representations_: dict[int, Any] | None
    topic_sizes_: Any
    topic_embeddings_: Any
    _sums: NDArray[Any]  # of the embeddings of each topic
    _embedded: Any  # the embeddings of the batch

    def __init__(
        self,
        mixture: Mixture | None = None,
        *,
        calculate_probabilities: bool = True,
        **settings: Any,
    ) -> None:
        for name in OWN:
            if settings.get(name) is not None:
                raise ValueError(
                    f"{name} numbers topics in another way than the mixture. Leave it out, or use "
                    "BERTopic(hdbscan_model=em.Mixture())."
                )
        if mixture is not None and not isinstance(mixture, Mixture):
            raise TypeError(f"mixture must be an em.Mixture or None, got {mixture!r}.")
        defaults = {
            "umap_model": BaseDimensionalityReduction(),
            "vectorizer_model": OnlineCountVectorizer(stop_words="english"),
            "ctfidf_model": _CopyingTfidf(),
        }
        super().__init__(
            hdbscan_model=Mixture() if mixture is None else mixture,
            calculate_probabilities=calculate_probabilities,
            **{**defaults, **settings},
        )

    @property
    def mixture(self) -> Mixture:
        """The mixture, which BERTopic knows as its ``hdbscan_model``."""
        return self.hdbscan_model

    @property
    def cluster_ids_(self) -> NDArray[np.int64]:
        """The ids of the clusters in order, (K,): the columns of probabilities."""
        return np.sort(self.mixture.cluster_ids_)

    # ---- learning --------------------------------------------------------------------------

    def partial_fit(self, documents: Any, embeddings: Any = None, y: Any = None) -> Self:
        """Learn more documents and go on from where the model is, also after ``fit``."""
        if not hasattr(self.vectorizer_model, "update_bow"):
            raise TypeError(
                "partial_fit counts words batch by batch: expected an OnlineCountVectorizer as "
                f"vectorizer_model, got {type(self.vectorizer_model).__name__}."
            )
        super().partial_fit(documents, embeddings, y)
        topics = sorted(self.topic_representations_ or ())
        places = np.searchsorted(topics, self.topics_)
        np.add.at(self._sums, places, np.asarray(self._embedded, dtype=np.float64))
        self._embedded = None
        sizes = np.array([self.topic_sizes_[topic] for topic in topics])
        self.topic_embeddings_ = self._sums / sizes[:, None]
        return self

    def _reduce_dimensionality(
        self, embeddings: Any, y: Any = None, partial_fit: bool = False
    ) -> NDArray[Any]:
        self._embedded = embeddings if partial_fit else None  # for their means
        return super()._reduce_dimensionality(embeddings, y, partial_fit)

    def _cluster_embeddings(
        self, umap_embeddings: Any, documents: Any, partial_fit: bool = False, y: Any = None
    ) -> tuple[Any, NDArray[Any]]:
        documents, own = super()._cluster_embeddings(umap_embeddings, documents, partial_fit, y)
        labels = self.mixture.labels_
        if partial_fit:
            self._follow(labels)
        self.topic_mapper_ = TopicMapper([*(self.topic_representations_ or ()), *labels.tolist()])
        return documents, self._probabilities(
            umap_embeddings
        ) if self.calculate_probabilities else own

    def _follow(self, labels: NDArray[np.int64]) -> None:
        """Do to topics what was done to clusters since the last batch, which has these labels."""
        known = sorted(self.topic_representations_ or ())
        heirs = self.mixture.lineage_.current(np.array(known, dtype=np.int64))
        living = {*self.mixture.cluster_ids_.tolist(), *labels.tolist()}
        kept = [(j, heir) for j, heir in enumerate(heirs.tolist()) if heir in living]
        topics = sorted({*labels.tolist(), *(heir for _, heir in kept)})
        place = {topic: i for i, topic in enumerate(topics)}
        ends = [place[heir] for _, heir in kept], [j for j, _ in kept]
        move = sparse.csr_matrix((np.ones(len(kept)), ends), (len(topics), len(known)))
        if known:
            counts = self.vectorizer_model.X_
            self.vectorizer_model.X_ = sparse.csr_matrix(move.astype(counts.dtype) @ counts)
            self._sums = move @ self._sums
            sizes = [self.topic_sizes_.get(topic, 0) for topic in known]
            sizes = (move @ np.array(sizes)).astype(int).tolist()
            self.topic_sizes_ = Counter({t: n for t, n in zip(topics, sizes, strict=True) if n})
            self.topic_representations_ = dict.fromkeys(topics, ())
        else:
            self._sums = np.zeros((len(topics), np.shape(self._embedded)[1]))

    def _sort_mappings_by_frequency(self, documents: Any) -> Any:
        self._update_topic_size(documents)  # and nothing else: topics keep their numbers
        return documents

    def _c_tf_idf(
        self, documents_per_topic: Any, fit: bool = True, partial_fit: bool = False
    ) -> tuple[Any, Any]:
        found = super()._c_tf_idf(documents_per_topic, fit, partial_fit)
        if fit and not partial_fit and hasattr(self.vectorizer_model, "update_bow"):
            texts = self._preprocess_text(documents_per_topic.Document.values)
            self.vectorizer_model.X_ = self.vectorizer_model.transform(texts)  # to go on from
        return found

    def _create_topic_vectors(
        self, documents: Any = None, embeddings: Any = None, mappings: Any = None
    ) -> None:
        if documents is None or embeddings is None:
            return  # partial_fit goes on with the means
        super()._create_topic_vectors(documents, embeddings, mappings)
        sizes = [self.topic_sizes_[topic] for topic in sorted(self.topic_sizes_)]
        self._sums = self.topic_embeddings_ * np.array(sizes)[:, None]

    # ---- questions -------------------------------------------------------------------------

    def transform(
        self,
        documents: Any,
        embeddings: Any = None,
        images: Any = None,
        novelty: float | None = None,
    ) -> tuple[NDArray[np.int64], NDArray[Any]]:
        """Return the topic of each document (N,), and probabilities as after ``fit``.

        With ``novelty`` the topic is -1 where a new one is more probable than this number.
        """
        rows = self._rows(documents, embeddings, images)
        proba = self._probabilities(rows)
        topics = self.mixture.predict(rows, novelty)
        return topics, proba if self.calculate_probabilities else proba.max(axis=1)

    def novelty(self, documents: Any, embeddings: Any = None) -> NDArray[Any]:
        """Return the probability that each document is of a topic not seen before, (N,)."""
        return self.mixture.novelty(self._rows(documents, embeddings))

    def _rows(self, documents: Any, embeddings: Any, images: Any = None) -> NDArray[Any]:
        """Return documents as rows of the mixture."""
        if embeddings is None:
            if self.embedding_model is None:
                raise ValueError("there is no embedding_model: give the embeddings.")
            texts = [documents] if isinstance(documents, str) else documents
            embeddings = self._extract_embeddings(texts, images, verbose=self.verbose)
        return np.nan_to_num(self.umap_model.transform(embeddings))

    def _probabilities(self, rows: NDArray[Any]) -> NDArray[Any]:
        """Return the probability of each of ``cluster_ids_`` (N, K)."""
        return self.mixture.predict_proba(rows)[:, np.argsort(self.mixture.cluster_ids_)]

    def _map_probabilities(self, probabilities: Any, original_topics: bool = False) -> Any:
        return probabilities

    # ---- what would put topics out of step -------------------------------------------------

    def merge_topics(self, docs: Any, topics_to_merge: Any, images: Any = None) -> None:
        """Refuse: merge clusters of the mixture, and topics follow."""
        raise _out_of_step()

    def reduce_topics(
        self, docs: Any, nr_topics: Any = 20, images: Any = None, use_ctfidf: bool = False
    ) -> Self:
        """Refuse: merge clusters of the mixture, and topics follow."""
        raise _out_of_step()

    def delete_topics(self, topics_to_delete: Sequence[int]) -> None:
        """Refuse: merge clusters of the mixture, and topics follow."""
        raise _out_of_step()

    @classmethod
    def _get_param_names(cls) -> list[str]:
        return sorted({*super()._get_param_names(), *BERTopic._get_param_names()} - {*OWN})


def _out_of_step() -> TypeError:
    return TypeError(
        "this would put topics out of step with the clusters. Merge clusters with "
        "mixture.merge_clusters(ids): topics follow in the next partial_fit. Or use "
        "BERTopic(hdbscan_model=em.Mixture())."
    )
