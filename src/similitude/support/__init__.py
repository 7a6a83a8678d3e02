"""What every room may use: errors, results, validation, fingerprints, randomness, atomic writes."""
