"""Reasons to refuse a model: it reads no text, its weights or tokenizer do not fit, or a library raises an error.

Each refusal is one sentence that tells the user what to do. Errors in the files of a folder are found in
`models.folder`, and attention that cannot be read in `attention.model.trial_batch`.
"""

import inspect
import re
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from torch import nn

from headscope.corpora.remote import trouble_of
from headscope.errors import ModelError
from headscope.installing import how_to_install_packages
from headscope.models.folder.own_code import nothing_fetched, own_code
from headscope.models.placement import check_placement
from headscope.visible import shown

WORKING_FAMILIES = (
    "BERT, DistilBERT, RoBERTa, XLM-R, CamemBERT, ELECTRA, ALBERT, ModernBERT, GPT-2, GPT-NeoX, OPT, Llama, Mistral, "
    "Qwen3, Gemma 2 and 3, Phi-3, T5, BART, DeBERTa-v2, MPNet"
)
# Explanations of transformers' errors, by parts of their texts.
_EXPLANATIONS = (
    (
        ("Unrecognized", "model type", "does not recognize"),
        f"is of a family that transformers does not know; these work: {WORKING_FAMILIES}",
    ),
    # torch's advice is to turn off its protection.
    (("weights_only", "WeightsUnpickler"), "has pickled weights, which are never read; save them as safetensors"),
    # The heading of the part of transformers' loading report about weights that it could not convert.
    (
        ("CONVERSION",),
        "has quantized weights that transformers does not load without the model's head; load it in Python by the "
        "class that it was saved with, as AutoModelForCausalLM, and give model= and tokenizer=",
    ),
    (
        ("ignore_mismatched_sizes",),
        "could not be loaded: its weights have other shapes than its config.json says; expected the config.json that "
        "was saved with the weights",
    ),
)
# Parts that come after attention and do not change it: a checkpoint need not have them.
_MAY_BE_MISSING = ("pooler", "lm_head", "cls.", "classifier", "score.", "position_ids", "inv_freq")
# Module -> its name for pip.
_SENTENCE_PIECE = {"sentencepiece": "sentencepiece", "google.protobuf": "protobuf"}
_TIKTOKEN = {"tiktoken": "tiktoken"}
# Packages needed by single tokenizers in Python, as their errors name them.
_OTHERS = ("fugashi", "ipadic", "unidic", "unidic_lite", "rhoknp", "sacremoses", "jieba", "rjieba", "ftfy", "emoji")
_TIKTOKEN_LINE = re.compile(rb"[A-Za-z0-9+/]+=* \d+\r?\n")


def check_reads_text(model: nn.Module) -> None:
    """Refuse a model of images or sound, one with block-sparse attention, and one whose weights are misplaced.

    Raises:
        ModelError: the model is refused; names the inputs that it takes, or the reason.
    """
    name = type(model).__name__
    parameters = list(inspect.signature(model.forward).parameters)
    if "input_ids" not in parameters:
        raise ModelError(
            f"{name} reads no text: it takes {shown(', '.join(parameters[:2]), limit=60)}; expected a model that takes "
            f"token ids (input_ids); these families work: {WORKING_FAMILIES}"
        )
    # A short text, such as the trial input of `examine`, would switch BigBird to full attention permanently.
    if any(
        getattr(getattr(each, "config", None), "attention_type", None) == "block_sparse" for each in model.modules()
    ):
        raise ModelError(
            f"{name} computes block-sparse attention, which gives no weights of each query over all keys; load it with "
            'attention_type="original_full" (from_pretrained takes it, and config.json holds it)'
        )
    check_placement(model)


def check_complete(name: str, untrained: Collection[str]) -> None:
    """Refuse a model whose checkpoint lacks weights that attention depends on: they would be random.

    Args:
        name: name of the model as given by the user.
        untrained: names of the weights that the checkpoint lacks.

    Raises:
        ModelError: weights are missing; gives their number.
    """
    missing = sorted(weight for weight in untrained if not any(part in weight for part in _MAY_BE_MISSING))
    if missing:
        raise ModelError(
            f"{name}: the checkpoint lacks {len(missing)} of the model's weights ({missing[0]}, ...), which "
            "would be random; expected a whole checkpoint of this architecture"
        )


