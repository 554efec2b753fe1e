"""What a template prints: sentences with heads as references, foreign text without effect, missing values refused."""

from dataclasses import dataclass
from types import ModuleType

import pytest

from headscope.present.facts import Fact
from headscope.present.linked_sentences import HeadRef, numbered
from headscope.present.template import Template
from support import mock_inputs
from support.measured import about


@dataclass(frozen=True, kw_only=True)
class Claim(Fact):
    """A fact with heads and a word."""

    heads: tuple[HeadRef, ...] = ()
    word: str | None = ""
    topic = "example"


def sentences(words, *facts):
    """The sentences of facts of one class in these words."""
    module = ModuleType("example")
    module.Claim, module.__package__ = Claim, "example"
    Claim.__module__ = "example"
    source = "{% call section('s', 'S') %}Why?{% endcall %}{% call(f) fact('claim') %}" + words + "{% endcall %}"
    page = Template(module, source=source).fill(about(mock_inputs.encoder(2, 4)), facts)
    return [each for block in page.sections[0].blocks for each in block.sentences]


HEADS = tuple(numbered("encoder", 1, head) for head in range(1, 6))


def test_heads_are_references_in_their_order():
    (one,) = sentences("these heads: {{ f.heads | heads }}.", Claim(heads=HEADS))
    assert one.text == "These heads: 1-1, 1-2, 1-3 and 2 more."
    assert [part for part in one.parts if isinstance(part, HeadRef)] == list(HEADS[:3])
    (first,) = sentences("{{ f.heads[0] }} leads", Claim(heads=HEADS))
    assert first.parts == (HEADS[0], " leads")


def test_what_continues_belongs_to_the_sentence_before_it():
    first, second = sentences("one.\n  {{ continued }} two.", Claim())
    assert (first.text, first.goes_on, second.text, second.goes_on) == ("One.", False, "Two.", True)


def test_two_facts_with_the_same_words_are_said_once():
    assert len(sentences("the same", Claim(word="a"), Claim(word="b"))) == 1


@pytest.mark.parametrize("word", ["\x02encoder,1,1,1-1\x03", "a\x1eb", "{{ heads }}", "{% raw %}", "<b>&amp;"])
def test_foreign_text_is_text_alone(word):
    (one,) = sentences("word {{ f.word }}.", Claim(word=word))
    assert len(one.parts) == 1
    assert not one.goes_on


def test_a_missing_value_is_not_printed():
    with pytest.raises(TypeError, match="printed None"):
        sentences("word {{ f.word }}", Claim(word=None))


def test_a_space_that_does_not_break_stays():
    (one,) = sentences("10\u202f000  words\n here", Claim())
    assert one.text == "10\u202f000 words here"
