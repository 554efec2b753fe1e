"""`headscope segments` and `headscope extract`: model inputs and attention maps on disk, as the original makes them."""

import json
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from headscope.app import typed as o
from headscope.app.beside_run import CASED, FORCE, OUT_FOLDER, RUN
from headscope.app.cli.printing import say
from headscope.errors import OptionError
from headscope.scans.declarations.option import DEFAULT_PACKING, Option, switch
from headscope.scans.declarations.run_options import RunOptions
from headscope.storage.places import check_place
from headscope.visible import count

if TYPE_CHECKING:
    from headscope.running.extraction import Extraction

_TEXT = replace(
    RUN["text"],
    flags=("--data-file", "--text"),
    help="Text with one sentence on each line and a blank line between documents; may be repeated.",
)
_SEGMENTS = replace(OUT_FOLDER, help="File to write; the input's name with .json in place of .txt when not given.")
_NUM_DOCS = Option(
    name="num_docs",
    kind=int,
    default=1000,
    least=1,
    group="corpora",
    help="Number of documents to use, from the start.",
)
_ENTRIES = replace(
    RUN["text"],
    flags=("--preprocessed-data-file", "--text"),
    help="JSON entries with text, words or tokens (or plain text); may be repeated.",
)
_MAPS = replace(
    OUT_FOLDER, help="Folder (or pickle) to write; FILE_attn (FILE_attn.pkl) next to the input when not given."
)
_FORM = Option(
    name="form",
    kind=str,
    default="safetensors",
    flags=("--format",),
    group="output",
    choices=("safetensors", "pickle"),
    help="safetensors (a folder), or pickle (for the original's notebooks).",
)
_STORE = Option(
    name="store", kind=str, default="float16", group="output", choices=("float16", "float32"), help="Precision on disk."
)
_WORD_LEVEL = switch("word_level", "Attention between words in place of tokens.")
_DEBUG = switch("debug", "A tiny random model with the same tokenizer, to try things out.", group="model")


@o.takes(
    *(_TEXT, _SEGMENTS, _NUM_DOCS, RUN["model"], RUN["revision"], CASED, FORCE),
    *(RUN[name] for name in ("packing", "max_length", "too_long")),
    *(RUN[name] for name in ("documents", "column", "max_inputs", "seed")),
)
def segments(*, out: Path | None, num_docs: int, cased: bool, force: bool, **values: Any) -> None:
    """Cut text into model inputs, as JSON for `headscope extract`.

    An input has at most --max-length tokens.
    """
    path = out or _segments_path(values["text"] or [])
    check_place(path, reads=values["text"] or [])
    options = o.run_options(RunOptions, **{**values, "packing": values["packing"] or DEFAULT_PACKING})

    from headscope.corpora.reading import read_corpus
    from headscope.encoding.encoder import Encoder
    from headscope.encoding.max_inputs import first_documents
    from headscope.encoding.tokenizer.spelling import keep_case
    from headscope.encoding.tokenizer.unknown import KnownPieces
    from headscope.models.load_model import load_tokenizer
    from headscope.scans.prepare.input_sizes import check_room, no_input, packer_of
    from headscope.storage.lock import placed

    by_line = options.documents == "lines"
    texts = read_corpus(options.text, limit_documents=num_docs, by_line=by_line, column=options.column)
    tokenizer, _ = load_tokenizer(options.model, revision=options.revision)
    encoder = Encoder(keep_case(tokenizer) if cased else tokenizer)
    check_room(options.max_length, encoder)
    packer = packer_of(encoder, options, one_stream=True)
    known = KnownPieces(encoder, "text")

    with placed(path, replace=force) as part:
        lines = []
        read = first_documents(texts, limit=options.max_inputs)
        for segment in known.watch(packer.pack(read, max_inputs=options.max_inputs)):
            names = tokenizer.convert_ids_to_tokens(segment.ids.tolist())
            lines.append(json.dumps({"tokens": [str(name) for name in names], **segment.fields}))
        counts = packer.counts
        if not lines:
            raise no_input(counts.documents, counts.skipped, packing=options.packing)
        # Only pretraining packing is shuffled, with the generator that drew its cuts, as in the original.
        if options.packing == "pretraining":
            packer.random.shuffle(lines)
        part.write_text(f"[{', '.join(lines)}]", encoding="utf-8")
    say(
        f"wrote {path}: {count(counts.segments, 'input')} of {count(counts.documents_used, 'document')}, "
        f"{count(counts.tokens, 'token')}"
    )
    if counts.truncated:
        say(f"shortened {counts.truncated:,} to {options.max_length} tokens")
    for reason, number in sorted(counts.skipped.items()):
        say(f"left out {number:,}: {reason}")
    for note in known.notes():
        say(f"note: {note}")


