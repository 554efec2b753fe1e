"""Check which transformers architectures headscope reads, and that the numbers are right.

A tiny random model of every text architecture that the installed transformers can build is read twice, one input at a
time and in a padded batch, and compared with the weights that the model itself returns under eager attention, one
input at a time. `docs/reference/families.md` is written from the results:

    python benchmarks/families.py --write docs/reference/families.md  all architectures
    python benchmarks/families.py bert longt5                         selected ones, printed
    python benchmarks/families.py --small                             one for each type of attention
    python benchmarks/families.py --part 1/4 --into families.json     a quarter, added to the file
"""

import argparse
import inspect
import json
import sys
import time
import traceback
import warnings
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from families_page import page
from headscope.attention.model.examination import examine
from headscope.attention.model.model_source import ModelSource
from headscope.attention.tile import AttentionTile
from headscope.encoding.batching import Batch
from headscope.encoding.segment import Segment
from headscope.encoding.vocabulary import KeyClass, Vocabulary
from headscope.errors import HeadscopeError
from headscope.models.anatomy import Anatomy
from headscope.models.forward_inputs import model_inputs
from tiny_configs import VOCABULARY, tiny_config

TOLERANCE = 1e-4
"""Tolerance of a weight: float32 in another batch shape moves some by 1e-5; a defect moved them by 0.003 and more."""
_LENGTHS = (19, 5, 12, 12, 3, 16)
_MOST = 40_000_000  # numbers in a model; larger models are not built
_NOT_TEXT = ("pixel_values", "input_features", "input_values", "audio_values", "bbox", "decoder_input_values")
_KINDS = {"encoder": "encoder_attentions", "decoder": "decoder_attentions", "cross": "cross_attentions"}


SMALL = (
    "bert", "gpt2", "llama", "mistral", "gemma2", "t5", "bart", "modernbert", "albert", "deberta-v2", "bloom", "falcon",
    "gpt_neo", "xlnet", "mobilebert", "convbert", "longt5", "jamba", "qwen3_next", "deepseek_v32", "gpt_oss",
    "mimo_v2_flash", "granite_swa", "inkling2_text", "deepseek_v4", "hy_v4", "fnet", "clip", "canine",
)  # fmt: skip
"""Families that together cover every type of attention that headscope distinguishes."""


@dataclass
class Outcome:
    """The outcome for an architecture.

    Attributes:
        family: its `model_type`.
        reads: `text`, or `text and more` if the model takes pictures or sound as well.
        verdict: `right`, `wrong`, `refused`, `traceback` or `not built`.
        path: `fused`, `eager` or `fallback`.
        layout: kinds of attention with layers and heads, such as `encoder 3 x 4`.
        alone, padded: largest difference of a weight from eager's, one input at a time and in a padded batch.
        unseen: number of rows whose number of visible keys differs from the number of weights above 0.
        words: message of the refusal, the traceback or the failed build.
    """

    family: str
    reads: str = "text"
    verdict: str = "not built"
    path: str = ""
    layout: list[str] = field(default_factory=list)
    alone: float | None = None
    padded: float | None = None
    unseen: int = 0
    words: str = ""
    seconds: float = 0.0


def text_families() -> list[str]:
    """Return the `model_type` of every architecture that has a model and reads token ids."""
    from transformers.models.auto.modeling_auto import MODEL_MAPPING_NAMES

    return [family for family in MODEL_MAPPING_NAMES if _reads(family)]


def _class(family: str) -> Any:
    from transformers import CONFIG_MAPPING, MODEL_MAPPING

    found = MODEL_MAPPING[CONFIG_MAPPING[family]]
    return found[0] if isinstance(found, tuple | list) else found


def _reads(family: str) -> str | None:
    try:
        parameters = inspect.signature(_class(family).forward).parameters
    except (ImportError, ValueError, AttributeError, KeyError):
        return None
    if "input_ids" not in parameters:
        return None
    return "text and more" if any(name in parameters for name in _NOT_TEXT) else "text"


