"""Reports: findings about a similarity, objects and labels, written as text, JSON, figures or one HTML page."""

from similitude.report import figures as figures
from similitude.report.findings import Findings, investigate
from similitude.report.report_file import check_report_place as check_report_place
from similitude.report.report_file import write_report

__all__ = ["Findings", "investigate", "write_report"]
