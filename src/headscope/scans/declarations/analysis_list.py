"""The analyses, in the order of the report: each is a folder that answers one question, and an entry here.

Another package adds an analysis by an entry point `headscope.analyses` that names its `ANALYSIS`; it comes last.
"""

from collections.abc import Iterable, Mapping, Sequence
from functools import cache

from headscope.errors import OptionError
from headscope.installing import installed, load
from headscope.scans.declarations.analysis import Analysis, Stage

_FOLDERS = (
    *("stats", "norms", "behaviors", "experiments", "distribution", "pca", "explanation"),
    *("importance", "effects", "syntax", "coref", "arc_examples", "probes", "distances", "why", "compare"),
)
# Loaded by name, like those of other packages: `declarations` may not import the analyses.
_HERE: tuple[Analysis, ...] = tuple(load(f"analyses.{folder}.analysis:ANALYSIS") for folder in _FOLDERS)
ANALYSES: tuple[Analysis, ...] = (
    *_HERE,
    *installed("headscope.analyses", Analysis, taken=frozenset(analysis.name for analysis in _HERE)),
)
STAGES: Mapping[str, Stage] = {stage.name: stage for analysis in ANALYSES for stage in analysis.stages}
OF_STAGE: Mapping[str, Analysis] = {stage.name: analysis for analysis in ANALYSES for stage in analysis.stages}


@cache
def of_table() -> Mapping[str, Stage]:
    """Return the stage that makes each table, by table name; this imports the schemas."""
    return {
        schema.name: stage for analysis in ANALYSES for stage in analysis.stages for schema in analysis.tables(stage)
    }


# The names under which stages are requested; `coref` includes GAP.
REQUESTS = tuple(dict.fromkeys(stage.request_name for stage in sorted(STAGES.values(), key=lambda stage: stage.order)))
BY_NAME = tuple(name for name in REQUESTS if any(s.by_name for s in STAGES.values() if s.request_name == name))
"""Requests that are left out of a run unless they are named."""
SKIPPABLE = tuple(name for name in REQUESTS if name not in BY_NAME and name != "stats")
"""Requests that a run can leave out. The report's grid, cards and atlas need the statistics of attention."""


def requests_of(
    defaults: Iterable[Stage], *, stages: Sequence[str], include: Sequence[str], skip: Sequence[str]
) -> tuple[str, ...]:
    """Return the requests that a run measures, from `REQUESTS`, in the order that signatures keep.

    Args:
        defaults: stages that are measured if none is requested.
        stages: requests that replace the defaults.
        include: requests in addition to either.
        skip: requests that are left out, along with the stages that are computed from them.
    """
    requests = stages or [stage.request_name for stage in defaults]
    left_out = _left_out(skip)
    wanted = [name for name in dict.fromkeys((*requests, *include)) if name not in left_out]
    return tuple(wanted if stages else (name for name in REQUESTS if name in wanted))


def stages_requested(requests: Iterable[str], values: Mapping[str, object]) -> list[Stage]:
    """Return the stages that a run measures, in order.

    Args:
        requests: names from `REQUESTS`.
        values: values of the run's options, by name.
    """
    wanted = set(requests)
    return [stage for stage in _applicable(wanted, values) if wanted.issuperset(stage.needs)]


def needed_requests(requests: Iterable[str], values: Mapping[str, object]) -> list[str]:
    """Return the further requests without which some request would measure nothing.

    Args:
        requests: names from `REQUESTS`.
        values: values of the run's options, by name.
    """
    wanted = set(requests)
    applicable = _applicable(wanted, values)
    answered = {stage.request_name for stage in applicable if wanted.issuperset(stage.needs)}
    lacking = [need for stage in applicable if stage.request_name not in answered for need in stage.needs]
    return [need for need in dict.fromkeys(lacking) if need not in wanted]


def _applicable(requests: set[str], values: Mapping[str, object]) -> list[Stage]:
    """Return the stages of some requests, except those that another stage replaces."""
    return [
        stage
        for stage in STAGES.values()
        if stage.request_name in requests and not any(values[name] == value for name, value in stage.unless.items())
    ]


def check_requests(*, stages: Sequence[str], include: Sequence[str], over_maps: bool) -> None:
    """Raise an error for unknown requests, and for those that saved maps cannot answer.

    Raises:
        OptionError: a request is invalid; the message names it and the remedy.
    """
    for name in stages:
        if name not in REQUESTS:
            raise OptionError(f"stage {name!r} is not known; choose from {', '.join(REQUESTS)}")
    for stage in STAGES.values() if over_maps else ():
        if stage.request_name in include and stage.refusal:
            raise OptionError(stage.refusal)


def _left_out(skip: Iterable[str]) -> set[str]:
    """Return the skipped requests and the stages without a corpus computed from them: no distances, no map of heads."""
    skipped = set(skip)
    for stage in STAGES.values():
        made_of = [each for each in OF_STAGE[stage.name].stages if each.name in stage.after]
        if not stage.corpora and any(each.request_name in skipped for each in made_of):
            skipped.add(stage.request_name)
    return skipped
