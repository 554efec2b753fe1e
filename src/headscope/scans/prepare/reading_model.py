"""The model of a run, examined and ready to read inputs, random models of its shape, and the run's signature."""

import json
import platform
from collections.abc import Mapping
from copy import copy, deepcopy
from dataclasses import replace
from functools import cached_property
from hashlib import blake2b
from importlib.metadata import version
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from headscope.attention.model.examination import examine
from headscope.attention.model.model_source import ModelSource
from headscope.encoding.choices import precision_note
from headscope.encoding.encoder import Encoder
from headscope.encoding.shards import BatchLimit, Inputs, ShardedBatches
from headscope.encoding.vocabulary import Vocabulary
from headscope.errors import OptionError
from headscope.installing import __version__
from headscope.models.anatomy import Anatomy
from headscope.models.identity import adaptation_facts, configuration_hash, weights_hash
from headscope.models.in_memory import dtype_of, with_random_weights, without_head
from headscope.models.load_model import LoadedModel, load_model
from headscope.models.lora import add_lora, is_adapter
from headscope.models.placement import device_of, weight_bytes
from headscope.scans.declarations.run_options import RunOptions
from headscope.scans.prepare.input_sizes import auto_batch_size, check_length
from headscope.storage.sealed import signature_id

# Commit, machine and batch size are excluded, because they change numbers only by rounding.
_LIBRARIES = ("torch", "transformers", "tokenizers", "numpy")


def model_facts(loaded: LoadedModel, vocabulary: Vocabulary) -> dict[str, Any]:
    """Return a signature's facts on a model: its names and origin, hashes of its weights and configuration."""
    return {
        "name": loaded.name,
        "revision": loaded.revision,
        "weights": weights_hash(loaded),
        "configuration": configuration_hash(loaded),
        "family": loaded.family,
        **adaptation_facts(loaded.model),
        "origin": loaded.origin,
        "special": {"cls": vocabulary.cls_name, "sep": vocabulary.sep_name},
    }


def make_signature(
    *, model: Mapping[str, Any], tokenizer: str, corpus: Mapping[str, Any], options: Mapping[str, Any], seed: int
) -> dict[str, Any]:
    """Return a signature with its id.

    Args:
        model: from `model_facts`.
        tokenizer: hash of the tokenizer.
        corpus: name, hash and number of documents of the text; name and hash of each annotated corpus.
        options: options that change numbers.
        seed: seed of every random choice.
    """
    content = {
        "model": dict(model),
        "tokenizer": tokenizer,
        "corpus": dict(corpus),
        # Lists, as the manifest's JSON has them, so that a signature equals the one that is read back.
        "options": {name: list(value) if isinstance(value, tuple) else value for name, value in options.items()},
        "seed": seed,
    }
    versions = {"python": platform.python_version(), "headscope": __version__}
    versions |= {name: version(name) for name in _LIBRARIES}
    # The id ignores names: the same weights or text under another name are the same run.
    essential = {
        **content,
        "model": {k: v for k, v in model.items() if k not in ("name", "revision", "special", "origin")},
        "corpus": _nameless(corpus),
    }
    return {"id": signature_id(essential), **content, "versions": versions}


def _nameless(corpus: Mapping[str, Any]) -> dict[str, Any]:
    return {
        key: _nameless(value) if isinstance(value, Mapping) else value for key, value in corpus.items() if key != "name"
    }


def tokenizer_hash(tokenizer: Any) -> str:
    """Return the hash of a tokenizer's whole definition, 32 hex digits."""
    if getattr(tokenizer, "is_fast", False):
        return blake2b(tokenizer.backend_tokenizer.to_str().encode(), digest_size=16).hexdigest()
    digest = blake2b(digest_size=16)
    # The settings without paths, the vocabulary, and the files that the tokenizer's code reads.
    settings = {
        name: str(value)
        for name, value in tokenizer.init_kwargs.items()
        if name not in ("name_or_path", *tokenizer.vocab_files_names) and not name.endswith("_file")
    }
    definition = [type(tokenizer).__name__, sorted(settings.items()), sorted(tokenizer.get_vocab().items())]
    digest.update(json.dumps(definition).encode())
    with TemporaryDirectory() as folder:
        for file in sorted(tokenizer.save_vocabulary(folder, None) or ()):
            digest.update(Path(file).name.encode() + Path(file).read_bytes())
    return digest.hexdigest()


_CONTROL_BYTES = 1 << 30
"""Models with random weights are kept for all stages while together they take no more bytes than this."""


