"""A training before its first step: corpus read, model ready, and an id of everything that determines the result."""

import json
import platform
from dataclasses import dataclass
from hashlib import blake2b
from importlib.metadata import version
from typing import Any

import numpy as np
from numpy.typing import NDArray

from headscope.encoding.encoder import Encoder
from headscope.encoding.tokenizer.unknown import KnownPieces
from headscope.models.identity import weights_hash
from headscope.models.load_model import LoadedModel, load_tokenizer
from headscope.scans.prepare.reading_model import tokenizer_hash
from headscope_train.guided_heads import check_two_layers, name_guided
from headscope_train.objectives.objective import Objective, Question, objective_of
from headscope_train.packed_corpus import PackedInputs, hold_out
from headscope_train.start import Start, check_length, set_dropout, takes_types
from headscope_train.text import TrainingText
from headscope_train.training_options import TrainOptions

_VERSIONS = ("headscope", "torch", "transformers", "tokenizers", "numpy")


@dataclass(frozen=True, kw_only=True)
class Prepared:
    """Everything that a training needs.

    Attributes:
        options: options of the training.
        start: the model before the first step.
        inputs: the corpus.
        train, held_out: indices of the inputs for training and for evaluation.
        objective: training objective.
        question: choice of the tokens to predict.
        types: True if the model takes token types.
        facts: the entries of `training.json`; `signature` is the id of everything that determines the result.
        notes: sentences for the user.
    """

    options: TrainOptions
    start: Start
    inputs: PackedInputs
    train: NDArray[np.int64]
    held_out: NDArray[np.int64]
    objective: Objective
    question: Question
    types: bool
    facts: dict[str, Any]
    notes: tuple[str, ...] = ()


def prepare(options: TrainOptions) -> Prepared:
    """Read the corpus, load or build the model, and split the inputs.

    Changes torch's global random state.

    Raises:
        HeadscopeError: the corpus, the model or an option is invalid.
    """
    corpus = TrainingText(text=options.text, treebank=options.treebank)
    trained_tokenizer = options.size is not None and options.tokenizer is None
    objective = objective_of(options.objective)
    if options.size is None:
        start = objective.go_on_with(options)
    else:
        if options.tokenizer is None:
            tokenizer = objective.new_tokenizer(corpus, options)
        else:
            tokenizer, _ = load_tokenizer(options.tokenizer, revision=options.revision)
        start = objective.new_model(tokenizer, options)
    check_length(start, options.max_length)
    if options.guided:
        check_two_layers(start)
        name_guided(start, share=options.guided)
    set_dropout(start.model, options.dropout)
    encoder = Encoder(start.tokenizer)
    known = KnownPieces(encoder, "text")
    inputs = objective.inputs(corpus, encoder, options, known=known)
    train, held_out = hold_out(inputs, share=options.held_out)
    weights = weights_hash(LoadedModel(model=start.model, tokenizer=start.tokenizer, name=start.name))
    config = start.model.config
    facts = {
        "start": {"name": start.name, "weights": weights, "new_head": start.new_head},
        "model": {
            "family": str(config.model_type),
            "architecture": type(start.model).__name__,
            "layers": int(config.num_hidden_layers),
            "heads": int(config.num_attention_heads),
            "width": int(config.hidden_size),
            "parameters": sum(parameter.numel() for parameter in start.model.parameters()),
        },
        "tokenizer": {
            "hash": tokenizer_hash(start.tokenizer),
            "pieces": len(start.tokenizer.get_vocab()),
            "trained": trained_tokenizer,
        },
        "data": {
            "name": corpus.name,
            "hash": inputs.hash,
            "documents": inputs.read,
            "tokens": int(inputs.starts[-1]),
            "train": _part(inputs, train),
            "held_out": _part(inputs, held_out),
            "left_out": inputs.left_out,
        },
        "options": options.shaping,
    }
    essential = [weights, facts["tokenizer"]["hash"], inputs.hash, facts["options"]]
    digest = blake2b(json.dumps(essential, sort_keys=True).encode(), digest_size=8)
    return Prepared(
        options=options,
        start=start,
        inputs=inputs,
        train=train,
        held_out=held_out,
        objective=objective,
        question=objective.question(start.tokenizer, options),
        types=takes_types(start.model),
        facts={"signature": digest.hexdigest(), **facts, "versions": versions()},
        notes=tuple(filter(None, [known.note()])),
    )


def versions() -> dict[str, str]:
    """Return the versions that the last digits of the weights depend on."""
    return {"python": platform.python_version(), **{name: version(name) for name in _VERSIONS}}


def _part(inputs: PackedInputs, places: NDArray[np.int64]) -> dict[str, int]:
    return {
        "documents": len(np.unique(inputs.documents[places])),
        "inputs": len(places),
        "tokens": int(inputs.lengths[places].sum()),
    }
