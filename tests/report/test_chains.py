"""Summaries of chains, and the way into ArviZ, of either version."""

import subprocess
import sys
import warnings

import numpy as np
import pytest

from evermix.report import Posterior

with warnings.catch_warnings():  # ArviZ 0 tells of ArviZ 1 when it is imported
    warnings.simplefilter("ignore")
    az = pytest.importorskip("arviz")

DIAGNOSTICS = ("ess_bulk", "ess_tail", "r_hat")


def _posterior(lengths=(60, 60), shift=0.0, **scalars):
    """Chains of K and of ``x``, an autoregressive process that ``shift`` sets apart."""
    rng = np.random.default_rng(0)
    chain = np.repeat(np.arange(len(lengths)), lengths)
    noise = rng.normal(size=len(chain))
    x = noise + 0.5 * np.roll(noise, 1) + shift * chain
    labels = rng.integers(0, 3, size=(len(chain), 6))
    scalars = {"x": x, "log_joint": rng.normal(size=len(chain)), **scalars}
    return Posterior(labels, chain, scalars)


def _shuffled(posterior):
    """The same draws with the chains interleaved, each in its own order."""
    order = np.argsort(np.random.default_rng(1).random(posterior.n_draws))
    for number in np.unique(posterior.chain):
        at = posterior.chain[order] == number
        order[at] = np.sort(order[at])
    scalars = {name: values[order] for name, values in posterior.scalars.items()}
    return Posterior(posterior.labels[order], posterior.chain[order], scalars)


def test_the_summary_has_numpy_s_moments_and_arviz_s_diagnostics():
    posterior = _posterior()
    summary = posterior.summary()
    assert set(summary) == {"K", "size_entropy", "x", "log_joint"}
    for name, values in posterior.traces().items():
        chains = np.asarray(values, dtype=float).reshape(2, 60)
        wanted = {
            "mean": chains.mean(),
            "sd": chains.std(ddof=1),
            "median": np.median(chains),
            "5%": np.quantile(chains, 0.05),
            "95%": np.quantile(chains, 0.95),
            "ess_bulk": az.ess(chains),
            "ess_tail": az.ess(chains, method="tail", prob=(0.05, 0.95)),
            "r_hat": az.rhat(chains),
        }
        assert summary[name] == pytest.approx({k: float(v) for k, v in wanted.items()})


def test_the_order_in_which_chains_were_recorded_does_not_matter():
    posterior = _posterior()
    other = _shuffled(posterior)
    assert not np.array_equal(other.chain, posterior.chain)
    for name, row in posterior.summary().items():
        assert other.summary()[name] == pytest.approx(row)


def test_chains_that_disagree_have_a_large_r_hat():
    agreed, apart = _posterior().summary(), _posterior(shift=5.0).summary()
    assert agreed["x"]["r_hat"] < 1.1
    assert apart["x"]["r_hat"] > 1.5
    assert apart["x"]["ess_bulk"] < 0.2 * agreed["x"]["ess_bulk"]


def test_what_never_varies_has_no_diagnostics():
    """Nor does it warn; chains that stand still in different places disagree vastly."""
    still, apart, broken = np.full(120, 2.5), np.repeat([0.0, 1.0], 60), np.full(120, -np.inf)
    summary = _posterior(still=still, apart=apart, broken=broken).summary()
    assert summary["still"]["mean"] == 2.5 and summary["still"]["sd"] == 0.0
    for name in ("still", "broken"):
        assert all(np.isnan(summary[name][key]) for key in DIAGNOSTICS)
    assert summary["apart"]["r_hat"] > 1e6


def test_too_few_draws_have_no_diagnostics():
    assert np.isnan(_posterior(lengths=(60,)).summary()["x"]["r_hat"])
    assert _posterior(lengths=(60,)).summary()["x"]["ess_bulk"] > 1
    short = _posterior(lengths=(3, 9)).summary()["x"]
    assert all(np.isnan(short[key]) for key in DIAGNOSTICS)
    assert np.isnan(_posterior(lengths=(1,)).summary()["x"]["sd"])


def test_chains_of_unequal_length_are_cut_for_diagnostics_only():
    """As an interrupted fit leaves them; chain 1 has no draws yet."""
    posterior = _posterior(lengths=(50, 0, 20))
    x = posterior.scalars["x"]
    row = posterior.summary()["x"]
    assert row["mean"] == pytest.approx(x.mean())
    assert row["r_hat"] == pytest.approx(float(az.rhat(np.stack([x[:20], x[50:]]))))
    data = posterior.to_arviz()
    assert data["posterior"]["x"].dims == ("chain", "draw")
    assert data["posterior"]["chain"].values.tolist() == [0, 2]
    np.testing.assert_array_equal(data["posterior"]["x"].values, np.stack([x[:20], x[50:]]))


def test_arviz_gets_the_traces_and_computes_the_same_from_them():
    posterior = _posterior()
    data = posterior.to_arviz()
    assert set(data["posterior"].data_vars) == {"K", "size_entropy", "x"}
    assert set(data["sample_stats"].data_vars) == {"log_joint"}
    np.testing.assert_array_equal(data["posterior"]["K"], posterior.n_clusters.reshape(2, 60))
    assert data["posterior"].attrs["inference_library"] == "evermix"
    summary, r_hat = posterior.summary(), az.rhat(data)
    for name in ("K", "size_entropy", "x"):
        found = float(r_hat[name] if name in r_hat else r_hat["posterior"][name])
        assert found == pytest.approx(summary[name]["r_hat"])


def test_arviz_gets_a_posterior_without_a_log_joint():
    data = Posterior([[0, 0], [0, 1]], [0, 0]).to_arviz()
    assert data["posterior"]["K"].values.tolist() == [[1, 2]]
    assert "sample_stats" not in data


def test_a_missing_arviz_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "arviz", None)
    for ask in (_posterior().summary, _posterior().to_arviz):
        with pytest.raises(ImportError, match=r"pip install 'evermix\[arviz\]'"):
            ask()


def test_arviz_is_imported_only_when_it_is_needed():
    """It takes seconds."""
    script = (
        "import sys, evermix.report as r; p = r.Posterior([[0, 1]], [0]); p.point();"
        "assert 'arviz' not in sys.modules and 'xarray' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", script], check=True)
