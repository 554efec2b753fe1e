"""`headscope segments`: turn text into model inputs, as the original's `preprocess_unlabeled.py` makes them."""

import json
import tempfile
from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from headscope.app.cli.printing import say
from headscope.app.options import typed as o
from headscope.app.options.beside_run import CASED, FORCE, OUT_FOLDER, RUN
from headscope.counted import count
from headscope.declarations.compat import DEFAULT_PACKING
from headscope.declarations.option import Option
from headscope.declarations.run_options import RunOptions
from headscope.errors import InputError, OptionError
from headscope.storage.places import check_place

if TYPE_CHECKING:
    from random import Random


_TEXT = replace(
    RUN["text"],
    flags=("--data-file", "--text"),
    help="Text with one sentence on each line and a blank line between documents; may be repeated.",
)
_OUT = replace(OUT_FOLDER, help="File to write; the input's name with .json in place of .txt when not given.")
_NUM_DOCS = Option(
    name="num_docs",
    kind=int,
    default=1000,
    least=1,
    group="corpora",
    help="Number of documents to use, from the start.",
)


@o.takes(
    *(_TEXT, _OUT, _NUM_DOCS, RUN["model"], RUN["revision"], CASED, FORCE),
    *(RUN[name] for name in ("packing", "max_length", "too_long")),
    *(RUN[name] for name in ("documents", "column", "max_inputs", "seed")),
)
def command(*, out: Path | None, num_docs: int, cased: bool, force: bool, **values: Any) -> None:
    """Cut text into model inputs, as JSON for `headscope extract`.

    An input has at most --max-length tokens.
    """
    path = out or default_out(values["text"] or [])
    check_place(path, reads=values["text"] or [])
    options = o.run_options(RunOptions, **values)
    packing = options.packing or DEFAULT_PACKING

    from headscope.corpora.reading import read_corpus
    from headscope.encoding.encoder import Encoder
    from headscope.encoding.line_packing import Packer
    from headscope.encoding.max_inputs import first_documents
    from headscope.encoding.tokenizer.spelling import keep_case
    from headscope.encoding.tokenizer.unknown import KnownPieces
    from headscope.models.loading.load_model import load_tokenizer
    from headscope.storage.lock import placed

    by_line = options.documents == "lines"
    texts = read_corpus(options.text, limit_documents=num_docs, by_line=by_line, column=options.column)
    tokenizer, _ = load_tokenizer(options.model, revision=options.revision)
    encoder = Encoder(keep_case(tokenizer) if cased else tokenizer)
    if options.max_length < encoder.special_tokens_pair + 2:
        raise OptionError(
            f"--max-length {options.max_length} leaves no room beside the special tokens; expected at least "
            f"{encoder.special_tokens_pair + 2} tokens"
        )
    packer = Packer(
        encoder,
        packing=packing,
        max_length=options.max_length,
        too_long=options.too_long,
        seed=options.seed,
        one_stream=True,
    )
    known = KnownPieces(encoder, "text")

    def entries() -> Iterator[dict[str, Any]]:
        read = first_documents(texts, limit=options.max_inputs)
        for segment in known.watch(packer.pack(read, max_inputs=options.max_inputs)):
            names = tokenizer.convert_ids_to_tokens(segment.ids.tolist())
            yield {"tokens": [str(name) for name in names], **segment.fields}

    with placed(path, replace=force) as part, part.open("w", encoding="utf-8") as file:
        # Only pretraining packing is shuffled, with the generator that drew its cuts, as in the original.
        lines = _shuffled(entries(), packer.random) if packing == "pretraining" else map(json.dumps, entries())
        _write_list(file, lines)
        counts = packer.counts
        if not counts.segments:
            why = "; ".join(f"{reason}: {number:,}" for reason, number in sorted(counts.skipped.items()))
            raise InputError(
                f"no input could be built from {count(counts.documents, 'document')} ({why or 'all lines are empty'}); "
                "a document of one line needs --packing single"
            )
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


def default_out(inputs: list[str]) -> Path:
    """Return the path to which the original would write: the input's name with `.json` in place of `.txt`.

    Raises:
        OptionError: no name follows, because the input is missing, several files, standard input, a pipe, or JSON.
    """
    if not inputs:
        raise OptionError("no input was given; expected --data-file (or --text) with a text file")
    from headscope.corpora.opening import is_pipe

    if len(inputs) > 1 or inputs[0] == "-" or is_pipe(inputs[0]):
        raise OptionError("give --out: there is not one input file to name the segments after")
    path = Path(inputs[0])
    name = path.name.removesuffix(".gz")
    if name.endswith((".json", ".jsonl")):
        raise OptionError(f"give --out: {path} is JSON already")
    return path.with_name(name.removesuffix(".txt") + ".json")


def _shuffled(entries: Iterable[dict[str, Any]], random: "Random") -> Iterator[str]:
    """Yield the entries' JSON in random order; they wait in a temporary file, with only their offsets in memory."""
    with tempfile.TemporaryFile() as spool:
        offsets: list[int] = []
        for entry in entries:
            offsets.append(spool.tell())
            spool.write(json.dumps(entry).encode() + b"\n")
        random.shuffle(offsets)
        for offset in offsets:
            spool.seek(offset)
            yield spool.readline().decode().rstrip("\n")


def _write_list(file: IO[str], lines: Iterable[str]) -> None:
    """Write JSON values as one list, byte for byte like `json.dump`."""
    file.write("[")
    for number, line in enumerate(lines):
        file.write(", " * (number > 0) + line)
    file.write("]")
