"""What users do that nobody plans for: odd numbers, odd moments, edited files."""

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError

import evermix as em
from evermix.io import checkpoint
from evermix.state import Lineage
from helpers.mixture_cases import arrays_of, blobs, texts


@pytest.mark.parametrize("scale", [1e-300, 1e-162, 1e-160, 1e-120])
@pytest.mark.parametrize("family", [em.Gaussian(), em.DiagonalGaussian(), em.FixedGaussian()])
def test_spreads_whose_squares_underflow_count_as_constant(family, scale):
    mix = em.Mixture(family=family).fit(scale * blobs(60)[0])
    assert mix.n_clusters_ == 1
    assert all(np.all(np.isfinite(values)) for values in arrays_of(mix).values())


@pytest.mark.parametrize("family", [em.Gaussian(), em.DiagonalGaussian()], ids=repr)
@pytest.mark.parametrize("offset", [1e8, 1.7e9, -1e11])
def test_an_offset_of_the_data_hides_no_clusters(family, offset):
    """Seconds since 1970, say."""
    X, _ = blobs(200)
    near = em.Mixture(family).fit(X)
    far = em.Mixture(family).fit(X + offset)
    assert far.n_clusters_ == near.n_clusters_ > 1
    np.testing.assert_array_equal(far.labels_, near.labels_)


def test_no_cluster_can_be_merged_into_itself():
    lineage = Lineage()
    lineage.birth(1)
    with pytest.raises(ValueError, match="into itself"):
        lineage.merge(0, 0, clock=2)


@pytest.mark.parametrize("fitted", [False, True])
def test_a_fit_that_fails_before_its_first_step_leaves_the_old_model(fitted):
    rng = np.random.default_rng(0)
    X = np.vstack([rng.normal(size=(30, 2)), 20 + rng.normal(size=(30, 2))])
    mix = em.Mixture(engine=em.MemoizedVB(laps=3), random_state=0)
    labels = mix.fit_predict(X) if fitted else None
    mix.set_params(engine=em.MemoizedVB(laps=3, spill="/there/is/no/such/folder"))
    with pytest.raises(OSError):
        mix.fit(X[:40])
    if not fitted:
        with pytest.raises(NotFittedError):
            mix.predict(X)
    else:
        np.testing.assert_array_equal(mix.predict(X), labels)
        np.testing.assert_array_equal(mix.labels_, labels)


def test_settings_that_cannot_be_are_saved_as_they_are(tmp_path):
    """A model is as whole as before; what was set is reported at the next fit."""
    X = np.random.default_rng(0).normal(size=(40, 2))
    mix = em.Mixture().fit(X).set_params(max_clusters=0, family="typo")
    mix.save(tmp_path / "mix.evermix")
    loaded = em.load(tmp_path / "mix.evermix")
    np.testing.assert_array_equal(loaded.predict(X), mix.predict(X))
    assert loaded.get_params()["family"] == "typo"
    with pytest.raises(ValueError, match="typo"):
        loaded.fit(X)


def test_a_stream_keeps_its_family_whatever_set_params_says():
    X = np.abs(blobs(1200)[0])
    mix = em.Mixture().partial_fit(X).set_params(family=em.Multinomial())
    mix.partial_fit(X[:50]).predict(X[:3])
    assert isinstance(mix.model_.family, em.Gaussian)
    assert isinstance(mix.fit(X).model_.family, em.Multinomial)


@pytest.mark.parametrize("family", [em.Multinomial(alpha=-1.0), em.Poisson(shape=-1.0)])
def test_a_first_batch_that_fails_leaves_nothing_behind(family):
    X = texts(40)[0].toarray()
    mix = em.Mixture(family=family)
    with pytest.raises(ValueError, match="must be a positive number"):
        mix.partial_fit(X)
    mix.set_params(family=em.Multinomial()).partial_fit(X)
    assert mix.state_.clock == 40


@pytest.mark.parametrize(
    ("cap", "error"),
    [("3", TypeError), (2.5, TypeError), (True, TypeError), (0, ValueError), (10**30, ValueError)],
)
def test_the_cap_is_a_whole_number(cap, error):
    with pytest.raises(error, match="max_clusters (must be|is far too large)"):
        em.Mixture(max_clusters=cap).fit(blobs(20)[0])


def test_no_samples_have_the_shape_of_samples():
    X, labels = em.Mixture().fit(blobs(50)[0]).sample(0)
    assert X.shape == (0, 2) and labels.shape == (0,)


