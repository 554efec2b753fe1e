"""The stages that declare scans."""

from headscope.analyses import OF_STAGE, STAGES
from headscope.analyses.analysis import Stage
from headscope.analyses.measurement import Measurement


def scanning_stages() -> list[Stage]:
    """Return the stages that declare a scan, in their order."""
    return [
        stage
        for stage in STAGES.values()
        if OF_STAGE[stage.name].measurement(stage).scans is not Measurement.scans  # type: ignore[attr-defined]
    ]