@o.takes(
    *(_ENTRIES, _MAPS, _FORM, _STORE, _WORD_LEVEL, CASED, _DEBUG),
    *(replace(RUN["too_long"], default="skip"), replace(RUN["batch_size"], default=16), FORCE),
    *(RUN[name] for name in ("model", "revision", "pooling", "packing", "max_length", "token_types")),
    *(RUN[name] for name in ("documents", "column", "max_inputs", "device", "device_map", "dtype", "seed")),
)
def extract(
    *, out: Path | None, form: str, store: str, word_level: bool, cased: bool, debug: bool, force: bool, **values: Any
) -> None:
    """Run a model over text and write its attention maps to disk."""
    if form == "pickle" and store != "float16":
        raise OptionError("--format pickle holds float16, as the original's; use --format safetensors for float32")
    target = out or _maps_path(values["text"] or [], pickle=form == "pickle")
    options = o.run_options(RunOptions, **values, stages=("stats",))
    from headscope.running.extraction import MapOptions
    from headscope.running.extraction import extract as write_maps

    how = MapOptions(
        pickle=form == "pickle",
        store=store,
        word_level=options.pooling if word_level else None,
        cased=cased,
        debug=debug,
        replace=force,
    )
    for line in _said(write_maps(options, target, how), max_length=options.max_length):
        say(line)


def _segments_path(inputs: list[str]) -> Path:
    """Return the path to which the original would write: the input's name with `.json` in place of `.txt`.

    Raises:
        OptionError: no name follows, because there is no single input file, or the input is JSON.
    """
    path = _only_input(inputs, expected="--data-file (or --text) with a text file", output="segments")
    if path.name.endswith((".json", ".jsonl")):
        raise OptionError(f"give --out: {inputs[0]} is JSON already")
    return path.with_name(path.name.removesuffix(".txt") + ".json")


def _maps_path(inputs: list[str], *, pickle: bool) -> Path:
    """Return the path to which the original would write: FILE_attn, or FILE_attn.pkl, without the ending `.json`.

    Raises:
        OptionError: no name follows, because there is no single input file.
    """
    expected = "--preprocessed-data-file with a JSON file of entries, or --text"
    path = _only_input(inputs, expected=expected, output="maps")
    name = path.name
    for ending in (".json", ".jsonl", ".txt"):
        name = name.removesuffix(ending)
    return path.with_name(f"{name}_attn.pkl" if pickle else f"{name}_attn")


def _only_input(inputs: list[str], *, expected: str, output: str) -> Path:
    """Return the path of the only input file, without the ending `.gz`.

    Raises:
        OptionError: the input is missing, standard input, a pipe, or several files.
    """
    if not inputs:
        raise OptionError(f"no input was given; expected {expected}")
    from headscope.corpora.opening import is_pipe

    if len(inputs) > 1 or inputs[0] == "-" or is_pipe(inputs[0]):
        raise OptionError(f"give --out: there is not one input file to name the {output} after")
    path = Path(inputs[0])
    return path.with_name(path.name.removesuffix(".gz"))


def _said(extraction: "Extraction", *, max_length: int) -> list[str]:
    """Return plain lines that report the written maps and the left-out inputs."""
    counts, index = extraction.counts, extraction.index
    if counts is None:
        return [f"{extraction.path} holds these maps already: nothing to do; --force makes them again"]
    inputs = counts.segments - extraction.left_out
    shape = " + ".join(f"{part.layers} x {part.heads} {part.kind} heads" for part in index.layout)
    between = "tokens" if index.word_level is None else f"words ({index.word_level} over pieces)"
    lines = [
        f"wrote {extraction.path}: attention between {between} of {count(inputs, 'input')}, "
        f"{shape}, {index.store}, {extraction.bytes / 1e6:,.1f} MB"
    ]
    if counts.truncated:
        lines.append(f"shortened {counts.truncated:,} to {max_length} tokens")
    for reason, number in sorted(counts.skipped.items()):
        limit = f" of {max_length} tokens (--max-length, --too-long)" if reason == "over the limit" else ""
        lines.append(f"left out {number:,}: {reason}{limit}")
    if extraction.left_out:
        lines.append(f"left out {extraction.left_out:,}: a word has no row of its own")
    return [*lines, *(f"note: {note}" for note in extraction.notes)]
