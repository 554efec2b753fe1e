"""The demonstration's treebank is what the grammar makes, and what the library reads is what the grammar meant."""

import difflib
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import headscope_minilm
import pytest

from headscope.prepare.annotated import DEMO_NAME, AnnotatedCorpus
from headscope_grammar import conllu_lines, synthetic_documents
from headscope_grammar.treebank import DEMO_DOCUMENTS

CHECKOUT = Path(__file__).parents[2] / "packages" / "headscope-minilm" / "src" / "headscope_minilm"


def bare(document):
    """A document without the places, which only messages tell, and without spaces, which its text tells."""
    sentences = tuple(replace(sentence, origin="", spaces=()) for sentence in document.sentences)
    return replace(document, id="", sentences=sentences, origin="")


def by_content(documents):
    """Documents as `bare` leaves them, in the order of their ids."""
    return sorted(map(bare, documents), key=lambda document: document.id)


def test_the_grammar_makes_the_file_again():
    made = "".join(f"{line}\n" for document in synthetic_documents(DEMO_DOCUMENTS) for line in conllu_lines(document))
    kept = (CHECKOUT / "demo" / "demo.conllu").read_bytes().decode("utf-8")
    if made != kept:
        first = list(difflib.unified_diff(kept.splitlines(), made.splitlines(), "demo.conllu", "made", n=0))
        pytest.fail(
            f"the grammar makes another treebank: python -m headscope_grammar {CHECKOUT / 'demo' / 'demo.conllu'}, and "
            "raise the version of headscope-minilm, or mend the grammar\n" + "\n".join(first[:12])
        )


@pytest.mark.parametrize("name", ["demo_text", "demo_treebank"])
def test_what_is_installed_is_what_the_checkout_holds(name):
    installed = getattr(headscope_minilm, name)()
    assert installed.read_bytes() == (CHECKOUT / "demo" / installed.name).read_bytes(), (
        "the installed headscope-minilm is another: pip install ./packages/headscope-minilm"
    )


def test_what_is_read_is_what_the_grammar_meant():
    read = list(AnnotatedCorpus.treebank(()).read())
    assert by_content(read) == by_content(synthetic_documents(DEMO_DOCUMENTS))
    assert f"synthetic English, {len(read)} documents" == DEMO_NAME
    assert list(AnnotatedCorpus.coreference(()).read()) == read


def command(*arguments):
    return subprocess.run(
        [sys.executable, "-m", "headscope_grammar", *map(str, arguments)], capture_output=True, text=True
    )


def test_the_command_writes_it_and_others(tmp_path):
    done = command(tmp_path / "some.conllu", "--documents", 3)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    some = (tmp_path / "some.conllu").read_text(encoding="utf-8")
    whole = headscope_minilm.demo_treebank().read_text(encoding="utf-8")
    assert whole.startswith(some)
    assert some.count("# newdoc") == 3
    command(tmp_path / "other.conllu", "--documents", 3, "--seed", 1)
    assert (tmp_path / "other.conllu").read_text(encoding="utf-8") != some
    refused = command(tmp_path / "none.conllu", "--documents", 0)
    assert refused.returncode == 2
    assert refused.stderr == "expected 1 document or more, found 0; ask for a positive number\n"
