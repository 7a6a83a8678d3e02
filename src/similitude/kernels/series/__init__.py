"""Similarities of time series."""

from similitude.kernels.series.alignment import DTW, GlobalAlignment
from similitude.kernels.series.convolutions import Convolutions
from similitude.kernels.series.derivative import Derivative
from similitude.kernels.series.elastic import ERP, MSM, TWE, SoftDTW
from similitude.kernels.series.signature import Signature
