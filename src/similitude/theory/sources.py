"""The papers that guarantees refer to, and the probability of failure for which they are stated."""

BALCAN_BLUM = "Balcan and Blum, On a Theory of Learning with Similarity Functions, 2006"
BALCAN_BLUM_VEMPALA = "Balcan, Blum and Vempala, On Kernels, Margins, and Low-dimensional Mappings, 2004"

DELTA = 0.05
"""Probability of failure for which guarantees are stated."""