def check_ids(model: Any, tokenizer: Any, label: str) -> None:
    """Refuse a tokenizer that writes ids for which the model has no embedding.

    Raises:
        ModelError: the model does not know some token ids or token types; gives the largest.
    """
    written = [tokenizer(*texts, return_token_type_ids=True) for texts in (("a",), ("a", "b"))]
    try:
        rows = model.get_input_embeddings().weight.shape[0]
    except (NotImplementedError, AttributeError):
        return  # characters are hashed: every id has an embedding
    highest = max([*tokenizer.get_vocab().values(), *(i for each in written for i in each["input_ids"])], default=0)
    kinds = getattr(model.config, "type_vocab_size", None) or 0
    kind = max((i for each in written for i in each["token_type_ids"]), default=0)
    if highest >= rows:
        fault = f"has token ids up to {highest}, and the model knows {rows}"
    elif 1 < kinds <= kind:  # a model with one type gets no token types
        fault = f"writes token types up to {kind}, and the model knows {kinds}"
    else:
        return
    raise ModelError(f"{shown(label)}: the tokenizer {fault}; expected the tokenizer that the model was trained with")


@contextmanager
def in_words(name: str, *, part: str = "") -> Iterator[None]:
    """Turn any error of a library about a model folder into one sentence; nothing is fetched meanwhile.

    Args:
        name: name of the model as given by the user.
        part: part of the folder that is being read.

    Raises:
        ModelError: replaces the error that the block raised.
    """
    try:
        with nothing_fetched():
            yield
    except ModelError:
        raise
    except BaseException as error:
        # A panic of a tokenizer in Rust is not an Exception.
        if not isinstance(error, Exception) and type(error).__name__ != "PanicException":
            raise
        raise _explain(error, name=name, part=part) from error


def _explain(error: BaseException, *, name: str, part: str = "") -> ModelError:
    """Turn an error of transformers into one sentence."""
    text = str(error)
    if trouble_of(error) == "away":
        return ModelError(
            f"{shown(name)} names a part that lies on the hub, which is not fetched, since nobody named it here; "
            "expected a folder that holds the whole model: save it with save_pretrained"
        )
    if "trust_remote_code" in text:
        return own_code(name)
    for marks, explanation in _EXPLANATIONS:
        if any(mark in text for mark in marks):
            return ModelError(f"{shown(name)} {explanation}")
    where = f", for {part} is not as it should be" if part else ""
    reason = "" if _is_pythons_own(error) or not text.strip() else f": {shown(text.strip().splitlines()[0])}"
    return ModelError(
        f"{shown(name)} could not be loaded{where}{reason}; expected what save_pretrained writes: save model "
        "and tokenizer again into one folder"
    )


def _is_pythons_own(error: BaseException) -> bool:
    """Return True if an error is about the program, not about a value (`'NoneType' object has no attribute 'get'`)."""
    if isinstance(error, RecursionError | UnicodeError) or not isinstance(error, Exception):
        return True
    in_words = isinstance(error, OSError | RuntimeError | ValueError | ImportError)
    return type(error).__module__ == "builtins" and not in_words


def missing_package(folder: Path, error: BaseException, *, name: str) -> ModelError | None:
    """Return an error that says what to install if a tokenizer needs a missing package; else None.

    Args:
        folder: the model folder.
        error: error of transformers.
        name: name of the model as given by the user.
    """
    if not (folder / "tokenizer.json").is_file():
        for path in sorted((*folder.glob("*.model"), *folder.glob("*.spm"))):
            needed = _TIKTOKEN if _is_tiktoken(path) else _SENTENCE_PIECE
            missing = [package for module, package in needed.items() if not _installed(module)]
            if missing:
                are = "is" if len(missing) == 1 else "are"
                return ModelError(
                    f"{shown(name)}: its tokenizer ({shown(path.name)}) is read with {' and '.join(missing)}, which "
                    f"{are} not installed; {how_to_install_packages(*missing)}, or headscope's extra `tokenizers`"
                )
    match = re.search(rf"\b({'|'.join(_OTHERS)})\b", str(error))
    if match and not _installed(match[1]):
        return ModelError(
            f"{shown(name)}: its tokenizer needs {match[1]}, which is not installed; "
            f"{how_to_install_packages(match[1].replace('_', '-'))}"
        )
    return None


def _installed(module: str) -> bool:
    try:
        return find_spec(module) is not None
    except ModuleNotFoundError:  # the package of the module is missing
        return False


def _is_tiktoken(path: Path) -> bool:
    """Return True if a file has lines of a piece and its number, as tiktoken's files do; SentencePiece's are binary."""
    with path.open("rb") as file:
        return _TIKTOKEN_LINE.fullmatch(file.readline(4096)) is not None
