"""A map of choices: from the objects to a similarity, and from the question to a class or a function."""

import matplotlib.pyplot as plt
from matplotlib.patches import FancyBboxPatch

SIMILARITIES = (
    ("vectors", "Gaussian, Matern, Laplace"),
    ("strings, DNA", "Spectrum, Mismatch, Edit*"),
    ("texts", "Words"),
    ("time series", "GlobalAlignment, Convolutions, DTW*"),
    ("graphs", "WeisfeilerLehman, ShortestPath"),
    ("sets, fingerprints", "Jaccard"),
    ("tables, missing values", "Gower*, Columns"),
    ("anything else", "your function: FromPairs*"),
)
QUESTIONS = (
    ("which class? which number?", "SimilarityClassifier, SimilarityRegressor"),
    ("the same, for up to tens of thousands", "KernelSVC, KernelRidge (kernels only)"),
    ("how certain?", "predict_set, predict_interval"),
    ("which are alike? duplicates?", "SimilarityIndex"),
    ("which groups?", "SimilarityKMedoids, SpectralClusters, ..."),
    ("anything unusual?", "SimilarityNovelty"),
    ("do they differ? drift?", "two_sample_test, drift_test"),
    ("a picture, or features", "LandmarkMap, KernelPCA (kernels only)"),
)


def column(ax, left, title, rows, color):
    """Draw a title and a box for each row: what is given above, what to use below."""
    ax.text(left + 1.45, 8.62, title, ha="center", fontsize=11, weight="bold")
    for place, (given, use) in enumerate(rows):
        low = 7.55 - place * 1.03
        box = FancyBboxPatch((left, low), 2.9, 0.78, "round,pad=0,rounding_size=0.12", fc="none", ec=color, lw=1.4)
        ax.add_patch(box)
        ax.text(left + 0.1, low + 0.52, given, va="center", fontsize=9, color=color, weight="bold")
        ax.text(left + 0.1, low + 0.2, use, va="center", fontsize=9)


figure, ax = plt.subplots(figsize=(9, 7.2))
column(ax, 0.0, "1. What are your objects?", SIMILARITIES, "tab:blue")
column(ax, 3.9, "2. What do you ask?", QUESTIONS, "tab:orange")
ax.annotate("", (3.83, 4.3), (2.97, 4.3), arrowprops={"arrowstyle": "-|>", "color": "#808890", "lw": 2})
ax.text(3.4, 4.45, "a similarity", ha="center", fontsize=9)
ax.text(0, -0.02, "* not a kernel, or not known to be one: not for what is marked (kernels only).")
ax.text(0, -0.3, "Undecided? similarity='auto', the default, recognizes the objects and tries several.")
ax.set(xlim=(-0.05, 6.85), ylim=(-0.4, 8.9))
ax.axis("off")
