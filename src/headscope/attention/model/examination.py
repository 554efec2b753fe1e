"""The structure of a model's attention, found by a trial: one small forward pass through eager and the tap."""

import inspect
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from torch import Tensor, nn

from headscope.attention.fused.block_products import computed_in
from headscope.attention.model.shared_batches import which_together
from headscope.attention.model.tap_trial import TapTrial, run_tapped
from headscope.attention.model.trial_batch import TrialBatch
from headscope.encoding.vocabulary import Vocabulary
from headscope.errors import ModelError
from headscope.models.anatomy import Anatomy, CallSite, KindLayout, Path
from headscope.models.loading.refusals import check_reads_text
from headscope.visible import shown


def examine(model: nn.Module, vocabulary: Vocabulary, *, path: Path | None = None) -> Anatomy:
    """Run a trial batch and choose the path.

    Args:
        model: a transformers model, on its device.
        vocabulary: vocabulary of the model's tokenizer.
        path: require this path; None takes the first of fused, eager and fallback that gives transformers' own eager
            weights, the fused path to 1e-6 plus the rounding of large scores in float32 (`fused_check`).

    Raises:
        ModelError: the model gives no attention weights, or not on the required path.
    """
    config: Any = model.config
    parameters = frozenset(inspect.signature(model.forward).parameters)
    check_reads_text(model)
    encoder_decoder = bool(getattr(config, "is_encoder_decoder", False)) and "decoder_input_ids" in parameters
    start = getattr(config, "decoder_start_token_id", None)
    if not isinstance(start, int | None):
        raise ModelError(
            f"config.json's decoder_start_token_id is {shown(start, limit=40)}; expected the id of one token, as "
            "save_pretrained writes it"
        )
    text_config = config.get_text_config() if hasattr(config, "get_text_config") else config
    anatomy = Anatomy(
        layout=(),
        path="fallback",
        calls=(),
        parameters=parameters,
        encoder_decoder=encoder_decoder,
        decoder_start=int(start if start is not None else vocabulary.pad_id) if encoder_decoder else None,
        # GPT-2 has the argument, too, and for type 0 adds the embedding of token 0 to every token.
        has_token_types="token_type_ids" in parameters and (getattr(config, "type_vocab_size", None) or 0) > 1,
        first_position=_first_position(model),
        decoder_wraps=encoder_decoder and _wraps(model),
    )
    # CANINE hashes characters and has no vocabulary.
    size = getattr(text_config, "vocab_size", None) or len(vocabulary.classes)
    trial = TrialBatch(model, anatomy, vocabulary, vocabulary_size=size)
    expected = trial.eager_weights()
    anatomy = replace(
        anatomy, map_layers=trial.map_layers, notes=trial.notes(), together=which_together(trial, expected)
    )
    troubles: dict[str, str] = {}
    layers: Mapping[str, Sequence[Any]]
    for candidate in (path,) if path else ("fused", "eager", "fallback"):
        if candidate == "fallback":
            tapped, sinks, layers = TapTrial((), None, {}), trial.layers_with_sinks, trial.map_layers
        else:
            tapped = run_tapped(trial, candidate, expected)
            sinks, layers = _sinks(tapped.calls), tapped.model_layers
        if tapped.trouble is None:
            layout = _layout(expected, sinks, layers)
            return replace(
                anatomy,
                layout=layout,
                path=candidate,
                calls=tapped.calls,
                path_note=_path_note(candidate, troubles, expected),
                notes=(*anatomy.notes, *_numbering(layout)),
            )
        troubles[candidate] = tapped.trouble
    tried = "; ".join(f"{name}: {trouble}" for name, trouble in troubles.items())
    raise ModelError(f"{type(model).__name__} cannot be read on the path asked for ({tried}); leave the choice open")


def _path_note(path: Path, troubles: Mapping[str, str], expected: Mapping[str, list[Tensor]]) -> str | None:
    """Return a note on how attention is computed; None for the fused path in the model's own precision.

    Args:
        path: the chosen path.
        troubles: reasons why earlier paths were not chosen.
        expected: the model's weights, in its precision.
    """
    if path == "fallback":
        why = troubles.get("eager")
        return "attention is what output_attentions gives" + (f": {why}" if why else "")
    if path == "eager":
        why = troubles.get("fused")
        slower = "attention is computed by the model's own function, which takes longer than the fused path"
        return slower + (f": {why}" if why else "")
    dtype = next(weights.dtype for layers in expected.values() for weights in layers)
    if computed_in(dtype) == dtype:
        return None
    name = str(dtype).removeprefix("torch.")
    return f"scores, softmax and statistics are computed in float32 of the model's {name} queries and keys"


def _layout(
    expected: dict[str, list[Tensor]], sinks: dict[str, list[int]], layers: Mapping[str, Sequence[Any]]
) -> tuple[KindLayout, ...]:
    return tuple(
        KindLayout(
            kind,
            len(weights),
            weights[0].shape[1],
            sinks=tuple(sinks.get(kind, ())),
            model_layers=_model_numbers(layers.get(kind, ())),
        )
        for kind, weights in expected.items()
        if weights
    )


def _sinks(calls: Iterable[CallSite | None]) -> dict[str, list[int]]:
    """Return the layers of each kind that have a learned sink."""
    by_kind: dict[str, list[int]] = {}
    for site in calls:
        if site is not None and site.sink:
            by_kind.setdefault(site.kind, []).append(site.layer)
    return by_kind


def _model_numbers(layers: Sequence[Any]) -> tuple[int, ...]:
    """Return each layer's 1-based number among all layers of the model; empty if all of them have attention.

    Args:
        layers: 0-based numbers of the layers of a kind; not integers, or out of order, if they are not known.
    """
    ordered = all(isinstance(layer, int) for layer in layers) and list(layers) == sorted(set(layers))
    if not ordered or list(layers) == list(range(len(layers))):
        return ()
    return tuple(layer + 1 for layer in layers)


def _numbering(layout: Sequence[KindLayout]) -> tuple[str, ...]:
    """Return notes on how layers are counted in models where some layers have no attention (hybrids)."""
    notes = []
    for part in layout:
        if part.model_layers:
            ours, theirs = (", ".join(map(str, each)) for each in (range(1, part.layers + 1), part.model_layers))
            stand = "are" if part.layers > 1 else "is"
            notes.append(
                f"{part.kind} layers are counted among those with attention: {ours} {stand} the model's {theirs}"
            )
    return tuple(notes)


def _wraps(model: nn.Module) -> bool:
    """Return True if the model's own shift to the right moves the last token to the front (mBART, PLBart, FSMT)."""
    shift = getattr(sys.modules[type(model).__module__], "shift_tokens_right", None)
    return shift is not None and "decoder_start_token_id" not in inspect.signature(shift).parameters


def _first_position(model: nn.Module) -> int:
    """Return the first position: RoBERTa and similar models reserve the position of the pad id, and begin after it."""
    base = getattr(model, "base_model", model)  # a model with a head has its embeddings there
    table = getattr(getattr(base, "embeddings", None), "position_embeddings", None)
    reserved = getattr(table, "padding_idx", None)
    return 0 if reserved is None else int(reserved) + 1
