"""From a study to what its pages are made of."""

from headscope.report_kit.measured import Measured
from headscope.reporting.every_finding import findings, headline
from headscope.study.paper import is_bert_base, paper_numbers
from headscope.study.study import Study
from headscope.study.study_tables import StudyTables


def measured_in(study: Study) -> Measured:
    """Return what was measured in a study; a table is read when it is first asked for."""
    return Measured(
        manifest=study.manifest,
        tables=StudyTables(study),
        roles=study.roles,
        paper=paper_numbers(),
        is_bert_base=is_bert_base(study.manifest),
    )


def first_findings(study: Study) -> list[str]:
    """Return the sentences of the page's first screen."""
    return [sentence.text for sentence in headline(findings(measured_in(study)))]
