import json
import posixpath
import re
from importlib import resources
from pathlib import Path

import pytest

from headscope.palette import palette
from headscope.views import bundle

STATIC = Path(str(resources.files("headscope").joinpath("views/static")))
SCRIPTS = sorted(path.relative_to(STATIC).as_posix() for path in STATIC.rglob("*.js"))
FOLDERS = ("core", "views", "report", "atlas", "explorer")
"""Left to right: a script imports from its own folder and from those to its left."""


def pretend(monkeypatch, **files):
    monkeypatch.setattr(bundle, "source", lambda name: files[name.removesuffix(".js")])


def test_a_module_comes_after_what_it_imports(monkeypatch):
    pretend(
        monkeypatch,
        main='import { a } from "./a.js";\nimport { b } from "./b.js";\na(b);\n',
        a='import { b } from "./b.js";\nexport function a() { b(); }\n',
        b="export const b = 1;\n",
    )
    assert bundle.script("main.js") == (
        "// b.js\nconst b = 1;\n\n// a.js\nfunction a() { b(); }\n\n// main.js\na(b);\n"
    )


def test_names_must_be_unique(monkeypatch):
    pretend(
        monkeypatch,
        main='import { a } from "./a.js";\nconst low = 1;\n',
        a="const low = 2;\nexport function a() {}\n",
    )
    with pytest.raises(
        ValueError,
        match=r"^Expected names that are unique over the page's scripts, got 'low' in both a.js and main.js; rename",
    ):
        bundle.script("main.js")


def test_other_forms_of_import_are_refused(monkeypatch):
    pretend(monkeypatch, main='import a from "./a.js";\n')
    with pytest.raises(ValueError, match=r'^Expected only `import \{a\} from "./b.js";` and .* in main.js'):
        bundle.script("main.js")


def test_circles_are_refused(monkeypatch):
    pretend(monkeypatch, a='import { b } from "./b.js";\n', b='import { a } from "./a.js";\n')
    with pytest.raises(ValueError, match=r"without circular imports, got a.js -> b.js -> a.js; break one\.$"):
        bundle.script("a.js")


def test_a_script_that_would_end_its_element_is_refused(monkeypatch):
    pretend(monkeypatch, main='const a = "</script>";\n')
    with pytest.raises(
        ValueError, match=r"^Expected scripts without `</script` and `<!--`, got one in main.js"
    ):
        bundle.script("main.js")


ENTRIES = (
    *("report/report.js", "views/attention_page.js", "views/attention_widget.js", "atlas/atlas_page.js"),
    *("explorer/explorer_page.js", "explorer/explorer_door.js"),
)


def test_the_bundles_hold_every_script():
    joined = [bundle.script(entry) for entry in ENTRIES]
    for name in SCRIPTS:
        assert any(f"// {name}\n" in one for one in joined), name
    for one in joined:
        assert not re.search(r"^(import|export)\b", one, re.MULTILINE)


@pytest.mark.parametrize("name", SCRIPTS)
def test_a_script_imports_only_from_folders_to_its_left(name):
    own = FOLDERS.index(name.split("/")[0])
    for needed in re.findall(r'^import .* from "(.+)";$', bundle.source(name), re.MULTILINE):
        folder = posixpath.normpath(posixpath.join(posixpath.dirname(name), needed)).split("/")[0]
        assert FOLDERS.index(folder) <= own, needed


def test_the_palette_is_a_module_of_its_own():
    written = bundle.source(bundle.PALETTE_MODULE)
    told = json.loads(written.removeprefix("export const PALETTE = ").removesuffix(";\n"))
    assert set(told) == {"page", "roles"}
    assert told["page"]["ink"] == {"light": palette().page["ink"].light, "dark": palette().page["ink"].dark}
    for name, role in palette().roles.items():
        assert told["roles"][name]["shape"] == role.shape
        assert told["roles"][name]["line"]["dark"] == role.line.dark


@pytest.mark.parametrize("name", SCRIPTS)
def test_no_script_writes_markup_or_evaluates_text(name):
    source = bundle.source(name)
    forbidden = (
        r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\b|new Function|srcdoc|DOMParser"
    )
    assert not re.search(forbidden, source)
    # One script asks a server, the explorer's.
    assert ("fetch(" in source) == (name == "explorer/explorer_api.js")
    assert "http" not in source.replace("http://www.w3.org/2000/svg", "")


def test_styles_have_both_schemes_and_load_nothing():
    style = bundle.style("core/base.css", "report/grid.css", "report/sections.css", "report/print.css")
    assert "prefers-color-scheme:dark" in style
    assert "@media print" in style
    assert "url(" not in style
    assert "@import" not in style
