"""The project's language: American spelling, and few turns of phrase that a reader must decode."""

import ast
import io
import re
import tokenize
from pathlib import Path

from headscope.visible import visible

ROOT = Path(__file__).parents[1]
READ = {".py", ".mjs", ".js", ".css", ".html", ".j2", ".md", ".toml"}
LEFT_OUT = {"node_modules", "words", "build", "reference"}
MOST_TURNS = 4  # in 1,000 lines of prose; scikit-learn has 0.8
# Stems of British spellings, at the beginning of a word or of a part of a name.
BRITISH = re.compile(
    "(?<![a-z])(behaviour|colour|tokenis|catalogue|neighbour|labelled(?!by)|centre|grey|normalis|standardis|favour|"
    "initialis|serialis|optimis(e|i[nz])|summaris|recognis|organis)",
    re.IGNORECASE,
)
# Each turn of phrase with its plain replacement.
TURNS = {
    "name the thing": r"\b(of|for|by|from|with|in|on|to|than|and) what (is|are|was|were|has|have|an?|the|it|they)\b",
    "name the value that is returned": r"\b(Return|Say|Yield|Give|Print|Read) (what|which|how|where|whose|whether)\b",
    "begin an argument with its noun": r"(?m)^\s*[\w, *]+: (of (?!shape|type|length|size)|that |which |whose )",
    "X is not a Y": r"\b(is|are|was|were) no (?!longer|more than|less|better)\w+",
    "is, represents, appears in": r"\b(stand|stands|stood|standing) (for|in|by|behind|among|there|once|on|at|as)\b",
    "say the number": r"\b(so many|so much|as many of|as far as)\b",
    "say what is next to what": r"\b(beside it|beside them|beside these|goes with it|of it alone)\b",
    "begin with the subject": r"(?m)(^|[.;:] )Of (a|an|the|each|all|every|two|both|these|those|\w+s) ",
    "subject, verb, object": r"(?m)(^|\. )(So (is|are|do|does|may|has|have)|Nor (is|are|do|does))",
    "say who does it": r"\b(is|are|was|were|be|been) (told|asked|said|given back|made of|handed over|looked at)\b",
}


def files_of(*tops):
    """Return the files of the project below some folders."""
    found = [
        path for top in tops for path in ([ROOT / top] if (ROOT / top).is_file() else sorted((ROOT / top).rglob("*")))
    ]
    return [path for path in found if path.suffix in READ and not LEFT_OUT & {*path.relative_to(ROOT).parts}]


def prose_of(path):
    """Return the docstrings, comments and long strings of a module, or the text of a page, with their lines."""
    source = path.read_text(encoding="utf-8")
    if path.suffix == ".md":
        return [(1, re.sub(r"```.*?```", lambda code: "\n" * code.group().count("\n"), source, flags=re.DOTALL))]
    strings = [
        (node.lineno, node.value)
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and node.value.count(" ") >= 4
    ]
    tokens = tokenize.generate_tokens(io.StringIO(source).readline)
    return strings + [(each.start[0], each.string.lstrip("# ")) for each in tokens if each.type == tokenize.COMMENT]


def test_spelling_is_american():
    british = [
        f"{path.relative_to(ROOT)}:{number}: {visible(line.strip()[:80])}"
        for path in files_of(
            "src", "docs", "tests", "benchmarks", "packages", "README.md", "CONTRIBUTING.md", "SECURITY.md"
        )
        if path != Path(__file__)
        for number, line in enumerate(path.read_text(encoding="utf-8", errors="replace").split("\n"), 1)
        if BRITISH.search(line)
    ]
    assert not british, "\n".join(british[:20])


def test_few_sentences_must_be_decoded():
    lines, turns = 0, []
    for path in files_of(
        "src", "docs", "benchmarks", "packages", "examples", "README.md", "CONTRIBUTING.md", "SECURITY.md"
    ):
        if path.suffix not in (".py", ".md"):
            continue
        for line, text in prose_of(path):
            lines += text.count("\n") + 1
            turns += [
                f"{path.relative_to(ROOT)}:{line + text[: match.start()].count(chr(10))}: {match.group()!r}: {better}"
                for better, turn in TURNS.items()
                for match in re.finditer(turn, text)
            ]
    assert 1000 * len(turns) / lines <= MOST_TURNS, f"{len(turns)} in {lines} lines:\n" + "\n".join(turns)
