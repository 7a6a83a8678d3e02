"""The benchmark of a device runs at toy size on the CPU, and writes its tables."""

import sys
from pathlib import Path

import pytest

torch = pytest.importorskip("torch", reason="torch is not installed")
sys.path.insert(0, str(Path(__file__).parents[1]))

from benchmarks.gpu import plain, sections  # noqa: E402
from benchmarks.gpu.__main__ import SECTIONS, main  # noqa: E402
from benchmarks.gpu.timing import Row  # noqa: E402

from similitude.engines import TorchEngine  # noqa: E402
from similitude.kernels import Gaussian, Laplace, Matern, Polynomial, RationalQuadratic  # noqa: E402


@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # of packages beside ours, where they are installed
@pytest.mark.deep
def test_every_section_at_toy_size(tmp_path, capsys):
    assert main(["--device", "cpu", "--toy", "--out", str(tmp_path / "found.md")]) == 0
    written = (tmp_path / "found.md").read_text()
    assert [line[3:] for line in written.splitlines() if line.startswith("## ")] == list(SECTIONS)
    assert "| what | size | figure |" in written
    assert "in 20 pieces" in written
    assert "## machine" in capsys.readouterr().out


@pytest.mark.parametrize(
    "k",
    [
        Gaussian(sigma=2.0),
        Laplace(sigma=1.5),
        Laplace(sigma=1.5, norm=1),
        Matern(nu=1.5, length=2.0),
        RationalQuadratic(alpha=1.3, length=2.0),
        Polynomial(degree=2),
    ],
    ids=repr,
)
def test_the_plain_baseline_computes_the_same(k):
    torch.manual_seed(0)
    X, Y = torch.randn(30, 4, dtype=torch.float64), torch.randn(9, 4, dtype=torch.float64)
    operator = TorchEngine(device="cpu").operator(k, X, Y)
    V = torch.randn(9, 2, dtype=torch.float64)
    torch.testing.assert_close(plain.plain(operator).times(V), operator.times(V))
    with pytest.raises(ValueError, match="no plain form"):
        plain.block(2.0 * Matern(nu=2.5, length=1.0))
    assert plain.block(Gaussian(sigma=1.0))(X, X).shape == (30, 30)


def test_gains_are_ratios_in_the_right_direction():
    assert Row("a", "b", 2.0, "s", plain=6.0).cells()[5] == "3.0x"
    assert Row("a", "b", 6.0, "G entries/s", plain=2.0).cells()[5] == "3.0x"
    assert Row("a", "b", 6.0, "s").cells()[5] == ""
    assert sections.TOY.rows < sections.Sizes().rows
