"""Imports of the source and dependencies in pyproject.toml match."""

import ast
import re
import sys
import tomllib
from importlib.metadata import packages_distributions
from pathlib import Path

import headscope
from headscope.installing import EMBEDDED

SOURCE = Path(headscope.__file__).parent
PROJECT = tomllib.loads((SOURCE.parents[1] / "pyproject.toml").read_text(encoding="utf-8"))["project"]


def named(requirement):
    """Return the normalized distribution name of a requirement: `huggingface_hub>=1` -> `huggingface-hub`."""
    return re.sub(r"[-_.]+", "-", re.match(r"[\w.-]+", requirement)[0]).lower()


PROVIDERS = {module: {named(each) for each in found} for module, found in packages_distributions().items()}
REQUIRED = {named(each) for each in PROJECT["dependencies"]}
OPTIONAL = {
    named(each) for extra, listed in PROJECT["optional-dependencies"].items() if extra != "dev" for each in listed
}
# The source imports none of these modules: the embedded model's package is imported by the model's name, notebooks
# run in ipykernel, fsspec loads gcsfs and s3fs, and transformers' tokenizers load the others.
NOT_IMPORTED = {"gcsfs", EMBEDDED, "ipykernel", "protobuf", "s3fs", "sentencepiece", "tiktoken"}


def imported():
    """Return the third-party modules that the source imports, each with its importing files."""
    found = {}
    for path in SOURCE.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            names = [each.name for each in node.names] if isinstance(node, ast.Import) else []
            names += [node.module] if isinstance(node, ast.ImportFrom) else []
            if isinstance(node, ast.Call) and getattr(node.func, "attr", "") == "import_module":
                names += [each.value for each in node.args if isinstance(each, ast.Constant)]
            for name in names:
                found.setdefault(name.split(".")[0], set()).add(str(path.relative_to(SOURCE)))
    return {module: files for module, files in found.items() if module not in {"headscope", *sys.stdlib_module_names}}


def test_what_is_imported_is_declared():
    declared = REQUIRED | OPTIONAL
    undeclared = {
        module: sorted(files) for module, files in imported().items() if not PROVIDERS.get(module, set()) & declared
    }
    assert undeclared == {}


def test_what_is_declared_is_imported():
    used = {provider for module in imported() for provider in PROVIDERS.get(module, set())}
    assert (REQUIRED | OPTIONAL) - used == NOT_IMPORTED
