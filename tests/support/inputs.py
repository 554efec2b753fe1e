"""Made-up segments and vocabularies."""

import functools

import numpy as np
import torch

from headscope.attention.model.examination import examine
from headscope.attention.model.segment_source import left_padding_works
from headscope.encoding.segment import Segment
from headscope.encoding.vocabulary import KeyClass, Vocabulary
from headscope.models.anatomy import Anatomy, Path
from support.tiny_models import VOCABULARY, shared_tiny_model

# MPNet reserves id 1 for padding whatever its configuration says.
CLS, PAD, SEP, DOT, COMMA = 0, 1, 2, 3, 4


def vocabulary(*, has_cls: bool = True) -> Vocabulary:
    classes = np.zeros(VOCABULARY, dtype=np.uint8)
    if has_cls:
        classes[CLS] = KeyClass.CLS
        classes[SEP] = KeyClass.SEP
    classes[[DOT, COMMA]] = KeyClass.PERIOD_COMMA
    return Vocabulary(
        classes=classes,
        has_cls=has_cls,
        cls_name="[CLS]" if has_cls else "first token",
        sep_name="[SEP]" if has_cls else None,
        pad_id=PAD,
    )


def made_up_segment(
    rng: np.random.Generator, length: int, *, document: str, index: int = 0, pair: bool = False
) -> Segment:
    ids = rng.integers(5, VOCABULARY, size=length)
    ids[rng.random(length) < 0.15] = DOT
    types = np.zeros(length, dtype=np.int64)
    ids[0], ids[-1] = CLS, SEP
    if pair and length > 4:
        middle = length // 2
        ids[middle] = SEP
        types[middle + 1 :] = 1
    word_ids = np.cumsum(rng.random(length) < 0.7) - 1
    word_ids = word_ids - word_ids.min()
    word_ids[ids <= SEP] = -1
    return Segment(document=document, index=index, ids=ids.astype(np.int64), token_types=types, word_ids=word_ids)


def made_up_segments(number: int, *, seed: int = 0, longest: int = 20, documents: int | None = None) -> list[Segment]:
    """Return segments of mixed length, single texts and pairs."""
    rng = np.random.default_rng(seed)
    documents = documents or number
    return [
        made_up_segment(
            rng,
            int(rng.integers(3, longest + 1)),
            document=f"doc{i % documents}",
            index=i // documents,
            pair=bool(i % 2),
        )
        for i in range(number)
    ]


def eager_maps(model: torch.nn.Module, **inputs: object) -> dict[str, list[torch.Tensor]]:
    """Return transformers' own weights by kind: `[batch, head, query, key]` of each layer."""
    configs = {id(m.config): m.config for m in model.modules() if hasattr(m, "config")}.values()
    before = [config._attn_implementation_internal for config in configs]
    for config in configs:  # not set_attn_implementation: Falcon refuses it, and its sdpa weights are not causal
        config._attn_implementation_internal = "eager"
    with torch.no_grad():
        out = model(**inputs, output_attentions=True, return_dict=True)
    for config, name in zip(configs, before):
        config._attn_implementation_internal = name
    if "encoder_attentions" in out:
        return {
            "encoder": list(out.encoder_attentions),
            "decoder": list(out.decoder_attentions),
            "cross": list(out.cross_attentions),
        }
    return {"self": list(out.attentions)}


def forward_inputs(segment: Segment, anatomy: Anatomy) -> dict[str, torch.Tensor]:
    """Return the model's arguments for one segment; a decoder reads the segment again after its start token."""
    ids = torch.from_numpy(segment.ids)[None]
    inputs = {"input_ids": ids}
    if anatomy.encoder_decoder:
        start = torch.full((1, 1), anatomy.decoder_start)
        inputs["decoder_input_ids"] = torch.cat([start, ids[:, :-1]], dim=1)
    if anatomy.has_token_types:
        inputs["token_type_ids"] = torch.from_numpy(segment.token_types)[None]
    return inputs


@functools.cache
def shared_anatomy(family: str, *, has_cls: bool = True, path: Path | None = None) -> Anatomy:
    """Return the anatomy of the shared tiny model, cached because `examine` takes as long as reading a few inputs."""
    return examine(shared_tiny_model(family), vocabulary(has_cls=has_cls), path=path)


@functools.cache
def padded_left(family: str, *, has_cls: bool = True) -> bool:
    """Return True if the model reads left-padded inputs as it reads them alone."""
    anatomy = shared_anatomy(family, has_cls=has_cls)
    return left_padding_works(shared_tiny_model(family), anatomy, vocabulary(has_cls=has_cls))
