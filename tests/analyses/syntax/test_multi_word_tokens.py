"""Multi-word tokens of a treebank, from its file to the notes of a run."""

import headscope as hs
from support.tiny_models import shared_tiny_model
from support.tiny_tokenizers import tiny_tokenizer

ROWS = (
    ("1", "it", "2", "nsubj"),
    ("2", "ran", "0", "root"),
    ("3-4", "cats", "_", "_"),
    ("3", "ca", "5", "case"),
    ("4", "ta", "5", "det"),
    ("5", "dog", "2", "obl"),
    ("5.1", "mat", "_", "_"),
)


def test_a_run_reads_what_is_written_and_says_so(tmp_path):
    rows = ["\t".join([number, word, "_", "_", "_", "_", head, name, "_", "_"]) for number, word, head, name in ROWS]
    (tmp_path / "my.conllu").write_text("\n".join(rows) + "\n\n")
    given = {"model": shared_tiny_model("bert"), "tokenizer": tiny_tokenizer("bert"), "controls": 0, "max_length": 40}
    note = "treebank: 1 word shares its pieces with the word before it, since a multi-word token is written for both"
    for spacing, shared in (("written", 1), ("words", 0)):
        study = hs.syntax(treebank=[tmp_path / "my.conllu"], spacing=spacing, **given)
        facts = study.manifest["treebank"]
        assert (facts["words"], facts["words_shared"], facts["words_dropped"]) == (5, shared, 0)
        assert [each for each in study.manifest["notes"] if "multi-word" in each] == [note] * shared
