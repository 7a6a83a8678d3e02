"""Findings: what a report shows, as plain numbers and results."""

from similitude.report.findings.columns import IDENTIFIER, TEXT, is_missing
from similitude.report.findings.data_summary import About, ClassCounts
from similitude.report.findings.examples import MISTAKE, DecidingExample, Decision, ExampleFinding
from similitude.report.findings.gram_matrix import Eigenvalues, GramSample
from similitude.report.findings.held_out import ERROR_RATE
from similitude.report.findings.investigation import Findings, investigate
from similitude.report.findings.landmark_curve import LearningCurve
from similitude.report.findings.landmarks import LandmarkFinding
from similitude.report.findings.model_quality import Calibration, ModelFindings
from similitude.report.findings.object_map import ObjectMap
from similitude.report.findings.scores import ACCURACY, AUC, BALANCED, EXPLAINED, F1, MEANINGS, Scores
