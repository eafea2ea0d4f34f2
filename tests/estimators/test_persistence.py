"""A saved model goes on bit for bit."""

import json
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pytest

import evermix as em
from evermix import CheckpointError
from evermix.io import checkpoint
from helpers.mixture_cases import assert_same_model, blobs, texts

GOLDEN = Path(__file__).parents[1] / "golden"


@pytest.mark.parametrize("family", ["auto", em.DiagonalGaussian(), em.ZeroMeanGaussian()])
def test_save_load_and_go_on_equals_never_stopping(tmp_path, family):
    X, _ = blobs(2500, D=3)
    whole = em.Mixture(family=family).partial_fit(X)
    mix = em.Mixture(family=family)
    for start in range(0, 2500, 500):  # the first saves hold rows that still wait
        mix.partial_fit(X[start : start + 500])
        mix.save(tmp_path / "m.evermix")
        mix = em.load(tmp_path / "m.evermix")
    assert_same_model(whole, mix)
    np.testing.assert_array_equal(whole.predict(X), mix.predict(X))
    np.testing.assert_array_equal(whole.score_samples(X), mix.score_samples(X))


def test_labels_parameters_and_names_survive(tmp_path):
    import pandas as pd

    X, _ = texts()
    frame = pd.DataFrame(X.toarray(), columns=[f"w{j}" for j in range(40)])
    mix = em.Mixture(em.Multinomial(0.3), em.PitmanYor(2.0, 0.1), em.ADF(birth=0.2), None, 50, 7)
    mix.fit(frame).save(tmp_path / "m.evermix")
    again = em.load(tmp_path / "m.evermix")
    assert again.get_params() == mix.get_params()
    np.testing.assert_array_equal(again.labels_, mix.labels_)
    np.testing.assert_array_equal(again.feature_names_in_, mix.feature_names_in_)
    assert again.lineage_ == mix.lineage_


def test_equal_models_give_equal_bytes(tmp_path):
    X, _ = texts()
    em.Mixture(random_state=0).fit(X).save(tmp_path / "a.evermix")
    em.Mixture(random_state=0).fit(X).save(tmp_path / "b.evermix")
    assert (tmp_path / "a.evermix").read_bytes() == (tmp_path / "b.evermix").read_bytes()


def test_a_prior_of_ones_own_is_found_once_it_is_defined(tmp_path):
    @dataclass(frozen=True)
    class Tilted(em.NRM):
        a: float = 1.0

        def log_moment(self, m, u):
            from scipy.special import gammaln

            return np.log(self.a) + gammaln(m) - m * np.log1p(u)

        def laplace_exponent(self, u):
            return self.a * np.log1p(u)

    mix = em.Mixture(prior=Tilted()).fit(texts(40)[0])
    mix.save(tmp_path / "m.evermix")
    assert em.load(tmp_path / "m.evermix").prior == Tilted()
    assert em.load(tmp_path / "m.evermix", custom=[Tilted]).prior == Tilted()
    for custom in (Tilted, None, [Tilted()], ["Tilted"], [3]):
        with pytest.raises(TypeError, match="custom must be a list of classes, each of them a Fam"):
            em.load(tmp_path / "m.evermix", custom=custom)

    class Bare(Tilted):
        def __init__(self, a):
            object.__setattr__(self, "a", a)

    class Loose(em.NRM):
        def __init__(self, a):
            object.__setattr__(self, "a", a)

        log_moment, laplace_exponent = Tilted.log_moment, Tilted.laplace_exponent

    em.Mixture(prior=Bare(2.0)).fit(texts(40)[0]).save(tmp_path / "m.evermix")
    assert em.load(tmp_path / "m.evermix", custom=[Bare]).prior.a == 2.0
    with pytest.raises(TypeError, match="would lose a of Loose, which is no dataclass"):
        em.Mixture(prior=Loose(2.0)).fit(texts(40)[0]).save(tmp_path / "m.evermix")


class Words(em.Multinomial):
    """A family of one's own, without fields of its own."""


