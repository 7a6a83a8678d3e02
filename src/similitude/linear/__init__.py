"""Linear models of features: ridge from moments, squared hinge and logistic by conjugate gradients, sparse by L1."""
