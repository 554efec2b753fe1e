"""Text that is written into a page: no part of it can leave its element, and it can be read back unchanged."""

import ast
import html
import json
from pathlib import Path

from fuzz.sample import Sample
from fuzz.target import Check, Target
from headscope.views.attention_page import attention_page
from headscope.views.bundle import view_names
from headscope.views.given_arrays import raw_view
from headscope.views.markup import el, json_script, json_text, text
from headscope.views.state import figure_call, opening
from headscope.visible import titled, visible
from support.hostile import printable
from support.made_maps import HOSTILE, sentence_pair

_STATES = [{"name": name, "kind": "encoder", "layer": 1, "heads": [1, 2], "words": True} for name in view_names()]


def _texts(folder: Path) -> list[Sample]:
    return [{"tokens.json": json.dumps(tokens).encode()} for tokens in (HOSTILE, ["[CLS]", "a</b>", "&amp;", "[SEP]"])]


def _strings(value: object) -> list[str]:
    """Return the strings of any JSON, keys included; the text of other values."""
    if isinstance(value, dict):
        return [one for pair in value.items() for part in pair for one in _strings(part)]
    if isinstance(value, list):
        return [one for part in value for one in _strings(part)]
    return [value if isinstance(value, str) else str(value)[:4000]]


def _markup(folder: Path) -> Check:
    def run(given: Path) -> None:
        (path,) = given.iterdir()
        content = path.read_bytes().decode("utf-8", "replace")
        try:
            value = json.loads(content)
        except (ValueError, RecursionError):
            value = content
        for one in _strings(value)[:25]:
            markup = text(one)
            assert not set(markup) & set("<>\"'"), "markup in text"
            assert html.unescape(markup) == one.replace("\0", "␀")
            element = el("p", one, title=one)
            assert element.count("<") == 2, "an additional element"
            assert printable(visible(one)) or "\u200c" in one or "\u200d" in one, "invisible"
            assert len(titled(one)) <= 1000
            called = ast.parse(f"f({figure_call(one, one, model=one, revision=one)})", mode="eval").body
            assert all(ast.literal_eval(part.value) == one for part in called.keywords)  # type: ignore[attr-defined]
            script = json_script("x", {one: one})
            assert script.count("<") == 2, "a script within the script"
            assert json.loads(json_text({one: one})) == {one: one}

    return run


def _page(folder: Path) -> Check:
    def run(given: Path) -> None:
        (path,) = given.iterdir()
        try:
            tokens = json.loads(path.read_bytes())
        except (ValueError, RecursionError):
            return
        if not isinstance(tokens, list) or not 0 < len(tokens) <= 40:
            return
        size = len(tokens)
        view = raw_view(attention=[[[[1 / size] * size] * size]], tokens=tokens)
        page = attention_page(view)
        assert page.count("<script") == page.count("</script>")

    return run


def _states(folder: Path) -> list[Sample]:
    return [{"state.json": json.dumps(state).encode()} for state in _STATES]


def _opening(folder: Path) -> Check:
    view = sentence_pair(neuron=False)

    def run(given: Path) -> None:
        (path,) = given.iterdir()
        try:
            told = json.loads(path.read_bytes())
        except (ValueError, RecursionError):
            return
        if not isinstance(told, dict) or not isinstance(told.get("name"), str):
            return
        layer, heads, kind = told.get("layer"), told.get("heads"), told.get("kind")
        state = opening(
            view,
            told["name"],
            kind=kind if isinstance(kind, str) else None,
            layer=layer if isinstance(layer, int) else None,
            heads=[head for head in heads if isinstance(head, int)] if isinstance(heads, list) else [],
            words=bool(told.get("words")),
        )
        assert state.isascii()
        assert not set(state) & set("<>\"' "), "a state that needs to be escaped"

    return run


TARGETS = [
    Target(name="markup", seeds=_texts, prepare=_markup),
    Target(name="view-page", seeds=_texts, prepare=_page),
    Target(name="view-state", seeds=_states, prepare=_opening),
]
