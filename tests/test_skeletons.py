"""The skeletons of CONTRIBUTING, as printed, are families, priors and engines that work."""

import importlib
import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import evermix as em
from evermix.model import Model
from evermix.testing import check_engine, check_family, check_prior

CONTRIBUTING = Path(__file__).parents[1] / "CONTRIBUTING.md"
BLOCK = re.compile(r"```python\n# (\w+)\.py\n(.*?)```", flags=re.S)

LOAD = """
import sys
import numpy as np
import evermix as em

for module in {modules}:
    __import__(module)
for path, out in zip(sys.argv[1::2], sys.argv[2::2]):
    X = np.load("X.npy")
    np.save(out, em.load(path).partial_fit(X).score_samples(X))
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A folder with one module for each skeleton, from which they can be imported."""
    folder = tmp_path_factory.mktemp("skeletons")
    for name, code in BLOCK.findall(CONTRIBUTING.read_text(encoding="utf-8")):
        (folder / f"{name}.py").write_text(code, encoding="utf-8")
    sys.path.insert(0, str(folder))
    yield folder
    sys.path.remove(str(folder))


@pytest.fixture(scope="module")
def X():
    rng = np.random.default_rng(0)
    rates = np.array([[0.1, 5.0, 1.0], [5.0, 0.1, 1.0], [1.0, 1.0, 30.0]])
    return rng.exponential(1 / rates[rng.integers(0, 3, 200)])


def family(name, **settings):
    module = {"WaitingTimes": "waiting_times", "FastWaitingTimes": "fast_waiting_times"}[name]
    return getattr(importlib.import_module(module), name)(**settings)


def prior():
    return importlib.import_module("gamma_process").GammaProcess()


def engine():
    return importlib.import_module("greedy").Greedy()


def mixtures():
    return {
        "family": em.Mixture(family("WaitingTimes"), random_state=0),
        "compiled": em.Mixture(family("FastWaitingTimes"), random_state=0),
        "prior": em.Mixture(em.DiagonalGaussian(0.0, 0.1, 2.0, 1.0), prior(), random_state=0),
        "engine": em.Mixture(family("WaitingTimes"), engine=engine(), random_state=0),
    }


@pytest.mark.parametrize("name", ["WaitingTimes", "FastWaitingTimes"])
def test_the_family_obeys_the_laws(folder, X, name):
    check_family(family(name, n_features=3), X)
    with pytest.raises(ValueError, match=r"needs numbers >= 0, got -1.0 in row 1, column 2\. Cou"):
        em.Mixture(family(name)).fit(np.array([[1.0, 2.0, 3.0], [1.0, 2.0, -1.0]]))


def test_the_family_can_be_used_by_every_engine(folder, X):
    """All but DPMeans, which works with one family, and Slice, which draws parameters."""
    engines = [em.ADF(), em.EP(laps=2), em.SUGS(), em.OnlineCRP(), em.RCRP(), em.Gibbs(sweeps=3)]
    engines += [em.FullVB(), em.StochasticVB(), em.MemoizedVB(), engine()]
    for each in engines:
        mix = em.Mixture(family("WaitingTimes"), engine=each, random_state=0).fit(X)
        assert mix.n_clusters_ > 1
        assert np.all(np.isfinite(mix.score_samples(X)))
    with pytest.raises(NotImplementedError, match="define the method draw_params"):
        em.Mixture(family("WaitingTimes"), engine=em.Slice(sweeps=2)).fit(X)
    with pytest.raises(NotImplementedError, match="define the method draw"):
        em.Mixture(family("WaitingTimes")).fit(X).sample(2)


def test_compiled_verbs_change_nothing_but_the_time(folder, X):
    slow, fast = (em.Mixture(family(name)).fit(X) for name in ("WaitingTimes", "FastWaitingTimes"))
    np.testing.assert_array_equal(slow.labels_, fast.labels_)
    np.testing.assert_allclose(slow.score_samples(X), fast.score_samples(X), rtol=1e-10)


def test_the_prior_obeys_the_laws(folder):
    check_prior(prior())
    sizes = np.array([3.0, 1.0])
    want = em.DP(1.0).log_weights(sizes, np.ones(2))
    np.testing.assert_allclose(prior().log_weights(sizes, np.ones(2)), want, rtol=1e-9)


def test_the_engine_obeys_the_laws(folder, X):
    for each in (family("WaitingTimes", n_features=3), em.Gaussian(scale=1.0).candidates(X)[0]):
        check_engine(engine(), Model(each, em.NGGP()), X)
    mix = em.Mixture(family("WaitingTimes"), engine=engine(), max_clusters=2).fit(X)
    assert mix.n_clusters_ == 2


def test_saved_models_go_on_in_a_new_process(folder, X):
    """Classes are found by name once their modules are imported."""
    np.save(folder / "X.npy", X)
    files, wanted = [], []
    for name, mix in mixtures().items():
        for start in range(0, 200, 60):
            mix.partial_fit(X[start : start + 60])
        files += [f"{name}.evermix", f"{name}.npy"]
        mix.save(folder / files[-2])
        wanted.append(mix.partial_fit(X).score_samples(X))
    modules = [name for name, _ in BLOCK.findall(CONTRIBUTING.read_text(encoding="utf-8"))]
    paths = os.pathsep.join([str(folder), *sys.path])
    script = [sys.executable, "-c", LOAD.format(modules=modules), *files]
    environment = os.environ | {"PYTHONPATH": paths}
    done = subprocess.run(script, cwd=folder, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    for scores, name in zip(wanted, files[1::2], strict=True):
        np.testing.assert_array_equal(np.load(folder / name), scores, err_msg=name)
