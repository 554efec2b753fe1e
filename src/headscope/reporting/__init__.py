"""The report of a run: findings in words, the head grid, every figure with its table."""

from headscope.reporting.figure_files import write_figures
from headscope.reporting.inputs import ReportInputs
from headscope.reporting.page import render_report, write_report

__all__ = ["ReportInputs", "render_report", "write_figures", "write_report"]
