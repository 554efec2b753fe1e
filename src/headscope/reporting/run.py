"""From a run's tables to what its pages are made of."""

import pandas as pd

from headscope.reporting.findings import findings, headline
from headscope.reporting.kit.inputs import ReportInputs
from headscope.study.paper import is_bert_base, paper_numbers
from headscope.study.study import Study

_OPTIONAL = (
    *("surface_differences", "dependency_differences", "coreference_differences", "probe_differences"),
    *("dependency", "dependency_best", "dependency_baselines", "dependency_by_distance", "dependency_noop"),
    *("coreference", "coreference_heads", "gap", "importance", "importance_differences"),
    *("head_distances", "head_map", "head_clusters", "layer_effect"),
    *("probes", "probe_relations", "probe_by_distance", "probe_weights", "probe_layers"),
)


def inputs_of(study: Study) -> ReportInputs:
    """Gather what the page is made of."""
    tables = {name: study.optional_table(name) for name in _OPTIONAL}
    noop = tables["dependency_noop"]
    if noop is not None and "attending" not in noop:
        tables["dependency_noop"] = (
            None  # of an earlier version, which measured dependents that do not attend
        )
    return ReportInputs(
        manifest=study.manifest,
        surface=study.surface,
        roles=study.roles,
        examples=study.examples,
        paper=paper_numbers(),
        is_bert_base=is_bert_base(study.manifest),
        **tables,
        arc_examples=arc_examples(study),
    )


def arc_examples(study: Study) -> pd.DataFrame | None:
    """Return the examples of figure 5, of dependency and of coreference heads."""
    found = [study.optional_table(name) for name in ("dependency_examples", "coreference_examples")]
    there = [table for table in found if table is not None]
    return pd.concat(there, ignore_index=True) if there else None


def first_findings(study: Study) -> list[str]:
    """Return the sentences of the page's first screen."""
    return [sentence.text for sentence in headline(findings(inputs_of(study)))]
