"""CoNLL-U, the format of Universal Dependencies: ten tab-separated columns, one word per line.

The format is described at https://universaldependencies.org/format.html.
"""

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import replace
from itertools import zip_longest

from headscope.corpora.annotation import AnnotatedDocument, AnnotatedSentence, Mention, Unmatched
from headscope.corpora.files import InputFile, open_text, split_lines
from headscope.corpora.formats import Format
from headscope.corpora.opening import source_name
from headscope.corpora.trees.conllu_rows import ConlluSentence, conllu_blocks, read_block
from headscope.errors import InputError

EXPECTED_CONLLU = "CoNLL-U: a word a line in 10 columns with tabs between them, a blank line between sentences"


def conllu_file(path: InputFile) -> Iterator[AnnotatedDocument]:
    """Yield the documents of one file, equal ones with equal ids; errors as in `files.open_text` and below."""
    name = source_name(path)
    return conllu_documents(split_lines(open_text(path, expected=EXPECTED_CONLLU), name=name), name=name)


def conllu_documents(
    lines: Iterable[str], *, name: str, left_out: Counter[str] | None = None
) -> Iterator[AnnotatedDocument]:
    """Yield the documents of a file's lines, with one in memory at a time.

    Words are the syntactic words (`à` `le`), and ranges such as `3-4` give their written form (`au`). Empty nodes such
    as `5.1` are left out, and so are the enhanced columns. `SpaceAfter=No`, or else the original text, shows where
    words follow one another without white space. `# newdoc` begins a document; before a file's first one, and in a file
    without any, each sentence is a separate document. A tag is the universal one, or the treebank's own if that is
    missing. A line of white space is blank; the last sentence counts with or without a blank line after it. `Entity=`
    in the last column gives mentions; an unmatched bracket there is listed in a document's `unmatched`.

    Args:
        lines: lines of the file.
        name: name of the file in errors.
        left_out: counter of left-out parts, by name, filled as the documents are drawn.

    Raises:
        InputError: there is no sentence, a line is not a row of CoNLL-U, heads are not a tree (`tree.check_tree`), or
            `Entity=` is not made of brackets (`brackets.mentions_of`).
    """
    sentences: list[ConlluSentence] = []
    marked = False  # whether a `# newdoc` was read
    left_out = Counter() if left_out is None else left_out
    for block in conllu_blocks(lines, name=name):
        marked = marked or block.begins
        if sentences and (block.begins or not marked):
            yield _document(sentences, name)
            sentences = []
        sentences.append(read_block(block, name=name, left_out=left_out))
    if not sentences:
        raise InputError(f"{name} has no sentence: expected {EXPECTED_CONLLU}")
    yield _document(sentences, name)


def _document(annotated: list[ConlluSentence], name: str) -> AnnotatedDocument:
    sentences = tuple(
        _apart(each.sentence) if following is not None and following.block.paragraph else each.sentence
        for each, following in zip_longest(annotated, annotated[1:])
    )
    mentions, unmatched = _mentions(annotated, name)
    return AnnotatedDocument(sentences=sentences, mentions=mentions, unmatched=unmatched, origin=sentences[0].origin)


def _apart(sentence: AnnotatedSentence) -> AnnotatedSentence:
    """Return a sentence with white space after it, because a new paragraph follows, whatever its last row says."""
    if not sentence.spaces or sentence.spaces[-1]:
        return sentence
    return replace(sentence, spaces=(*sentence.spaces[:-1], True))


def _mentions(sentences: list[ConlluSentence], name: str) -> tuple[tuple[Mention, ...], tuple[Unmatched, ...]]:
    marks = [mark for each in sentences for mark in each.marks]
    if not any(value for value, _, _ in marks):
        return (), ()
    from headscope.corpora.mentions.brackets import mentions_of  # most treebanks do not need it

    values, lines, empty = zip(*marks, strict=True)
    origins = [f"{name}, line {number}" for number in lines]
    first = sentences[0].block
    return mentions_of(values, origins=origins, empty=empty, declared=first.declared, document=first.document)


def _documents(pieces: Iterable[str], /, *, name: str, left_out: Counter[str]) -> Iterator[AnnotatedDocument]:
    return conllu_documents(split_lines(pieces, name=name), name=name, left_out=left_out)


_EXAMPLE = "1\tit\t_\tPRON\t_\t_\t2\tnsubj\t_\t_\n2\tslept\t_\tVERB\t_\t_\t0\troot\t_\t_\n\n"
FORMAT = Format(expected=EXPECTED_CONLLU, documents=_documents, example=_EXAMPLE)
