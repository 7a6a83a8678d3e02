"""Perceptrons in the feature space of a kernel, with their mistake bounds."""

from similitude.learners.perceptron.estimators import KernelPerceptron, MarginPerceptron
from similitude.learners.perceptron.training import MistakeBound

__all__ = ["KernelPerceptron", "MarginPerceptron", "MistakeBound"]
