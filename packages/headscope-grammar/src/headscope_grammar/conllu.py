"""Documents as CoNLL-U with coreference: the ten columns, ranges, `SpaceAfter=No` and `Entity=` brackets."""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence

from headscope.corpora.annotation import AnnotatedDocument, AnnotatedSentence


def document_lines(document: AnnotatedDocument) -> Iterator[str]:
    """Yield a document's lines, without line ends; a blank line ends each sentence."""
    marks = brackets(document)
    for number, (sentence, start) in enumerate(zip(document.sentences, document.starts(), strict=True), 1):
        if number == 1:
            yield f"# newdoc id = {document.id}"
            yield "# global.Entity = eid"
        yield f"# sent_id = {document.id}-{number}"
        yield f"# text = {sentence.text or ' '.join(sentence.words)}"
        yield from _rows(sentence, start, marks)
        yield ""


def _rows(sentence: AnnotatedSentence, start: int, marks: Mapping[int, str]) -> Iterator[str]:
    tags = sentence.tags or ("_",) * len(sentence)
    spaces = spaces_after(sentence)
    table = zip(sentence.words, tags, sentence.heads, sentence.relations, spaces, strict=True)
    for at, (word, tag, head, relation, space) in enumerate(table):
        if (at == 0 or not _one_token(sentence.words, spaces, at - 1)) and _one_token(sentence.words, spaces, at):
            end = at + 1
            while _one_token(sentence.words, spaces, end):
                end += 1
            whole, after = "".join(sentence.words[at : end + 1]), "_" if spaces[end] else "SpaceAfter=No"
            yield "\t".join((f"{at + 1}-{end + 1}", whole, *"_______", after))
        notes = [f"Entity={marks[start + at]}"] if start + at in marks else []
        # Within a range, and at its end, it is the range that says what follows.
        ranged = _one_token(sentence.words, spaces, at) or (at > 0 and _one_token(sentence.words, spaces, at - 1))
        notes += [] if space or ranged else ["SpaceAfter=No"]
        last = "|".join(notes) or "_"
        yield f"{at + 1}\t{word}\t_\t{tag}\t_\t_\t{head}\t{relation}\t_\t{last}"


def spaces_after(sentence: AnnotatedSentence) -> list[bool]:
    """Tell for each word whether the written sentence has a space behind it; the last one has."""
    text = sentence.text or " ".join(sentence.words)
    spaces, at = [], 0
    for word in sentence.words:
        at = text.index(word, at) + len(word)
        spaces.append(at == len(text) or text[at] == " ")
    return spaces


def _one_token(words: Sequence[str], spaces: Sequence[bool], at: int) -> bool:
    """Tell whether a word and the next are written as one, as `did` and `n't`: letters meet."""
    return at + 1 < len(words) and not spaces[at] and words[at][-1].isalnum() and words[at + 1][0].isalnum()


def brackets(document: AnnotatedDocument) -> dict[int, str]:
    """Return the `Entity=` value of each word that opens or closes a mention: `(e1`, `e1)`, `(e2)`.

    Outer mentions open first and close last, so that brackets of nested mentions are nested too.
    """
    closing: dict[int, list[str]] = defaultdict(list)
    opening: dict[int, list[str]] = defaultdict(list)
    for mention in sorted(document.mentions, key=lambda one: (one.start, -one.end)):
        if mention.end == mention.start + 1:
            opening[mention.start].append(f"({mention.entity})")
        else:
            opening[mention.start].append(f"({mention.entity}")
            closing[mention.end - 1].insert(0, f"{mention.entity})")
    places = sorted({*opening, *closing})
    # what ends at a word is written before what begins and ends there
    return {place: "".join(_ordered(opening[place], closing[place])) for place in places}


def _ordered(opening: list[str], closing: list[str]) -> list[str]:
    singles = [mark for mark in opening if mark.endswith(")")]
    return [*(mark for mark in opening if not mark.endswith(")")), *singles, *closing]
