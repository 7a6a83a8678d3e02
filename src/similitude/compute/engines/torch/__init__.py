"""One device through torch: a GPU, or the CPU by name."""
