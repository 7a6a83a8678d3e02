"""Perceptrons in the feature space of a kernel, with their mistake bounds."""

from similitude.learners.perceptron.kernel_perceptron import KernelPerceptron
from similitude.learners.perceptron.margin_perceptron import MarginPerceptron
from similitude.learners.perceptron.mistake_bounds import MistakeBound

__all__ = ["KernelPerceptron", "MarginPerceptron", "MistakeBound"]
