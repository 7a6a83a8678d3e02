"""What scikit-learn expects of an estimator: checked input, tags, labels, weights, an engine."""
