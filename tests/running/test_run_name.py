"""The folder of a run that was given none: its name, and that it is never another run's."""

import pytest

from headscope.present.manifest import MANIFEST, write_manifest
from headscope.running.run_folder import free_folder, run_name
from headscope.scans.declarations.run_options import RunOptions


@pytest.mark.parametrize(
    ("given", "name"),
    [
        ({}, "demonstration-mini"),
        ({"text": ("some/my text.txt",)}, "my-text-mini"),
        ({"text": ("a.jsonl.gz", "b.txt", "c.txt")}, "a-and-2-more-mini"),
        ({"text": ("-",)}, "standard-input-mini"),
        ({"treebank": ("ud:en_ewt/test",)}, "ud-en_ewt-test-mini"),
        ({"text": ("../..",)}, None),
    ],
)
def test_a_run_is_named_after_text_and_model(given, name):
    found = run_name(RunOptions(**given), "someone/mini")
    assert found == name or (name is None and found.endswith("-mini") and "/" not in found)


def test_a_folder_is_free_or_holds_this_very_run(tmp_path):
    def folder():
        return free_folder("my-mini", "one", beside=tmp_path).name

    assert folder() == "my-mini"
    (tmp_path / "my-mini").mkdir()
    assert folder() == "my-mini"
    (tmp_path / "my-mini" / "notes.txt").write_text("mine")
    (tmp_path / "my-mini-2").write_text("a file")
    assert folder() == "my-mini-3"
    other = tmp_path / "my-mini-3"
    other.mkdir()
    kinds = [{"kind": "encoder", "layers": 1, "heads": 1}]
    counts = dict.fromkeys(("documents", "documents_used", "segments", "tokens", "truncated", "skipped"), 0)
    signature = {"id": "two", "model": {"name": "mini"}, "corpus": {}, "options": {}, "versions": {}}
    write_manifest(other, {"signature": signature, "kinds": kinds, "counts": counts})
    assert folder() == "my-mini-4"
    write_manifest(other, {"signature": {**signature, "id": "one"}, "kinds": kinds, "counts": counts})
    assert folder() == "my-mini-3"
    (other / MANIFEST).write_text((other / MANIFEST).read_text().replace("mini", "maxi"))
    assert folder() == "my-mini-4"
