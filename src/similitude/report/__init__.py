"""Reports: findings about a similarity, objects and labels, written as text, JSON, figures or one HTML page."""

from similitude.report import figures
from similitude.report.findings import Findings, investigate
from similitude.report.report_file import check_report_place, write_report

__all__ = ["Findings", "check_report_place", "figures", "investigate", "write_report"]
