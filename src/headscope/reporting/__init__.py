"""The report of a run: findings in words, the head grid, every figure with its table."""

from headscope.reporting.kit.inputs import ReportInputs
from headscope.reporting.page import render_report, write_report
from headscope.reporting.parts import write_figures

__all__ = ["ReportInputs", "render_report", "write_figures", "write_report"]
