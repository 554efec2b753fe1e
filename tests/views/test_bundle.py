import json
import posixpath
import re
import shutil
import subprocess
from importlib import resources
from pathlib import Path

import pytest

from headscope.palette import palette
from headscope.views import bundle

STATIC = Path(str(resources.files("headscope").joinpath("views/static")))
SCRIPTS = sorted(path.relative_to(STATIC).as_posix() for path in STATIC.rglob("*.js"))
FOLDERS = ("core", "views", "report", "atlas", "explorer")
"""Left to right: a script imports from its own folder and from those to its left."""


NODE = shutil.which("node")


def pretend(monkeypatch, **files):
    def source(name):
        if name.removesuffix(".js") not in files:
            raise FileNotFoundError(name)
        return files[name.removesuffix(".js")]

    monkeypatch.setattr(bundle, "source", source)


def refused(monkeypatch, entry, **files):
    pretend(monkeypatch, **files)
    with pytest.raises(ValueError, match=r"^Expected ") as error:
        bundle.script(entry)
    return str(error.value)


def run_by_node(script):
    if NODE is None:
        pytest.skip("needs Node: no `node` on the path (apt install nodejs)")
    command = [NODE, "--input-type=module", "--eval", script]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_a_module_comes_after_what_it_imports_in_a_scope_of_its_own(monkeypatch):
    pretend(
        monkeypatch,
        main='import { a } from "./a.js";\nimport { b } from "./b.js";\nexport const c = a(b);\n',
        a='import { b } from "./b.js";\n\n// What a is.\nexport function a() { b(); }\n',
        b="export const b = 1;\n",
    )
    assert bundle.script("main.js") == (
        "// b.js\nconst $1 = (() => {\nconst b = 1;\nreturn { b };\n})();\n\n"
        "// a.js\nconst $2 = (() => {\nconst { b } = $1;\nfunction a() { b(); }\nreturn { a };\n})();\n\n"
        "// main.js\nconst $3 = (() => {\nconst { a } = $2;\nconst { b } = $1;\nconst c = a(b);\n"
        "return { c };\n})();\n\n"
        "const { c } = $3;\n"
    )


def test_modules_may_use_the_same_names(monkeypatch):
    """Private names, exported names, and a class beside a function: each module has its own."""
    pretend(
        monkeypatch,
        main="""
import { least, tell as tellA } from "./a.js";
import { tell } from "./b.js";
const low = 0;
export const all = [low, tellA(), tell(), least];
""",
        a="""
const low = 1;
class Table {}
let count = 10;
export const least = 5;
export function tell() { return low + count++ + tell.length + new Table().constructor.name; }
""",
        b="""
import { least as low } from "./a.js";
function Table() { return low; }
let count = 20;
export function tell() { return Table() + count; }
""",
    )
    assert run_by_node(bundle.script("main.js") + "console.log(JSON.stringify(all));") == '[0,"11Table",25,5]\n'


def test_a_module_sees_only_what_it_imports(monkeypatch):
    pretend(
        monkeypatch,
        main='import { a } from "./a.js";\nimport { b } from "./b.js";\nexport const seen = [a, b];\n',
        a="export const a = 1;\n",
        b="export const b = typeof a;\n",
    )
    assert run_by_node(bundle.script("main.js") + "console.log(...seen);") == "1 undefined\n"


def test_paths_count_from_the_importing_module(monkeypatch):
    pretend(
        monkeypatch,
        **{
            "page/main": 'import { a } from "../core/a.js";\nimport { c } from "./c.js";\n',
            "page/c": "export class c {}\n",
            "core/a": 'import { b } from "./b.js";\nexport async function a() { b(); }\n',
            "core/b": "export function* b() {}\n",
        },
    )
    joined = bundle.script("page/main.js")
    assert re.findall(r"^// (.+)$", joined, re.MULTILINE) == ["core/b.js", "core/a.js", "page/c.js", "page/main.js"]


@pytest.mark.parametrize(
    "line",
    [
        'import a from "./a.js";',
        'import * as a from "./a.js";',
        'import "./a.js";',
        "export default 1;",
        "export { a };",
        "export let a = 1;",
        'export * from "./a.js";',
    ],
)
def test_other_forms_are_refused(monkeypatch, line):
    assert refused(monkeypatch, "main.js", main=f"const b = 1;\n{line}\n", a="export const a = 1;\n") == (
        'Expected only `import { a, b as c } from "./d.js";` and `export function, const or class` in main.js, '
        f"got {line!r}; write it in one of these forms."
    )


def test_what_is_imported_must_be_there(monkeypatch):
    main = 'import { a, b as c } from "./a.js";\n'
    assert refused(monkeypatch, "main.js", main=main, a="export const a = 1;\nexport class d {}\n") == (
        "Expected a.js to export b, which main.js imports, got a, d; export it, or mend the import."
    )
    assert refused(monkeypatch, "main.js", main=main, a="const a = 1;\n") == (
        "Expected a.js to export a, b, which main.js imports, got no export; export it, or mend the import."
    )


def test_circles_are_refused(monkeypatch):
    files = {
        "a": 'import { b } from "./b.js";\nexport const a = 1;\n',
        "b": 'import { a } from "./a.js";\nexport const b = 1;\n',
    }
    assert refused(monkeypatch, "a.js", **files) == (
        "Expected scripts without circular imports, got a.js -> b.js -> a.js; break one."
    )


def test_a_template_over_several_lines_is_refused(monkeypatch):
    """Comment lines are taken off, and a line of a template may look like one."""
    assert refused(monkeypatch, "main.js", main="const a = `one\n// two`;\n") == (
        "Expected templates that end on the line they begin on in main.js, got 'const a = `one'; join shorter ones."
    )


def test_a_script_that_would_end_its_element_is_refused(monkeypatch):
    assert refused(monkeypatch, "main.js", main='const a = "</script>";\n') == (
        "Expected scripts without `</script` and `<!--`, got one in main.js; split the string."
    )


ENTRIES = (
    *("report/report.js", "views/attention_page.js", "views/attention_widget.js", "atlas/atlas_page.js"),
    *("explorer/explorer_page.js", "explorer/explorer_door.js", "report/compare_page.js", "report/checkpoints_page.js"),
)


def test_the_bundles_hold_every_script():
    joined = [bundle.script(entry) for entry in ENTRIES]
    for name in SCRIPTS:
        assert any(f"// {name}\n" in one for one in joined), name


@pytest.mark.parametrize("entry", ENTRIES)
def test_a_bundle_is_one_script_without_imports(entry, tmp_path):
    joined = bundle.script(entry)
    assert not re.search(r"^(import|export)\b", joined, re.MULTILINE)
    if NODE is None:
        pytest.skip("needs Node: no `node` on the path (apt install nodejs)")
    path = tmp_path / "page.mjs"
    path.write_text(joined, encoding="utf-8")
    subprocess.run([NODE, "--check", str(path)], check=True, timeout=60)


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
    forbidden = r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\b|new Function|srcdoc|DOMParser"
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
