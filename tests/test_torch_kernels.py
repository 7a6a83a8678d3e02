"""The Triton kernels against float64: interpreted on the CPU in a process of its own, compiled on a card."""

import os
import subprocess
import sys

import pytest

torch = pytest.importorskip("torch", reason="torch is not installed")
pytest.importorskip("triton", reason="triton is not installed")

PROGRAM = """
import sys
import torch
from similitude.engines import TorchEngine, torch_loops
from similitude.kernels import *

device = sys.argv[1]
torch.manual_seed(0)
KERNELS = {
    "fp16x3": [Gaussian(3.0), RationalQuadratic(1.3, 2.0), Polynomial(3, scale=0.1), Sigmoid(0.01, 0.1)],
    "direct": [Laplace(3.0), Laplace(3.0, norm=1), Matern(0.5, 5.0), Matern(1.5, 5.0), Matern(2.5, 5.0)],
    "two products": [Linear()],
    "fp16x3, two products": [2.0 * Gaussian(3.0) + 0.5 * Linear() + 1.0],
}
engine = TorchEngine(device=device)

def checked(k, X, Y, outputs, way, precision="float32", most=5e-6):
    V = torch.randn(len(Y), outputs, device=device)
    product = TorchEngine(device=device, precision=precision).product(k, k.encode(X), k.encode(Y))
    assert product.fused and product.way == way, (k, product.way)
    K = k.block(k.encode(X.double()), k.encode(Y.double()))
    for found, wanted in (
        (product.times(V), K @ V.double()),
        (product.transposed_times(product.times(V)), K.T @ (K @ V.double())),
    ):
        error = float((found - wanted).norm() / wanted.norm())
        assert error < most, (k, way, X.shape, Y.shape, outputs, error)

for n, m, d in ((70, 130, 3), (5, 1, 20), (9, 2100, 1), (3, 5, 140)):
    X, Y = torch.randn(n, d, device=device) + 3, torch.randn(m, d, device=device) + 3
    for way, kernels in KERNELS.items():
        for k in kernels:
            checked(k, X, Y, 3 if n == 70 else 1, way)
    if d == 3:
        checked(Gaussian(0.1), X, Y, 1, "direct")

uneven = torch.cat([X, 1e-5 * X])
checked(Polynomial(2, scale=0.1), uneven, Y, 1, "tf32x3")
checked(Gaussian(9.0), X, Y, 1, "tf32", precision="tf32", most=5e-3)
first, second = (engine.product(Gaussian(3.0), X, Y).transposed_times(X[:, :1]) for _ in range(2))
assert torch.equal(first, second)
assert not engine.product(Gaussian(3.0), X.double(), Y).fused
assert not engine.product(Polynomial(11), X, Y).fused
print("all is well")
"""


def run(device, **environment):
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, device],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, **environment},
        timeout=300,
    )
    assert done.stdout == "all is well\n", done.stderr[-2000:]


def test_interpreted_on_the_cpu():
    run("cpu", TRITON_INTERPRET="1")


@pytest.mark.gpu
def test_compiled_on_the_card():
    if not torch.cuda.is_available():
        pytest.skip("torch sees no CUDA device")
    run("cuda")