def test_only_priors_can_be_selected():
    with pytest.raises(TypeError, match=r"priors must hold Priors such as em.DP\(1.0\), got 1.0"):
        em.select_prior(blobs(50)[0], [1.0])


@pytest.mark.parametrize("bits", ["MT19937", "PCG64", "PCG64DXSM", "Philox", "SFC64"])
def test_any_generator_survives_a_file(tmp_path, bits):
    rng = np.random.Generator(getattr(np.random, bits)(0))
    mix = em.Mixture(random_state=rng).fit(blobs(50)[0])
    mix.save(tmp_path / "m.evermix")
    again = em.load(tmp_path / "m.evermix")
    assert again.learner_.rng.random(3).tolist() == mix.learner_.rng.random(3).tolist()


def test_settings_may_be_numbers_of_numpy(tmp_path):
    mix = em.Mixture(
        em.Multinomial(np.float32(0.5)),
        em.DP(np.float32(2.0)),
        em.ADF(birth=np.float32(0.25)),
        max_clusters=np.int64(9),
    )
    mix.fit(texts(40)[0]).save(tmp_path / "m.evermix")
    assert em.load(tmp_path / "m.evermix").get_params() == mix.get_params()


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    path = tmp_path_factory.mktemp("whole") / "m.evermix"
    em.Mixture(em.Gaussian(), em.NGGP(), em.ADF(), None, 50, 3).fit(blobs(100)[0]).save(path)
    return checkpoint.read(path)


def refused(path, arrays, header):
    checkpoint.write(path, arrays, header)
    with pytest.raises(em.CheckpointError, match="does not hold a whole mixture"):
        em.load(path)


@pytest.mark.parametrize("key", ["params", "engine", "model", "state", "rng", "n_features_in"])
@pytest.mark.parametrize("value", [None, "x", [1, 2], -1])
def test_an_edited_header_is_refused(tmp_path, saved, key, value):
    arrays, header = saved
    refused(tmp_path / "m.evermix", arrays, header | {key: value})
    refused(tmp_path / "m.evermix", arrays, {k: v for k, v in header.items() if k != key})


@pytest.mark.parametrize("key", ["kappa", "nu", "scale", "mean", "origin", "n_features"])
@pytest.mark.parametrize("value", [None, "x", [1.0, 2.0, 3.0]])
def test_edited_hyperparameters_are_refused(tmp_path, saved, key, value):
    arrays, header = saved
    family = header["model"]["family"]
    family = family | {"spec": family["spec"] | {key: value}}
    header = header | {"model": header["model"] | {"family": family}}
    refused(tmp_path / "m.evermix", arrays, header)


def test_missing_and_misshapen_arrays_are_refused(tmp_path, saved):
    """Every array of the state: compiled loops must never run over memory that is not there."""
    arrays, header = saved
    for name, values in arrays.items():
        rest = {k: v for k, v in arrays.items() if k != name}
        refused(tmp_path / "m.evermix", rest, header)
        others = [values[:-1], np.concatenate([values, values])] if len(values) else []
        for wrong in (*others, values[..., None]):
            refused(tmp_path / "m.evermix", rest | {name: wrong}, header)


def test_misshapen_waiting_rows_are_refused(tmp_path):
    path = tmp_path / "m.evermix"
    em.Mixture().partial_fit(blobs(20)[0]).save(path)
    arrays, header = checkpoint.read(path)
    for name in ("waiting.X", "waiting.weights"):
        refused(path, arrays | {name: arrays[name][:-1]}, header)
    refused(path, arrays | {"waiting.X": np.full((20, 2), np.nan)}, header)


def test_weights_that_would_drown_the_prior_are_refused():
    X, _ = blobs(60)
    with pytest.raises(ValueError, match="sample_weight goes up to 1e\\+200.*Divide"):
        em.Mixture().fit(X, sample_weight=np.full(60, 1e200))
    mix = em.Mixture().fit(X, sample_weight=np.full(60, 1e12))
    assert np.all(np.isfinite(mix.predict_proba(X)))


@pytest.mark.parametrize("engine", [em.ADF(), em.EP(laps=3)])
def test_weights_that_would_vanish_are_refused(engine):
    X, _ = blobs(60)
    with pytest.raises(ValueError, match="sample_weight goes down to 4.94e-324.*Multiply"):
        em.Mixture(engine=engine).fit(X, sample_weight=np.full(60, 5e-324))
    mix = em.Mixture(engine=engine).fit(X, sample_weight=np.full(60, 1e-200))
    assert np.all(np.isfinite(mix.score_samples(X)))
