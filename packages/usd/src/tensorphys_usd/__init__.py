"""OpenUSD stages to scenes and back: units, quaternion order and templates are settled here."""

from tensorphys_usd.errors import StageError, UsdError
from tensorphys_usd.parse import parse_stage
from tensorphys_usd.record import Recorder
from tensorphys_usd.report import Finding, Report, report_text
from tensorphys_usd.stage import open_stage
from tensorphys_usd.watch import StageWatch

__all__ = [
    "Finding",
    "Recorder",
    "Report",
    "StageError",
    "StageWatch",
    "UsdError",
    "open_stage",
    "parse_stage",
    "report_text",
]
