"""What draws of a topic model tell of its topics."""

from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from evermix._xp import Array
from evermix.estimators.chains import Drawn
from evermix.report.chains import to_inference_data
from evermix.topics.chains import Run
from evermix.topics.hierarchies import Hierarchy
from evermix.topics.words.corpus import Corpus
from evermix.topics.words.snapshots import Snapshot


class ToldTopics(Drawn):
    """Topics, their words and their shares over time, in the draws of a fitted model."""

    n_features_in_: int

    _prior: Hierarchy
    _beta: float
    _corpus: Corpus
    _run: Run

    @property
    def traces_(self) -> dict[str, Array]:
        """Numbers of all draws by name, those of a chain after each other."""
        self._check_drawn()
        return self._run.traces()[0]

    def to_arviz(self) -> Any:
        """Return the traces for ArviZ's plots and diagnostics.

        The group ``posterior`` holds all of them but ``log_joint``, which is in ``sample_stats``.

        Returns
        -------
        xarray.DataTree (ArviZ 1) or arviz.InferenceData (ArviZ 0)
        """
        self._check_drawn()
        posterior, chain = self._run.traces()
        stats = {"log_joint": posterior.pop("log_joint")}
        return to_inference_data({"posterior": posterior, "sample_stats": stats}, chain)

    @property
    def _n_drawn(self) -> int:
        return self._run.n_draws

    def _snapshots(self) -> list[Snapshot]:
        """Return kept draws; before the first one, where a chain stands."""
        check_is_fitted(self)
        if self._run.snapshots:
            return self._run.all_snapshots()
        if "now" not in self._views:
            self._views["now"] = self._run.now(self._corpus)
        return [self._views["now"]]

    def _point(self) -> Snapshot:
        """Return the kept draw of the largest joint density."""
        return max(self._snapshots(), key=lambda snapshot: snapshot.log_joint)

    @property
    def n_topics_(self) -> int:
        """Number of topics."""
        return self._point().K

    @property
    def components_(self) -> Array:
        """Probability of each word in each topic, (K, V)."""
        return self._point().components(self._beta)

    @property
    def regions_(self) -> Array:
        """The region of each topic, (K,)."""
        return self._point().region.copy()

    @property
    def weights_(self) -> Array:
        """Share of each topic among all words, (K,)."""
        words = self._point().words.sum(axis=0)
        return words / words.sum()

    @property
    def evolution_(self) -> Array:
        """Share of each topic among the words of each time, (T, K)."""
        words = self._point().words
        return words / words.sum(axis=1, keepdims=True)

    @property
    def predicted_evolution_(self) -> Array:
        """Weight of each topic at each time, new topics left out, (T, K)."""
        if self._prior.flat:
            return self.evolution_
        weights = np.exp(self._point().log_weights(self._measure())[:, :-1])
        return weights / weights.sum(axis=1, keepdims=True)

    def top_words(self, n: int = 10, vocabulary: Any = None) -> list[list[Any]]:
        """Return the n most probable words of each topic.

        Parameters
        ----------
        n : int
        vocabulary : sequence (V,), optional
            The words. None for the names of the columns of X, if it had any, and their numbers
            otherwise.
        """
        names = vocabulary
        if names is None:
            names = vars(self).get("feature_names_in_", np.arange(self.n_features_in_))
        names = np.asarray(names)
        if names.shape != (self.n_features_in_,):
            raise ValueError(
                f"vocabulary must have one entry per word, ({self.n_features_in_},), got shape "
                f"{names.shape}."
            )
        order = np.argsort(-self.components_, axis=1, kind="stable")[:, :n]
        return [names[some].tolist() for some in order]

    def _measure(self) -> Any:
        return self._prior.measure(np.ones(max(len(self._times), 1)))
