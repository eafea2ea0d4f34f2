"""em.plot: pictures of fitted models, which return axes and save nothing."""

import sys

import numpy as np
import pytest
from scipy import sparse

import evermix as em


@pytest.fixture(scope="module")
def X():
    return np.random.default_rng(0).normal(size=(90, 2)) + np.repeat([[0.0], [9.0]], 45, axis=0)


@pytest.fixture(autouse=True)
def nothing_is_saved(tmp_path, monkeypatch):
    pytest.importorskip("matplotlib")
    monkeypatch.chdir(tmp_path)
    yield
    assert not list(tmp_path.iterdir())


def test_only_pictures_are_listed():
    """What editors and notebooks complete."""
    assert dir(em.plot) == sorted(em.plot.__all__)
    assert all(callable(getattr(em.plot, name)) for name in dir(em.plot))


def test_clusters_have_one_colour_each(X):
    mix = em.Mixture(random_state=0).fit(X)
    axes = em.plot.clusters(mix, X, title="Two")
    assert [len(some.get_offsets()) for some in axes.collections] == [45, 45]
    names = [text.get_text() for text in axes.get_legend().get_texts()]
    assert sorted(names) == [f"cluster {k}: 45 rows" for k in sorted(mix.cluster_ids_)]


def test_clusters_with_a_name_are_called_by_it(X):
    mix = em.Mixture().fit(X)
    mix.rename(int(mix.labels_[0]), "billing")
    names = [text.get_text() for text in em.plot.clusters(mix, X).get_legend().get_texts()]
    assert [name.split(":")[0] for name in names].count("billing") == 1


def test_counts_of_words_are_no_picture_of_two_columns():
    counts = sparse.csr_matrix(np.kron(np.eye(2), np.full((20, 3), 4.0)))
    mix = em.Mixture().fit(counts)
    with pytest.raises(ValueError, match=r"mix.cards\(X, names\) .* mix.report\("):
        em.plot.clusters(mix, counts)
    axes = em.plot.clusters(mix, counts, columns=(0, 3))
    assert sorted(len(some.get_offsets()) for some in axes.collections) == [20, 20]
    assert axes.get_xlabel() == "column 0" and axes.get_ylabel() == "column 3"


def test_pictures_can_be_drawn_into_a_given_figure(X):
    from matplotlib.figure import Figure

    whole = Figure(figsize=(12, 8), layout="constrained")
    upper, lower = whole.subfigures(2)
    mix = em.Mixture(em.DiagonalGaussian(), engine=em.ADF()).partial_fit(X)
    growth, sizes, likelihood = em.plot.stream(mix, title="A stream", figure=upper)
    assert growth.figure is sizes.figure is likelihood.figure is upper
    assert em.plot.clusters(mix, X, figure=lower).figure is lower


def test_clusters_of_a_stream_are_called_by_what_sets_them_apart_if_columns_have_names(X):
    counts = sparse.csr_matrix(np.kron(np.eye(2), np.full((60, 3), 4.0)))
    mix = em.Mixture(em.Multinomial(0.5), engine=em.ADF()).partial_fit(counts)
    called = [text.get_text() for text in em.plot.stream(mix)[1].get_yticklabels()]
    assert len(called) == 2 and all(name.startswith("cluster ") for name in called)
    _, sizes, _ = em.plot.stream(mix, ["sea", "ship", "sail", "ice", "snow", "sky"])
    called = [text.get_text().split(", ") for text in sizes.get_yticklabels()]
    assert sorted(map(sorted, called)) == [["ice", "sky", "snow"], ["sail", "sea", "ship"]]


def test_bounds_of_one_fit_and_of_several(X):
    fits = {f"{K}": em.Mixture(engine=em.FullVB(laps=3, truncation=K)).fit(X) for K in (2, 3)}
    assert len(em.plot.bound(fits["2"])[0].lines) == 1
    assert len(em.plot.bound(fits)[0].lines) == 2


def test_rows_of_many_columns_are_drawn_where_the_means_of_clusters_lie_apart():
    rng = np.random.default_rng(0)
    kind = np.repeat([0, 1, 2], 60)
    X = rng.normal(size=(180, 20))
    X[:, 5] += 40.0 * (kind == 1)
    X[:, 11] += 40.0 * (kind == 2)
    mix = em.Mixture(em.FixedGaussian(1.0, 1e4), em.DP(1.0), em.ADF()).partial_fit(X)
    axes = em.plot.clusters(mix, X)
    assert axes.get_xlabel() == "direction 1 of the cluster means"
    middles = [some.get_offsets().mean(axis=0) for some in axes.collections]
    gaps = [np.hypot(*(a - b)) for i, a in enumerate(middles) for b in middles[:i]]
    assert len(gaps) == 3 and min(gaps) > 35.0
    assert em.plot.clusters(mix, X, columns=(5, 11)).get_xlabel() == "column 5"
    two = em.plot.clusters(mix, X[kind < 2])
    assert two.get_ylabel() == "direction of the largest spread"


