"""Kernels for CUDA tensors say what array maths says; here Triton interprets them on the host."""

import os
import subprocess
import sys

import numpy as np
import pytest

from evermix.engines.variational.local import assign
from evermix.families._covariance import products, with_products
from evermix.kernels.device import dispatch as device

torch = pytest.importorskip("torch")
pytest.importorskip("triton")

TYPES = [(torch.float32, torch.float32), (torch.float64, torch.float32)]
TYPES.append((torch.float64, torch.float64))


INTERPRETED = os.environ.get("TRITON_INTERPRET") == "1"  # which Triton asks when it is loaded
interpreted = pytest.mark.skipif(not INTERPRETED, reason="runs in a process of its own")


@pytest.mark.skipif(INTERPRETED, reason="this is that process")
def test_all_kernels_in_a_process_that_interprets_them():
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", __file__]
    done = subprocess.run(
        command, env=os.environ | {"TRITON_INTERPRET": "1"}, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stdout


@interpreted
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("shape", [(1, 1), (33, 2), (70, 6), (3, 40)])
def test_products_of_columns(shape, dtype):
    x = torch.randn(*shape, dtype=dtype, generator=torch.Generator().manual_seed(0))
    for lead, want in ((0, products(x)), (shape[1], with_products(x))):
        out = torch.zeros_like(want)
        device.write_products(x, out)
        assert torch.equal(out[:, lead:], want[:, lead:])
        assert not out[:, :lead].any()


@interpreted
@pytest.mark.filterwarnings("ignore:invalid value:RuntimeWarning")  # 0 times infinity, not taken
@pytest.mark.parametrize("N, K", [(1, 1), (5, 3), (100, 7), (40, 200), (3, 600)])
@pytest.mark.parametrize("dtype, weighed", TYPES)
def test_rows_are_shared(N, K, dtype, weighed, monkeypatch):
    """Whatever the precision of scores and of weights, and by any number of programs."""
    rng = np.random.default_rng(0)
    scores = torch.as_tensor(rng.normal(scale=20.0, size=(N, K)), dtype=dtype)
    plus = torch.as_tensor(rng.normal(size=K), dtype=dtype)
    weights = torch.as_tensor(rng.random(N), dtype=weighed)
    want = assign(scores.clone(), weights, plus=plus)
    for programs in (1, 4, device.PROGRAMS):
        monkeypatch.setattr(device, "PROGRAMS", programs)
        got = device.softmax_rows(scores.clone(), weights, plus)
        close = 1e-12 if weighed == torch.float64 else 2e-5
        for ours, theirs in zip(got, want, strict=False):
            np.testing.assert_allclose(ours, theirs, rtol=close, atol=close)
        assert got[1].dtype == got[2].dtype == torch.float64
        assert got[4].dtype == got[5].dtype == weighed


def test_kernels_are_for_cuda_tensors_alone():
    assert not device.can_write_products(torch.ones(2, 2))
    assert not device.can_softmax(np.ones((2, 2)))
