"""The declaration of the sources of attention scores."""

from headscope.scans.declarations.analysis import TEXT_INPUTS, Analysis, Command, Stage
from headscope.scans.declarations.head_measures import HeadMeasures
from headscope.scans.declarations.option import Option

_HEADS = Option(
    name="heads", kind=str, default="", placeholder="LIST", group="output", help="Only these heads, as 2-8 or 2-8,3-1."
)
_HEAD, _QUERY, _KEY = (
    Option(name=name, kind=str, default="", placeholder=placeholder, group="output", help=help_text)
    for name, placeholder, help_text in (
        ("head", "HEAD", "Head whose single score is decomposed: give a text in quotes in place of a file."),
        ("query", "WORD", "Attending token of that score: its text, a word (its last token), or its position from 1."),
        ("key", "WORD", "Attended token of that score, given likewise."),
    )
)

ANALYSIS = Analysis(
    name="why",
    question="Why does a head look there: which earlier heads, MLPs and embeddings draw its attention?",
    stages=(
        Stage(
            name="why",
            measure="compute:WhyMeasurement",
            corpora=("text",),
            options=(*TEXT_INPUTS, "controls", "why_inputs", "patch"),
            version=2,
            by_name=True,
            cost=30,
            control_cost=8,
            refusal="saved maps hold no sources of scores; give a model and text in place of --maps for why",
        ),
    ),
    command=Command(
        name="why",
        help=(
            "Find what draws each head: earlier heads, MLPs, embeddings.\n\n"
            "The score of a query and a key is a sum over pairs of sources: embeddings, outputs of earlier heads and "
            "of MLPs, biases. The pull of a head is how far the scores of attended tokens lie above the row's mean, "
            "and each source has a share in it. The strongest sources are replaced to see how the attention changes."
        ),
        shown=(_HEADS, _HEAD, _QUERY, _KEY),
        on_text="cell:bars",
        on_text_with="query",
    ),
    score="cell:score_json",
    head_measures=(
        HeadMeasures(table="pulls", values=("pull",), by=("keys",), measure="pull", topic="What draws it",
                     labels="tables:HEAD_LABELS"),
    ),
)  # fmt: skip
