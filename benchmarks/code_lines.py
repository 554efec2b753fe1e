"""Count lines of Python code: without docstrings, comments, imports or blank lines, by folder of the library.

    python benchmarks/code_lines.py [FOLDER] [--small N]

FOLDER is `src/headscope` by default; `--small N` also lists the files of at most N lines of code.
"""

import argparse
import ast
import io
import tokenize
from collections import Counter
from pathlib import Path

SOURCE = Path(__file__).resolve().parents[1] / "src" / "headscope"
NO_CODE = {
    *(tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT),
    *(tokenize.ENCODING, tokenize.ENDMARKER),
}


def code_lines(path: Path) -> int:
    """Return the number of code lines of one file."""
    source = path.read_text(encoding="utf-8")
    lines = {
        line
        for token in tokenize.generate_tokens(io.StringIO(source).readline)
        if token.type not in NO_CODE
        for line in range(token.start[0], token.end[0] + 1)
    }
    for node in ast.walk(ast.parse(source)):
        docstring = (
            isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)
        )
        if isinstance(node, ast.Import | ast.ImportFrom) or docstring:
            lines -= set(range(node.lineno, node.end_lineno + 1))
    return len(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", nargs="?", type=Path, default=SOURCE)
    parser.add_argument("--small", type=int, metavar="N")
    given = parser.parse_args()
    counts = {path: code_lines(path) for path in sorted(given.folder.rglob("*.py"))}
    folders: Counter[str] = Counter()
    for path, count in counts.items():
        parts = path.relative_to(given.folder).parts
        folders[parts[0] if len(parts) > 1 else "."] += count
    for folder, count in sorted(folders.items()):
        print(f"{count:7,}  {folder}")
    print(f"{sum(counts.values()):7,}  lines of code in {len(counts)} files")
    if given.small is not None:
        small = {path: count for path, count in counts.items() if count <= given.small and path.name != "__init__.py"}
        for path, count in sorted(small.items(), key=lambda item: item[1]):
            print(f"{count:7,}  {path.relative_to(given.folder)}")


if __name__ == "__main__":
    main()
