"""Read any model family without code of its own: the structure of its attention is found by trials."""

import inspect
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import torch
from torch import Tensor, nn

from headscope.attention.fused.block_products import computed_in
from headscope.attention.model.tap_trial import TapTrial, run_tapped
from headscope.attention.model.trial_batch import DECODER_LENGTHS, LENGTHS, ROW_TOLERANCE, TrialBatch, in_a_line
from headscope.encoding.vocabulary import Vocabulary
from headscope.errors import ModelError
from headscope.models.anatomy import Anatomy, CallSite, KindLayout, Path, Together
from headscope.models.refusals import WORKING_FAMILIES, check_reads_text
from headscope.models.temporary_changes import eager_evaluation
from headscope.visible import shown

_TOLERANCE = 1e-4  # another batch shape changes float32 weights by at most 1e-5


def examine(model: nn.Module, vocabulary: Vocabulary, *, path: Path | None = None) -> Anatomy:
    """Run a trial batch and choose the path.

    Args:
        model: a transformers model, on its device.
        vocabulary: vocabulary of the model's tokenizer.
        path: require this path; None takes the first of fused, eager and fallback that gives transformers' own eager
            weights, the fused path to 1e-6 plus the rounding of large scores in float32 (`tap_trial.why_not_fused`).

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


def which_together(trial: TrialBatch, expected: dict[str, list[Tensor]]) -> Together:
    """Return the inputs that may share a batch, from a comparison of each input alone with the padded batch.

    Args:
        trial: the padded batch.
        expected: the padded batch's eager weights.
    """
    _check_short(trial)
    alone = [trial.weights(_only(trial, [item])) for item in range(len(LENGTHS))]
    if all(_same(trial, item, expected, item, weights) for item, weights in enumerate(alone)):
        # The keys that an indexer chooses are often tied, and a wider batch breaks ties differently; with as few tokens
        # as here it keeps all keys.
        chooses = any("Indexer" in type(module).__name__ for module in trial.model.modules())
        return "equal" if chooses else "padded"
    # Run the short input together with another one of its length: a copy of itself, reversed.
    short = len(LENGTHS) - 1
    twice = _only(trial, [short, short])
    for name in ("input_ids", "decoder_input_ids"):
        if name in twice:
            twice[name] = torch.stack([twice[name][0], twice[name][1].flip(0)])
    return "equal" if _same(trial, 0, trial.weights(twice), short, alone[short]) else "alone"


def _check_short(trial: TrialBatch) -> None:
    """Refuse a model that fails on a short input (CANINE pools over four characters): every text has some.

    Raises:
        ModelError: an input of two tokens cannot be read.
    """
    short = {name: value[:1, :2] if isinstance(value, Tensor) else value for name, value in trial.inputs.items()}
    try:
        with eager_evaluation(trial.model), torch.inference_mode():
            trial.model(**short)
    except Exception as error:
        raise ModelError(
            f"{type(trial.model).__name__} cannot be run on an input of two tokens ({in_a_line(error)}); "
            f"expected a model that reads inputs of any length; these families work: {WORKING_FAMILIES}"
        ) from error


def _only(trial: TrialBatch, items: list[int]) -> dict[str, Any]:
    """Return the model's arguments for inputs of one length, without padding."""
    sides = {"": LENGTHS, "decoder_": DECODER_LENGTHS}
    return {
        name: value[items, : sides["decoder_" if name.startswith("decoder_") else ""][items[0]]]
        if isinstance(value, Tensor)
        else value
        for name, value in trial.inputs.items()
    }


def _same(
    trial: TrialBatch, index: int, batch_weights: dict[str, list[Tensor]], item: int, alone: dict[str, list[Tensor]]
) -> bool:
    """Return True if an input's weights at a position of a batch equal its weights `alone`."""
    for kind, layers in alone.items():
        rows, keys = (int(side.lengths[item]) for side in (trial.queries(kind), trial.keys(kind)))
        for layer, weights in enumerate(layers):
            theirs = batch_weights[kind][layer][index, :, :rows, :keys]
            if theirs.shape != weights.shape[1:] or not float((theirs - weights[0]).abs().max()) < (
                _TOLERANCE if weights.dtype in (torch.float32, torch.float64) else ROW_TOLERANCE
            ):
                return False
    return True
