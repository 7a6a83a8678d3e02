"""Computation on one device, such as a GPU, through torch."""
