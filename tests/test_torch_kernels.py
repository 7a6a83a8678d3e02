"""The Triton kernels against float64: interpreted on the CPU in a separate process, compiled on a GPU."""

import os
import subprocess
import sys

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="torch is not installed")
triton = pytest.importorskip("triton", reason="triton is not installed")

PROGRAM = """
import sys
import numpy as np
import torch
from similitude.compute.engines.torch import fused
from similitude.engines import TorchEngine
from similitude.kernels import *

device, few = sys.argv[1], sys.argv[-1] == "few"
torch.manual_seed(0)
KERNELS = {
    "fp16x3": [Gaussian(9.0), RationalQuadratic(1.3, 9.0), Polynomial(3, scale=0.1), Sigmoid(0.01, 0.1)],
    "direct": [Laplace(3.0), Laplace(3.0, norm=1), Matern(0.5, 5.0), Matern(1.5, 5.0), Matern(2.5, 5.0)],
    "two products": [Linear()],
    "fp16x3, two products": [2.0 * Gaussian(9.0) + 0.5 * Linear() + 1.0],
}
engine = TorchEngine(device=device)

def checked(k, X, Y, outputs, way, precision="float32", most=5e-6):
    V = torch.randn(len(Y), outputs, device=device)
    operator = TorchEngine(device=device, precision=precision).operator(k, k.encode(X), k.encode(Y))
    assert operator.fused and operator.method == way, (k, operator.method)
    K = k.block(k.encode(X.double()), k.encode(Y.double()))
    for found, wanted in (
        (operator.times(V), K @ V.double()),
        (operator.transposed_times(operator.times(V)), K.T @ (K @ V.double())),
    ):
        error = float((found - wanted).norm() / wanted.norm())
        assert error < most, (k, way, X.shape, Y.shape, outputs, error)

for n, m, d in ((70, 130, 3), (5, 1, 20), *([] if few else [(9, 2100, 1)]), (3, 5, 140)):
    X, Y = torch.randn(n, d, device=device) + 3, torch.randn(m, d, device=device) + 3
    for way, kernels in list(KERNELS.items())[: 2 if m == 2100 and device == "cpu" else None]:
        for k in kernels[: 1 if n != 70 and device == "cpu" else None]:  # which takes long where it is interpreted
            checked(k, X, Y, 3 if n == 70 else 1, way)
    if d == 3:
        checked(Gaussian(0.1), X, Y, 1, "direct")

far_X, far_Y = X.clone(), Y.clone()
far_X[1], far_Y[2] = 1e4, 1e4
checked(Gaussian(9.0), far_X, far_Y, 2, "fp16x3 and direct")
checked(RationalQuadratic(1.3, 9.0), far_X, Y, 1, "fp16x3 and direct")
for far in (1e4,) if few else (10.0, 1e4, 1e6):  # two clusters: a center between them, or in one of them
    for m in (40, 60)[: 1 if device == "cpu" and far != 1e4 else None]:
        cluster = torch.randn(100, 5, device=device)
        cluster[:m] += far
        for k in (Gaussian(3.0), RationalQuadratic(1.3, 3.0), Laplace(3.0), Matern(1.5, 3.0)):
            V = torch.randn(100, 1, device=device)
            found, wanted = engine.operator(k, cluster, cluster).times(V), k.block(cluster.double(), cluster.double())
            error = (found - wanted @ V.double()).abs().max() / (wanted @ V.double()).abs().max()
            assert error < 2e-6, (k, far, m, error)
wide = torch.randn(20, 3000 if device == "cuda" else 600, device=device)
checked(Polynomial(3, scale=1 / wide.shape[1]), wide, wide, 1, "fp16x3")
checked(Gaussian(9.0), X, Y, 66, "fp16x3")  # so many that blocks are stored
uneven = torch.cat([X, 1e-5 * X])
checked(Polynomial(2, scale=0.1), uneven, Y, 1, "tf32x3")
checked(Gaussian(9.0), X, Y, 1, "tf32", precision="tf32", most=5e-3)
first, second = (engine.operator(Gaussian(3.0), X, Y).transposed_times(X[:, :1]) for _ in range(2))
assert torch.equal(first, second)
checked(Gaussian(9.0), X, Y, 50, "fp16x3")  # more outputs than are computed at once
checked(Laplace(9.0), X, Y, 35, "direct")

def unaffected(k):
    numpy = k.encode(X.cpu().numpy()), k.encode(Y.cpu().numpy())
    return torch.as_tensor(engine.operator(k, *numpy).product(np.ones(len(Y))))

for k in (Gaussian(9.0), Laplace(9.0), Polynomial(3, scale=0.1))[: 1 if few else None]:
    before = unaffected(k)
    for dtype in (torch.bfloat16, torch.float64):
        torch.set_default_dtype(dtype)
        assert torch.equal(unaffected(k), before), (k, dtype)
    torch.set_default_dtype(torch.float32)
    with torch.device(device):
        assert torch.equal(unaffected(k).cpu(), before.cpu()), k
    torch.backends.cuda.matmul.fp32_precision = "tf32"
    assert torch.equal(unaffected(k), before), k
    torch.backends.cuda.matmul.fp32_precision = "ieee"
assert not engine.operator(Gaussian(3.0), X.double(), Y).fused
assert not engine.operator(Polynomial(11), X, Y).fused
print("all is well")
"""


PROBE = """
import torch
import triton
import triton.language as tl

@triton.jit
def doubled(x, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    for _ in tl.range(tl.program_id(0), tl.minimum(n, 1)):
        tl.store(out + at, 2.0 * tl.load(x + at))

x, out = torch.arange(16.0), torch.zeros(16)
doubled[(1,)](x, out, 3, BLOCK=16)
assert torch.equal(out, 2 * x)
"""
"""The least that a kernel does: a loop over a number that is known when it runs, a load and a store."""


FIRST_THE_PROBE = """
import runpy, sys
try:
    runpy.run_path(sys.argv[2])
except Exception as error:
    print("cannot interpret:", type(error).__name__, error)
    sys.exit()
"""


def run(program, *arguments, **environment):
    """Run a program in a new process; return what it printed."""
    command = [sys.executable, "-c", program, *arguments]
    env = {**os.environ, **environment}
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=env, timeout=300)
    assert done.returncode == 0, done.stderr[-2000:]
    return done.stdout


@pytest.mark.parametrize("shapes", ["few", pytest.param("all", marks=pytest.mark.deep)])
@pytest.mark.deep
def test_interpreted_on_the_cpu(tmp_path, shapes):
    (tmp_path / "probe.py").write_text(PROBE)  # in a file: Triton reads the source
    said = run(FIRST_THE_PROBE + PROGRAM, "cpu", str(tmp_path / "probe.py"), shapes, TRITON_INTERPRET="1")
    if said.startswith("cannot interpret"):
        versions = f"Triton {triton.__version__}, NumPy {np.__version__}"
        pytest.skip(f"Triton's interpreter cannot run a kernel of two lines here ({versions}): {said}")
    assert said == "all is well\n"


@pytest.mark.gpu
def test_compiled_on_the_card():
    if not torch.cuda.is_available():
        pytest.skip("torch sees no CUDA device")
    assert run(PROGRAM, "cuda") == "all is well\n"
