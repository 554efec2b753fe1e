"""A tokenizer is read only from the checked files, each of bounded size, in every reader."""

import importlib
import json
import os
import pkgutil
import resource
from contextlib import suppress

import pytest
import transformers

from headscope.errors import ModelError
from headscope.models.folder.files import READ
from headscope.models.load_model import load_model, load_tokenizer
from support import hostile_tokenizers as tokenizers
from support.commands import run_command
from support.hostile import each, printable
from support.hostile_model_folders import copied, in_json, whole_folder, without, written
from support.opened_files import OpenedFiles
from support.special_files import guarded


@pytest.fixture(scope="module", autouse=True)
def before():
    """Return the peak memory of this process so far, in kB, after the first folder loaded torch and transformers."""
    load_model(whole_folder())
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


@each(tokenizers.every_case())
def test_a_folder_is_taken_or_refused_in_words(case, tmp_path):
    made = case.make(tmp_path)
    with guarded():
        if case.says is None:
            load_model(made)
            return
        for load in (load_model, load_tokenizer):
            with pytest.raises(ModelError) as refused:
                load(made)
            assert case.says in str(refused.value)
            assert printable(str(refused.value))
            assert len(str(refused.value)) < 1500


def test_so_many_folders_take_no_gigabyte(before):
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 1e6


def classes():
    """Return every tokenizer class, after importing all modules of transformers that define one."""
    for module in pkgutil.walk_packages(transformers.models.__path__, "transformers.models."):
        if ".tokenization_" in module.name:
            try:
                importlib.import_module(module.name)
            except (ImportError, NameError):
                continue  # a package that is not installed here
    found, left = set(), [transformers.PreTrainedTokenizerBase]
    while left:
        new = set(left.pop().__subclasses__()) - found
        found |= new
        left += new
    return {each for each in found if each.__module__.startswith("transformers.")}


@pytest.mark.slow
def test_every_file_that_a_class_reads_is_checked():
    small = {"tokenizer_config.json", "special_tokens_map.json", "added_tokens.json"}
    found = classes()
    assert len(found) > 80
    read = {name for each in found for name in each.vocab_files_names.values() if name is not None}
    assert {name for name in read - small if not name.endswith(".model")} <= set(READ)


@pytest.mark.slow
def test_no_class_opens_a_file_that_only_the_configuration_names(tmp_path):
    """All path keys are tested, in both files from which transformers takes them, with and without a tokenizer.json."""
    outside = tmp_path / "outside"
    outside.mkdir()
    names = ("tokenizer.json", "vocab.txt", "merges.txt", "spiece.model")
    for name in names:
        (outside / name).write_text(tokenizers.growing_definition() if name == "tokenizer.json" else "a 1\n")
    keys = {key for each in classes() for key in each.vocab_files_names if key.endswith("_file")} | {
        "chat_template_file"
    }
    paths = {key: str(outside / names[number % len(names)]) for number, key in enumerate(sorted(keys))}
    paths["tokenizer_file"] = str(outside / "tokenizer.json")
    number = 0
    with OpenedFiles(outside) as opened:
        for file in ("tokenizer_config.json", "special_tokens_map.json"):
            for name in (None, "BertTokenizer", "GPT2Tokenizer", "T5Tokenizer", "TokenizersBackend", "CTRLTokenizer"):
                for kept in ("tokenizer.json", "vocab.txt"):
                    number += 1
                    lacking = {"tokenizer.json", "vocab.txt"} - {kept}
                    (tmp_path / f"{number}").mkdir()
                    made = copied(
                        tmp_path / f"{number}",
                        written("vocab.txt", "[UNK]\n[PAD]\n[CLS]\n[SEP]\n[MASK]\na\nb\n"),
                        without(*lacking),
                        in_json("tokenizer_config.json", **({} if name is None else {"tokenizer_class": name})),
                        in_json(file, **paths),
                    )
                    with guarded(), suppress(ModelError):
                        load_tokenizer(made)
        assert opened.so_far() == set()


def test_a_tokenizer_outside_of_the_folder_is_not_read(tmp_path):
    """A `fast_tokenizer_files` entry outside the folder once led to a panic in Rust, at 5 GB."""
    (tmp_path / "text.txt").write_text("the cat sat .\n")
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "tokenizer.4.0.0.json").write_text(tokenizers.growing_definition())
    for names in (["../../outside/tokenizer.4.0.0.json"], [str(tmp_path / "outside" / "tokenizer.4.0.0.json")]):
        (tmp_path / f"{len(names[0])}").mkdir()
        made = copied(tmp_path / f"{len(names[0])}", in_json("tokenizer_config.json", fast_tokenizer_files=names))
        with guarded(), OpenedFiles(tmp_path / "outside") as opened:
            code, _, err = run_command("stats", "--text", tmp_path / "text.txt", "--model", made, "-q")
            assert opened.so_far() == set()
        assert (code, err) == (
            2,
            f"headscope: {made / 'tokenizer_config.json'} names other files to read (fast_tokenizer_files); expected "
            "it without fast_tokenizer_files: copy or download the folder again, or save it again with "
            "save_pretrained\n",
        )


def test_a_copy_that_tiktoken_keeps_is_not_read(tmp_path, monkeypatch):
    """Tiktoken caches each file in the shared temporary folder, under a name that anybody can compute."""
    seen = []
    taken = transformers.AutoTokenizer.from_pretrained

    def watched(*given, **options):
        seen.append(os.environ.get("TIKTOKEN_CACHE_DIR"))
        return taken(*given, **options)

    monkeypatch.setattr(transformers.AutoTokenizer, "from_pretrained", watched)
    monkeypatch.setenv("TIKTOKEN_CACHE_DIR", "theirs")
    load_tokenizer(whole_folder())
    assert seen == [""]  # no copy is cached or read
    assert os.environ["TIKTOKEN_CACHE_DIR"] == "theirs"


def test_a_model_with_several_chat_templates_is_trained_and_pruned(tmp_path):
    """The templates lie in a subfolder."""
    templates = {"default": "a", "tool use": "b"}
    made = copied(tmp_path, in_json("tokenizer_config.json", chat_template=templates))
    (tmp_path / "text.txt").write_text("the cat sat .\nit slept .\n\n" * 20)
    (tmp_path / "heads.txt").write_text("1-1\n")
    for command in (
        ("train", "--text", tmp_path / "text.txt", "--steps", 1, "--max-length", 16),
        ("prune", "--heads", tmp_path / "heads.txt"),
    ):
        out = tmp_path / command[0]
        code, _, err = run_command(*command, "--model", made, "--out", out)
        assert code in (0, None), err
        assert load_tokenizer(out)[0].chat_template == templates
        assert json.loads((out / "tokenizer_config.json").read_text())
