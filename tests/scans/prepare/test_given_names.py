"""Names, files and lengths that are refused before anything is read or loaded."""

import json

from headscope.errors import HeadscopeError
from headscope.scans.declarations.run_options import RunOptions
from headscope.scans.prepare.given_names import check_option_names


def test_empty_files_and_long_inputs_are_refused_before_anything_is_read(tmp_path):
    full, model = tmp_path / "full.txt", tmp_path / "model"
    full.write_text("The cat sat.\n")
    model.mkdir()
    (model / "config.json").write_text(json.dumps({"max_position_embeddings": 512}))
    (model / "tokenizer_config.json").write_text(json.dumps({"model_max_length": 64}))
    for name in ("empty.txt", "empty.conllu"):
        (tmp_path / name).write_text("")
    text, trees = str(tmp_path / "empty.txt"), str(tmp_path / "empty.conllu")
    cases = [
        (f"{text} is empty: expected ", {"text": (str(full), text)}),
        (f"{trees} is empty: expected ", {"treebank": (trees,)}),
        (f"{trees} is empty: expected ", {"coref": (trees,)}),
        ("--max-length 513 is more than headscope-minilm can read; expected at most 512 tokens", {"max_length": 513}),
        (
            "--max-length 65 is more than model can read; expected at most 64 tokens",
            {"model": str(model), "max_length": 65},
        ),
        ("", {"text": (str(full), "-"), "max_length": 512}),
        ("", {"model": "some/hub-name", "max_length": 5000}),
    ]
    wrong = []
    for expected, options in cases:
        message = ""
        try:
            check_option_names(RunOptions(**options))
        except HeadscopeError as error:
            message = str(error)
        if not message.startswith(expected) or bool(message) != bool(expected):
            wrong.append((options, message))
    assert not wrong
