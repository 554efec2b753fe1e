"""Treebanks: read, written in each form, and read again with the same words and trees."""

from collections.abc import Callable
from pathlib import Path

from fuzz.sample import Sample
from fuzz.target import Check, Target
from headscope.corpora.trees.treebank import FORMS, fit_word, read_treebank, treebank_text
from support.demo_treebank import demo_documents

_BY_HAND = (
    "# newdoc id = a\n# text = Au revoir, Zoé\n1-2\tAu\t_\t_\t_\t_\t_\t_\t_\t_\n1\tà\tà\tADP\t_\t_\t3\tcase\t_\t_\n"
    "2\tle\tle\tDET\tDA\tGender=Masc\t3\tdet\t_\t_\n3\trevoir\t_\t_\tNC\t_\t0\troot\t_\tSpaceAfter=No\n"
    "3.1\tx\t_\t_\t_\t_\t_\t_\t0:root\t_\n4\t,\t,\tPUNCT\t_\t_\t3\tpunct\t_\t_\n5\tZoé\t_\tPROPN\t_\t_\t3\tvocative\t_\t_"
)


def _seeds(form: str) -> Callable[[Path], list[Sample]]:
    def make(folder: Path) -> list[Sample]:
        texts = ["".join(treebank_text(demo_documents(first, first + 1), form=form)) for first in (1, 101)]
        if form == ".conllu":
            texts.append(_BY_HAND)
        if form == ".txt":
            texts.append("the 2-det\nfox 3-nsubj\nran 0-root\n\nMary-Jane 0-root-x\n")
        return [{f"corpus{form}": text.encode()} for text in texts]

    return make


def _written_again(folder: Path) -> Check:
    def run(given: Path) -> None:
        (path,) = given.iterdir()
        documents = list(read_treebank(path))
        if path.suffix == ".conllu":  # this reader accepts only such files
            again = read_treebank(path)
            assert [one.id for one in again] == [one.id for one in documents]
        sentences = [sentence for document in documents for sentence in document.sentences]
        assert sentences, "the reader returned nothing and raised no error"
        for form in FORMS:
            copy = folder / f"copy{form}"
            copy.write_text("".join(treebank_text(documents, form=form)), encoding="utf-8", newline="\n")
            back = [one for document in read_treebank(copy) for one in document.sentences]
            assert [one.words for one in back] == [
                tuple(fit_word(word, form=form) for word in one.words) for one in sentences
            ], f"other words in {form}"
            assert [one.heads for one in back] == [one.heads for one in sentences], f"other heads in {form}"
            assert [one.relations for one in back] == [one.relations for one in sentences], f"other relations in {form}"

    return run


TARGETS = [
    Target(name="conllu", seeds=_seeds(".conllu"), prepare=_written_again),
    Target(name="relation-lines", seeds=_seeds(".txt"), prepare=_written_again),
    Target(name="treebank-json", seeds=_seeds(".json"), prepare=_written_again),
]