def test_samplers_have_traces_and_a_map(X):
    mix = em.Mixture(engine=em.Gibbs(sweeps=6), random_state=0).fit(X)
    assert len(em.plot.traces(mix, ["K"])) == 1
    assert em.plot.co_clustering(mix, rows=range(10)).images[0].get_array().shape == (10, 10)


def test_models_over_time_show_topics_and_clusters(X):
    years = np.tile([2001, 2002, 2004], 30)
    words = np.random.default_rng(0).poisson(2.0, size=(90, 4))
    sampled = {"burn_in": 3, "draws": 3, "random_state": 0}
    topics = em.TopicModel(em.HMNGG(), **sampled).fit(words, times=years)
    shown = em.plot.topics(topics, ["sea", "sky", "sun", "ice"])[2].get_yticklabels()
    lines = [text.get_text().split("\n")[0].split(": ") for text in shown]
    assert {int(k) for k, _ in lines} <= set(range(topics.n_topics_))
    assert {word for _, words in lines for word in words.split(", ")} <= {
        *("sea", "sky", "sun", "ice")
    }
    mix = em.DependentMixture(em.DiagonalGaussian(), **sampled).fit(X, times=years)
    with pytest.raises(TypeError, match="a Mixture or a DependentMixture, .*traces_"):
        em.plot.traces(topics)
    over_time = em.plot.topics(mix)
    assert over_time[0].get_title("left") == "Share of the rows of each time"
    assert "topic" not in over_time[2].get_title("left").lower() + over_time[2].get_xlabel()
    assert over_time[1].get_xlabel().split()[:3] in ([], ["of", "90", "rows:"])
    panels = em.plot.topic_curves(mix)
    assert {axes.get_title("left") for axes in panels} == {
        f"cluster {k}" for k in range(mix.n_clusters_)
    }


def test_a_model_without_times_has_no_picture_over_time():
    words = np.random.default_rng(0).poisson(2.0, size=(20, 4))
    topics = em.TopicModel(em.HDP(), burn_in=2, draws=2, random_state=0).fit(words)
    with pytest.raises(ValueError, match="this one knows no times"):
        em.plot.topics(topics)


def test_evermix_is_imported_without_matplotlib(X, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    with pytest.raises(ImportError, match=r"pip install 'evermix\[plot\]'"):
        em.plot.clusters(em.Mixture(random_state=0).fit(X), X)


def test_tables_are_drawn_by_two_columns_of_numbers():
    age, height = np.random.default_rng(0).normal([[40.0], [170.0]], 9.0, size=(2, 100))
    people = {"age": age, "country": ["de", "it", "it", "it"] * 25, "height": height}
    mix = em.Mixture().fit(people)
    axes = em.plot.clusters(mix, people)
    assert (axes.get_xlabel(), axes.get_ylabel()) == ("age", "height")
    with pytest.raises(ValueError, match="wanted, got .'age', 'country'"):
        em.plot.clusters(mix, people, columns=("age", "country"))


def test_a_loaded_mixture_draws_the_course_that_its_file_holds(X, tmp_path_factory):
    mix, path = em.Mixture(), tmp_path_factory.mktemp("models") / "mix.evermix"
    for start in range(0, len(X), 50):
        mix.partial_fit(X[start : start + 50])
    mix.save(path)
    drawn = [em.plot.stream(each) for each in (mix, em.load(path))]
    (one, two), (mean, again) = (
        [panels[i].lines[-1].get_xydata() for panels in drawn] for i in (0, 2)
    )
    np.testing.assert_array_equal(one[-1], two[-1])  # rows and clusters in the end
    np.testing.assert_allclose(mean[-1], again[-1])
    em.Mixture().fit(X).save(path)
    with pytest.raises(ValueError, match="learnt no stream.*partial_fit"):
        em.plot.stream(em.load(path))


def test_amounts_are_drawn_on_a_log_scale():
    rng = np.random.default_rng(0)
    kind = rng.integers(2, size=200)
    table = {
        "income": np.exp(rng.normal(8 + 2 * kind, 0.8)),
        "age": rng.normal(40 + 9 * kind, 2.0),
        "kind": np.array(["a", "b"])[kind],
    }
    axes = em.plot.clusters(em.Mixture().fit(table), table, columns=("income", "age"))
    assert (axes.get_xscale(), axes.get_yscale()) == ("log", "linear")
