"""Maps: objects to a few explicit features, with what the theory promises of them.

``LandmarkMap`` takes any similarity; ``ProjectionMap`` and ``CompactMap`` keep a kernel's margins (Balcan, Blum and
Vempala, "On Kernels, Margins, and Low-dimensional Mappings"); ``FourierMap`` and ``PolynomialSketchMap`` look at no
data, which works for the kernels they know and, as the same paper shows, for no map that must serve every kernel.
``KernelPCA`` and ``SpectralEmbedding`` place objects in a few dimensions, as a picture needs it.
"""

from similitude.maps.eigenpairs import local_eigenpairs as local_eigenpairs
from similitude.maps.fourier import FourierMap
from similitude.maps.kernel_pca import KernelPCA
from similitude.maps.landmark import LandmarkMap
from similitude.maps.polynomial_sketch import PolynomialSketchMap
from similitude.maps.projection import CompactMap, ProjectionMap
from similitude.maps.spectral_embedding import SpectralEmbedding

__all__ = [
    "CompactMap",
    "FourierMap",
    "KernelPCA",
    "LandmarkMap",
    "PolynomialSketchMap",
    "ProjectionMap",
    "SpectralEmbedding",
]
