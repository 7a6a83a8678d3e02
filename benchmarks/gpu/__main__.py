"""Measure a device: its peaks, fused products, whole fits, predictions and streams, each checked against float64.

python -m benchmarks.gpu                          # an H200 takes some minutes
python -m benchmarks.gpu --only products fits --out found.md
python -m benchmarks.gpu --device cpu --toy       # sizes for a test
"""

from __future__ import annotations

import argparse
import datetime
import sys
from pathlib import Path

import torch

from benchmarks.gpu import sections
from benchmarks.gpu.timing import Row, table
from similitude.compute.engines.torch.fused import kernels
from similitude.engines import TorchEngine

SECTIONS = ("machine", "products", "fits", "numbers", "classes", "clusters", "predictions", "streams", "digits")


def main(arguments: list[str] | None = None) -> int:
    """Run the sections asked for and print their tables."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.gpu", description=__doc__.splitlines()[0])
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--precision", default="float32")
    parser.add_argument("--only", nargs="+", choices=SECTIONS, default=SECTIONS)
    parser.add_argument("--toy", action="store_true", help="sizes for a test")
    parser.add_argument("--mnist", help="mnist.npz with x_train, y_train, x_test, y_test")
    parser.add_argument("--out", type=Path, help="also write the tables here")
    ask = parser.parse_args(arguments)
    engine = TorchEngine(device=ask.device, precision=ask.precision)
    sizes = sections.TOY if ask.toy else sections.Sizes()
    text = heading(engine)
    print(text, flush=True)
    for name in ask.only:
        made = getattr(sections, name)(engine, sizes, *([ask.mnist] if name == "digits" else []))
        rows: list[Row] = []
        for row in made:
            rows.append(row)
            print(" ".join(filter(None, row.cells())), file=sys.stderr, flush=True)
        text += f"\n## {name}\n\n{table(rows)}\n"
        print(f"\n## {name}\n\n{table(rows)}", flush=True)
        if ask.out is not None:
            ask.out.write_text(text)
    return 0


def heading(engine: TorchEngine) -> str:
    """Say where and with what this was measured."""
    cuda = engine.torch_device.type == "cuda"
    device = torch.cuda.get_device_name(engine.torch_device) if cuda else "CPU"
    triton = "no Triton" if kernels() is None else f"Triton {kernels().triton.__version__}"
    today = datetime.datetime.now(tz=datetime.timezone.utc).date()
    return f"# {device}, {today}, torch {torch.__version__}, {triton}, precision {engine.precision}\n"


if __name__ == "__main__":
    sys.exit(main())
