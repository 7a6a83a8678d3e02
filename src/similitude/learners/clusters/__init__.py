"""Clusters: k-means, k-medoids, normalized cuts, hierarchies and dense regions by any similarity, and how many."""

from similitude.learners.clusters.distances import SimilarityDensityClusters, SimilarityLinkage
from similitude.learners.clusters.kernel_kmeans import KernelKMeans
from similitude.learners.clusters.medoids import ClusterNumber, SimilarityKMedoids, choose_clusters
from similitude.learners.clusters.spectral import SpectralClusters

__all__ = [
    "ClusterNumber",
    "KernelKMeans",
    "SimilarityDensityClusters",
    "SimilarityKMedoids",
    "SimilarityLinkage",
    "SpectralClusters",
    "choose_clusters",
]
