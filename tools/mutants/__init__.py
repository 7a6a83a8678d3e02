"""Mutation testing by samples: small changes of the source, each of which some test should notice."""