@dataclass(frozen=True)
class Patient(em.ADF):
    """An engine of one's own."""

    patience: float = 3.0


class Hasty(em.ADF):
    """An engine with a setting that no file would hold."""

    def __init__(self, haste):
        super().__init__()
        object.__setattr__(self, "haste", haste)


def renamed(path, old, new):
    """Write a file anew in which a class has another name, and return its path."""
    arrays, header = checkpoint.read(path)
    text = json.dumps(header).replace(f'"{old}"', f'"{new}"')
    checkpoint.write(path, arrays, json.loads(text))
    return path


def test_a_family_and_an_engine_of_ones_own_are_found_once_they_are_defined(tmp_path):
    path = tmp_path / "m.evermix"
    X = texts(40)[0]
    mix = em.Mixture(Words(0.3), engine=Patient(patience=2.0)).partial_fit(X)
    mix.save(path)
    for custom in ([], [Patient], [Patient, Words]):
        again = em.load(path, custom=custom)
        assert again.engine == Patient(patience=2.0)
        assert type(again.family) is Words
    assert_same_model(mix.partial_fit(X), again.partial_fit(X))


@pytest.mark.parametrize("name", ["Words", "Patient"])
def test_a_class_that_nobody_has_defined_is_named_with_advice(tmp_path, name):
    path = tmp_path / "m.evermix"
    em.Mixture(Words(0.3), engine=Patient()).fit(texts(40)[0]).save(path)
    renamed(path, name, "Absent")
    with pytest.raises(CheckpointError, match=r"uses Absent, .*module.*custom=\[Absent\]"):
        em.load(path)


def test_a_class_with_the_name_of_one_of_ours_is_used_only_where_it_is_passed(tmp_path):
    path = tmp_path / "m.evermix"
    other = type("Multinomial", (em.Multinomial,), {})
    em.Mixture(em.Multinomial(0.3)).fit(texts(40)[0]).save(path)
    assert type(em.load(path).family) is em.Multinomial
    assert type(em.load(path, custom=[other]).family) is other


def test_an_engine_that_a_file_would_not_hold_is_refused(tmp_path):
    mix = em.Mixture(engine=Hasty(2.0)).fit(texts(40)[0])
    with pytest.raises(TypeError, match="would lose haste of Hasty, which is no dataclass"):
        mix.save(tmp_path / "m.evermix")


def test_a_dependent_mixture_can_have_a_family_of_ones_own(tmp_path):
    path, X = tmp_path / "m.evermix", texts(40)[0]
    mix = em.DependentMixture(Words(0.3), burn_in=1, draws=2, random_state=0)
    mix.fit(X, times=np.arange(40) % 2).save(path)
    again = em.load(path)
    assert type(again.family) is Words
    np.testing.assert_array_equal(again.labels_, mix.labels_)


def test_nothing_to_save(tmp_path):
    with pytest.raises(ValueError, match="nothing to save yet"):
        em.Mixture().save(tmp_path / "m.evermix")


def test_a_file_of_another_kind_is_refused(tmp_path):
    checkpoint.write(tmp_path / "m.evermix", {}, {"kind": "teapot"})
    with pytest.raises(CheckpointError, match="holds a teapot, not a mixture"):
        em.load(tmp_path / "m.evermix")


def test_a_file_of_every_format_can_be_read():
    """Golden files are written once per format by make_golden.py and never changed."""
    for number in range(1, checkpoint.FORMAT + 1):
        path = GOLDEN / f"mixture-{number}.evermix"
        assert checkpoint.read(path)[1]["format"] == number
        mix = em.load(path)
        want = np.load(path.with_suffix(".npz"))
        np.testing.assert_array_equal(mix.predict(want["X"]), want["labels"])
        np.testing.assert_allclose(mix.score_samples(want["X"]), want["scores"], rtol=1e-10)
        laps = mix.state_.lap
        mix.set_params(engine=replace(mix.engine, laps=20, tol=0.0)).resume(want["X"])
        assert mix.state_.lap > laps
