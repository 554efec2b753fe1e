"""Features of the frequency of the key. Biases of particular tokens are fitted without a feature."""

from headscope.analyses.explanation.feature import TOKENS, Feature, Floats, Group
from headscope.analyses.explanation.row_context import RowContext

GROUPS = (
    Group("frequency", "content", "tokens by how frequent they are", named_features=1),
    Group(TOKENS, "content", "particular tokens"),
)


def _log_frequency(rows: RowContext) -> Floats:
    return rows.of_text(rows.vocabulary.of(rows.vocabulary.log_frequency, rows.keys.ids))


def _squared(rows: RowContext) -> Floats:
    return _log_frequency(rows) ** 2 / 10


FEATURES = (
    Feature("log_frequency", "frequency", "frequent tokens", _log_frequency, opposite="rare tokens"),
    Feature("log_frequency_squared", "frequency", "frequent tokens", _squared, opposite="rare tokens"),
)
