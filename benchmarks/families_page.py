"""`docs/reference/families.md`, written from the results of `families.py`."""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

Found = Mapping[str, Any]
_VERDICTS = ("right", "refused", "traceback", "wrong")
_HEAD = """# Families

<!-- Written by benchmarks/families.py; run it again in place of editing. -->

Attention of a tiny random model of every architecture of transformers {transformers} (torch {torch}) that takes token
ids, compared with the weights that the model itself returns under eager attention. Each model reads every input alone
and all inputs in one padded batch, in float32. "Right" means that no weight is off by more than {tolerance:g}, that
uniform attention covers exactly the keys that each row sees, and that no kind of attention is lost without a message.

`fused` computes scores, softmax and statistics together, `eager` calls the model's own function through transformers'
attention interface, `fallback` reads `output_attentions`. A model that also takes pictures or sound is read on text
alone, if it can run on text alone. Granite SWA scales its output for its learned sink and returns weights without the
sink: its rows are compared as shares of the weight on tokens.

Head outputs in the residual stream are measured wherever attention is tapped (`fused`, `eager`), through output gates
and norms behind the output projection, except in DeepSeek V4, JetMoE and Muse Spark, where no single linear map takes
the attention's output. In Gemma 3n, GLM 5 Next, Inkling, MobileBERT, Qwen4-Exp and Zamba they are measured at the
projection, because the stream receives no plain sum of head outputs there. `tests/attention/test_stream_addition.py`
adds up every head and key of each family in double precision (Inkling 2 and ZAYA compute in single).

"""


def page(found: Sequence[Found], *, tolerance: float) -> str:
    """Return the page.

    Args:
        found: outcomes of the architectures, with the fields of `families.Outcome`.
        tolerance: tolerance of a weight.
    """
    import torch
    import transformers

    out = [
        _HEAD.format(transformers=transformers.__version__, torch=torch.__version__.split("+")[0], tolerance=tolerance)
    ]
    out.append("| | text alone | text and more |\n|---|---|---|\n")
    counts = Counter((each["reads"], each["verdict"]) for each in found)
    for verdict in (*_VERDICTS, "not built"):
        numbers = (str(counts[reads, verdict]) for reads in ("text", "text and more"))
        out.append(f"| {_TITLES[verdict]} | {' | '.join(numbers)} |\n")
    for verdict in _VERDICTS:
        own = sorted((each for each in found if each["verdict"] == verdict), key=lambda each: str(each["family"]))
        if own:
            out.append(f"\n## {_TITLES[verdict].capitalize()}\n\n")
            out += _right(own) if verdict == "right" else _words(own)
    built = sorted((each for each in found if each["verdict"] == "not built"), key=lambda each: str(each["family"]))
    if built:
        out.append(
            "\n## Not built\n\nNot known to work or not: the benchmark has no small configuration for these yet, or "
            "they need a library that is not installed.\n\n"
        )
        out += _words(built)
    return "".join(out)


_TITLES = {
    "right": "right",
    "refused": "refused, in words",
    "traceback": "traceback",
    "wrong": "silently wrong",
    "not built": "not built",
}


def _right(found: Sequence[Found]) -> list[str]:
    lines = ["| family | path | attention | alone | padded | said |\n|---|---|---|---|---|---|\n"]
    for each in found:
        layout = ", ".join(each["layout"])
        lines.append(
            f"| {each['family']} | {each['path']} | {layout} | {_off(each['alone'])} | {_off(each['padded'])} | "
            f"{_safe(each['words'])} |\n"
        )
    return lines


def _off(value: float) -> str:
    return "0" if value == 0 else f"{value:.0e}"


def _words(found: Sequence[Found]) -> list[str]:
    lines = ["| family | in words |\n|---|---|\n"]
    return [*lines, *(f"| {each['family']} | {_safe(each['words'])} |\n" for each in found)]


def _safe(words: str) -> str:
    short = words.split("; these families work:")[0]
    return " ".join(short.split()).replace("|", "\\|").replace("<", "&lt;")
