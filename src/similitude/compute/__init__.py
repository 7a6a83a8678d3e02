"""Where and how matrices of similarities are computed: encodings, blocks, loops and engines."""
