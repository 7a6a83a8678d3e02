"""What a card does with fused products, fits and predictions: `python -m benchmarks.gpu`."""
