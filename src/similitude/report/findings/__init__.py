"""Findings: what a report shows, as plain numbers and results."""

from similitude.report.findings.data_summary import About, ClassCounts, NumberSummary
from similitude.report.findings.examples import MISTAKE, ExampleFinding, Near
from similitude.report.findings.gram_matrix import Eigenvalues, GramSample
from similitude.report.findings.held_out import ERROR_RATE
from similitude.report.findings.inputs import Item
from similitude.report.findings.investigation import Findings, investigate
from similitude.report.findings.landmark_curve import LearningCurve, TheoremSize
from similitude.report.findings.landmark_importance import LandmarkFinding
from similitude.report.findings.model_quality import Calibration, Confused, ModelFindings, Residuals
from similitude.report.findings.reproduction import Reproduce

__all__ = [
    "ERROR_RATE",
    "MISTAKE",
    "About",
    "Calibration",
    "ClassCounts",
    "Confused",
    "Eigenvalues",
    "ExampleFinding",
    "Findings",
    "GramSample",
    "Item",
    "LandmarkFinding",
    "LearningCurve",
    "ModelFindings",
    "Near",
    "NumberSummary",
    "Reproduce",
    "Residuals",
    "TheoremSize",
    "investigate",
]