class ReadingModel:
    """A model that reads the inputs of a run.

    Args:
        with_head: the model as it was loaded.
        token_types: token types of pairs, as in `Encoder`.
        max_length: maximum number of tokens in an input.
        batch_size: number of inputs per batch; None chooses it by length and device.

    Attributes:
        loaded: the model, below its vocabulary head.
        encoder: encoder that wraps its tokenizer.
        anatomy: its heads.
        facts: its part of the signature.

    Raises:
        HeadscopeError: the model has no attention heads, or cannot read inputs of that length.
    """

    def __init__(self, with_head: LoadedModel, *, token_types: str, max_length: int, batch_size: int | None) -> None:
        self.loaded = without_head(with_head)
        self.encoder = Encoder(self.loaded.tokenizer, token_types=token_types)
        self.anatomy: Anatomy = examine(self.loaded.model, self.encoder.vocabulary)
        check_length(max_length, self.loaded, self.encoder, self.anatomy)
        self.facts = model_facts(with_head, self.encoder.vocabulary)
        self._max_length, self._batch_size = max_length, batch_size
        self._trained = ModelSource(self.loaded.model, self.anatomy, self.encoder.vocabulary, ())
        self._controls: dict[int, ModelSource] = {}
        self._limit = BatchLimit()

    def source(self, inputs: Inputs, *, length: int | None = None, control: int | None = None) -> ModelSource:
        """Return the stream of tiles over inputs.

        Args:
            inputs: segments, or shards of segments.
            length: approximate length of the inputs, for the batch size; the longest allowed when None.
            control: seed of the model with random weights that reads them in place of the trained one.
        """
        size = self._batch_size or auto_batch_size(length or self._max_length, self.anatomy, self.loaded)
        source = copy(self._trained if control is None else self._control(control))
        source.batches = ShardedBatches(inputs, batch_size=size, limit=self._limit)
        return source

    def _control(self, seed: int) -> ModelSource:
        """Return the source with the random weights of a seed; it is made once for all stages if memory allows."""
        if seed not in self._controls:
            if (len(self._controls) + 1) * weight_bytes(self.loaded.model) > _CONTROL_BYTES:
                self._controls.clear()
            model = with_random_weights(self.loaded.model, seed=seed)
            # The architecture is the same, so the anatomy of the trained model applies.
            self._controls[seed] = ModelSource(model, self.anatomy, self.encoder.vocabulary, ())
        return self._controls[seed]

    @cached_property
    def identity(self) -> dict[str, str]:
        """Hashes of its weights, configuration and tokenizer."""
        hashes = {name: self.facts[name] for name in ("weights", "configuration")}
        return {**hashes, "tokenizer": tokenizer_hash(self.loaded.tokenizer)}

    @property
    def device(self) -> str:
        """Name of the device that computes."""
        return str(device_of(self.loaded.model))

    def notes(self) -> list[str]:
        """Return notes on the model for the user."""
        notes = list(self.anatomy.notes)
        if self.anatomy.encoder_decoder:
            notes.insert(0, "the decoder reads the encoder's text again, shifted right by its start token")
        if low := precision_note(dtype_of(self.loaded)):
            notes.append(low)
        notes += filter(None, [self.anatomy.path_note, self._limit.note])
        return notes


def open_model(options: RunOptions) -> ReadingModel:
    """Load the model of a run, unless it is already in memory, and examine it.

    Raises:
        HeadscopeError: it cannot be loaded, has no attention heads, or cannot read inputs of that length.
    """
    loaded = options.loaded_model or load_model(options.model, **options.loading)
    return ReadingModel(
        loaded, token_types=options.token_types, max_length=options.max_length, batch_size=options.batch_size
    )


def open_second(options: RunOptions, first: ReadingModel) -> ReadingModel | None:
    """Load the model that a run's model is compared with, unless it is in memory; None without one.

    Raises:
        OptionError: it is the first model itself, in memory.
        HeadscopeError: it cannot be loaded, or cannot read inputs of that length.
    """
    loaded = options.loaded_other
    if loaded is not None and without_head(loaded).model is first.loaded.model:
        raise OptionError(
            "both models are the same object; peft changes a model in place: load it once more for the second, or give "
            "the folder of the adapter"
        )
    if loaded is None and options.other is None:
        return None
    if loaded is None:
        loaded = _load_other(str(options.other), options)
    return ReadingModel(
        loaded, token_types=options.token_types, max_length=options.max_length, batch_size=options.batch_size
    )


def needs_words(first: ReadingModel, second: ReadingModel) -> bool:
    """Return True if two models are compared by words: their tokens or their kinds of attention differ."""
    tokens = [each.identity["tokenizer"] for each in (first, second)]
    kinds = [{part.kind for part in each.anatomy.layout} for each in (first, second)]
    return tokens[0] != tokens[1] or not kinds[0] & kinds[1]


def _load_other(name: str, options: RunOptions) -> LoadedModel:
    """Load the second model by its name; the folder of an adapter means the first model with the adapter."""
    if not is_adapter(name):
        return load_model(name, **{**options.loading, "revision": None})
    base = options.loaded_model
    # A second copy: the first model stays as it is.
    base = load_model(options.model, **options.loading) if base is None else replace(base, model=deepcopy(base.model))
    add_lora(base.model, Path(name))
    return replace(base, name=Path(name).resolve().name)
