"""A template with a misspelled name, filter, fact or field is refused before any run reaches the branch."""

from dataclasses import dataclass
from types import ModuleType

import pytest

from headscope.present.facts import Fact
from headscope.present.template import Template, TemplateError


@dataclass(frozen=True, kw_only=True)
class ManyHeads(Fact):
    """A fact with one field."""

    of: int
    topic = "example"


def facts_module():
    """A module of facts with one fact, a constant and a function that reads rows."""
    module = ModuleType("example")
    module.ManyHeads = type("ManyHeads", (ManyHeads,), {"__module__": "example"})
    module.LEAST, module.head_rows, module.__package__ = 0.25, (lambda about, kind: []), "example"
    return module


WORDS = "{% call(f) fact('many_heads') %}{{ f.of | counted('head') }} above {{ LEAST | percent }}{% endcall %}"
WRONG = {
    "unknown name 'MOST'": WORDS.replace("LEAST", "MOST"),
    "line 1: unknown filter 'list'": WORDS.replace("counted('head')", "list"),
    "line 1: the fact many_heads has no 'number'": WORDS.replace("f.of", "f.number"),
    "line 2: the fact many_heads has no 'off'": WORDS.replace(
        "{{ f.of", "\n{% if false %}{{ f.off }}{% endif %}{{ f.of"
    ),
    "unknown fact 'few_heads'": WORDS + WORDS.replace("many_heads", "few_heads"),
    "the fact many_heads has no words": "{% call term('Head') %}a head{% endcall %}",
    "line 1: text outside of any block": "Some heads. " + WORDS,
    "head_row is not a function that the page uses": WORDS + "{{ table('head_row', name='t') }}",
    "scale is not a function that the page uses": WORDS + "{% call html('heat', key='scale') %}a map{% endcall %}",
    "expected {% call(f) fact('many_heads') %}": "{% call fact('many_heads') %}heads{% endcall %}",
}


def test_a_correct_template_is_read():
    assert list(Template(facts_module(), source=WORDS).facts) == ["many_heads"]


@pytest.mark.parametrize("wrong", WRONG)
def test_each_mistake_is_named(wrong):
    with pytest.raises(TemplateError) as error:
        Template(facts_module(), source=WRONG[wrong])
    assert wrong in str(error.value)
    assert str(error.value).startswith("example/page.j2: ")