def tiny_model(family: str) -> nn.Module:
    """Build a random model of a family, with attention far from uniform."""
    config, cls = tiny_config(family), _class(family)
    with torch.device("meta"):
        numbers = sum(part.numel() for part in cls(config).parameters())
    if numbers > _MOST:
        raise MemoryError(f"{numbers:,} numbers with the sizes that are known to shrink it")
    torch.manual_seed(0)
    model: nn.Module = cls(tiny_config(family)).float().eval()
    with torch.no_grad():  # parameters that the initializer leaves uninitialized
        for parameter in model.parameters():
            if not torch.isfinite(parameter).all():
                parameter.normal_(0.0, 0.1)
        for module in model.modules():  # the padding embedding of a trained model is not a row of zeros
            if isinstance(module, nn.Embedding) and module.padding_idx is not None:
                module.weight[module.padding_idx].normal_(0.0, 0.25)
    return model


def read(family: str) -> Outcome:
    """Build a family's model, read it through headscope and compare."""
    began = time.perf_counter()
    outcome = Outcome(family, reads=_reads(family) or "text")
    try:
        model = tiny_model(family)
    except Exception as error:
        outcome.words = _line(error)
        return outcome
    try:
        _compare(model, outcome)
    except HeadscopeError as error:
        outcome.verdict, outcome.words = "refused", str(error)
    except Exception as error:
        where = traceback.extract_tb(error.__traceback__)[-1]
        outcome.verdict, outcome.words = ("traceback", f"{_line(error)} ({Path(where.filename).name}:{where.lineno})")
    outcome.seconds = round(time.perf_counter() - began, 2)
    return outcome


def _compare(model: nn.Module, outcome: Outcome) -> None:
    words = vocabulary(model)
    segments = made_up(words)
    anatomy = examine(model, words)
    outcome.path = anatomy.path
    outcome.layout = [f"{part.kind} {part.layers} x {part.heads}" for part in anatomy.layout]
    expected = [own_weights(model, anatomy, words, segment) for segment in segments]
    alone = maps_of(model, anatomy, words, [[segment] for segment in segments])
    padded = maps_of(model, anatomy, words, [segments])
    worst = {}
    for name, (maps, seen) in {"alone": alone, "padded": padded}.items():
        worst[name] = 0.0
        for number, theirs in enumerate(expected):
            for part in anatomy.layout:
                for layer, own in enumerate(theirs[part.kind]):
                    ours = maps[number, part.kind, layer]
                    if layer in part.sinks and float((own.sum(-1) - 1).abs().max()) < TOLERANCE:
                        # Granite scales its output for its sink, and returns weights without it.
                        ours = ours / ours.sum(-1, keepdim=True)
                    off = float((ours - own).abs().max()) if ours.shape == own.shape else float("nan")
                    worst[name] = max(worst[name], off) if off == off else float("inf")
                    visible = seen[number, part.kind, layer]
                    outcome.unseen += int((visible != (own > 0).any(0).sum(-1)).sum())
    outcome.alone, outcome.padded = worst["alone"], worst["padded"]
    lost = {kind for each in expected for kind in each} - {part.kind for part in anatomy.layout}
    notes = "; ".join(anatomy.notes)
    silent = [kind for kind in sorted(lost) if kind not in notes]
    right = max(worst.values()) <= TOLERANCE and not outcome.unseen and not silent
    outcome.verdict = "right" if right else "wrong"
    outcome.words = notes
    if silent:
        outcome.words = f"loses its {' and '.join(silent)} attention without a word"


def vocabulary(model: nn.Module) -> Vocabulary:
    """Return a vocabulary with a few classes, for a model without a tokenizer."""
    classes = np.zeros(VOCABULARY, dtype=np.uint8)
    classes[[3, 4]] = KeyClass.PERIOD_COMMA
    pad = getattr(model.config, "pad_token_id", None)
    return Vocabulary(
        classes=classes, has_cls=False, cls_name="first token", sep_name=None, pad_id=pad if isinstance(pad, int) else 0
    )


