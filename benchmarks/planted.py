"""Recovery of a planted subspace by learned metrics: `python -m benchmarks.planted [--repeats 3]`.

Targets depend on two random directions of d, y = sin(2 u'x) + v'x (u'x > 0) plus noise. Recovery is the mean squared
cosine between their span and the span of the two leading directions of the learned metric: 1 if it is found, 2 / d by
chance.
"""

import argparse

import numpy as np

from similitude import learn_kernel

SETTINGS = [
    *((n, 10, 0.1) for n in (100, 200, 400, 800, 1600)),
    *((800, d, 0.1) for d in (5, 20, 40)),
    *((800, 10, noise) for noise in (0.0, 0.5, 1.0, 2.0)),
]
"""Rows, columns, and the standard deviation of the noise relative to that of the target."""


def planted(n: int, d: int, noise: float, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return vectors, targets, and an orthonormal basis of the subspace."""
    X = rng.standard_normal((n, d))
    basis, _ = np.linalg.qr(rng.standard_normal((d, 2)))
    u, v = (X @ basis).T
    y = np.sin(2 * u) + v * (u > 0)
    return X, y + noise * y.std() * rng.standard_normal(n), basis


def recovery(metric: np.ndarray, basis: np.ndarray) -> float:
    """Return the mean squared cosine between a subspace and the leading directions of a metric."""
    T = np.diag(metric) if metric.ndim == 1 else metric
    leading = np.linalg.svd(T)[0][:, : basis.shape[1]]
    return float((np.linalg.norm(leading.T @ basis) ** 2) / basis.shape[1])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeats", type=int, default=5)
    repeats = parser.parse_args().repeats
    print("| n | d | noise | recovery | by chance | loss, isotropic | loss, learned |\n|---|---|---|---|---|---|---|")
    for n, d, noise in SETTINGS:
        found = []
        for seed in range(repeats):
            X, y, basis = planted(n, d, noise, np.random.default_rng([seed, n, d]))
            learned = learn_kernel("gaussian", X, y, how="full", random_state=seed)
            losses = [one.loss for one in learned.rounds]
            found.append([recovery(learned.similarity.metric, basis), losses[0], min(losses)])
        close, before, after = np.mean(found, axis=0)
        print(f"| {n:,} | {d} | {noise:g} | {close:.2f} | {2 / d:.2f} | {before:.3f} | {after:.3f} |", flush=True)


if __name__ == "__main__":
    main()