def made_up(words: Vocabulary) -> list[Segment]:
    """Return inputs of several lengths, with ids that have no special meaning in any configuration."""
    rng = np.random.default_rng(0)
    return [
        Segment(
            document=f"input {number}",
            index=0,
            ids=rng.integers(5, VOCABULARY // 2, size=length),
            token_types=np.zeros(length, dtype=np.int64),
            word_ids=np.arange(length),
        )
        for number, length in enumerate(_LENGTHS)
    ]


def own_weights(model: Any, anatomy: Anatomy, words: Vocabulary, segment: Segment) -> dict[str, list[Tensor]]:
    """Return the model's own weights for one input under eager attention, `[head, query, key]` per layer.

    Layers with compressed keys are skipped, because short inputs do not have such keys yet.
    """
    _, inputs, _ = model_inputs([segment], anatomy, words)
    configs = {id(c): c for m in model.modules() if (c := getattr(m, "config", None)) is not None}.values()
    before = [getattr(config, "_attn_implementation_internal", None) for config in configs]
    for config in configs:
        config._attn_implementation_internal = "eager"
    more = {"use_cache": False} if "use_cache" in anatomy.parameters else {}
    try:
        with torch.no_grad():
            out = model(**inputs, **more, output_attentions=True, return_dict=True)
    finally:
        for config, name in zip(configs, before):
            config._attn_implementation_internal = name
    if anatomy.encoder_decoder:
        given = {kind: out.get(name) for kind, name in _KINDS.items()}
    else:
        given = {anatomy.layout[0].kind: out.get("attentions")}
    compressed = {module.layer_idx for module in model.modules() if getattr(module, "compressor", None) is not None}
    encoder, decoder = len(segment), len(segment)  # the decoder of an encoder-decoder model reads the same text
    sizes = {"encoder": (encoder, encoder), "decoder": (decoder, decoder), "cross": (decoder, encoder)}
    return {
        kind: [
            w[0]
            for place, w in enumerate(layers)
            if isinstance(w, Tensor) and w.shape[2:] == sizes[kind] and place not in compressed
        ]
        for kind, layers in given.items()
        if layers
    }


def maps_of(
    model: nn.Module, anatomy: Anatomy, words: Vocabulary, batches: list[list[Segment]]
) -> tuple[dict[Any, Tensor], dict[Any, Tensor]]:
    """Return headscope's weights `[head, query, key]` and visible keys a row, by input, kind and layer."""
    keep = _Keep()
    ModelSource(model, anatomy, words, batches).run(keep, {"weights", "statistics"})
    return keep.maps, keep.seen


class _Keep:
    """Collects every tile of a run, without padding."""

    def __init__(self) -> None:
        self.maps: dict[Any, Tensor] = {}
        self.seen: dict[Any, Tensor] = {}

    def begin(self, batch: Batch) -> None:
        pass

    def update(self, tile: AttentionTile) -> None:
        for item, document in enumerate(tile.queries.documents):
            place = int(document.split()[-1]), tile.kind, tile.layer
            rows, keys = tile.queries.valid[item], tile.keys.valid[item]
            self.maps[place] = tile.weights[item][:, rows][:, :, keys]
            self.seen[place] = tile.visibility.counts[item][rows]

    def end(self, batch: Batch) -> None:
        pass


def _line(error: BaseException) -> str:
    return f"{type(error).__name__}: {' '.join(str(error).split())[:200]}"


def outcomes(families: list[str]) -> Iterator[Outcome]:
    """Yield the outcome for each family."""
    import transformers

    transformers.logging.set_verbosity(50)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for family in families:
            yield read(family)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("families", nargs="*", help="model types; all text architectures when left out")
    parser.add_argument("--small", action="store_true", help="one of each way of attending")
    parser.add_argument("--part", default="1/1", help="i/n: every n-th of them, from the i-th")
    parser.add_argument("--into", type=Path, help="a JSON file that the outcomes are added to")
    parser.add_argument("--write", type=Path, help="the page, from all outcomes in --into or of this run")
    options = parser.parse_args()
    place, parts = map(int, options.part.split("/"))
    given = options.families or (list(SMALL) if options.small else text_families())
    families = given[place - 1 :: parts]
    known: dict[str, Any] = {}
    if options.into and options.into.exists():
        known = {each["family"]: each for each in json.loads(options.into.read_text())}
    for outcome in outcomes(families):
        print(f"{outcome.verdict:10} {outcome.family:28} {outcome.path:8} {_shown(outcome)}", flush=True)
        known[outcome.family] = asdict(outcome)
        if options.into:
            options.into.write_text(json.dumps(list(known.values()), indent=1))
    if options.write:
        options.write.write_text(page(list(known.values()), tolerance=TOLERANCE))
    sys.exit(any(each["verdict"] in ("wrong", "traceback") for each in known.values()))


def _shown(outcome: Outcome) -> str:
    numbers = "" if outcome.alone is None else f"{outcome.alone:.1e} {outcome.padded:.1e} "
    unseen = f"{outcome.unseen} rows see another number of keys " if outcome.unseen else ""
    return (numbers + unseen + outcome.words)[:230]


if __name__ == "__main__":
    main()
