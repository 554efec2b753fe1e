"""Corpora by name: downloaded once, cached as plain files, with every failure of a network."""

import errno
import hashlib
import os
import re
import subprocess
import sys

import pandas as pd
import pytest
from huggingface_hub import constants, file_download

from headscope.corpora import hub_parquet as parquet_corpora
from headscope.corpora.by_name import fetch, is_remote, resolve
from headscope.corpora.reading import read_corpus
from headscope.corpora.remote import trouble_of
from headscope.corpora.trees.treebank import read_treebank
from headscope.errors import InputError
from support.hub_server import COMMIT, HubServer
from support.shared_data import data

UD, WIKITEXT = "universal-dependencies/universal_dependencies", "Salesforce/wikitext"
UD_COMMIT, WIKITEXT_COMMIT = ("6b8168e1a6c048c9f8c731aca07daa7aaba228c6", "b08601e04326c79dfdd32d625aee71d232d685c3")
MOVED = "b" * 40

# A sentence with every feature of CoNLL-U, and its row in the hub's file.
FRENCH = """\
# newdoc id = d1
# sent_id = s1
# text = Il parle du chat.
# remark
1\tIl\til\tPRON\t_\tGender=Masc\t2\tnsubj\t2:nsubj\t_
2\tparle\tparler\tVERB\tV\t_\t0\troot\t0:root\t_
2.1\tparle\tparler\tVERB\t_\t_\t_\t_\t2:conj\tCopyOf=2
3-4\tdu\t_\t_\t_\t_\t_\t_\t_\tSpaceAfter=No
3\tde\tde\tADP\t_\t_\t5\tcase\t5:case\t_
4\tle\tle\tDET\t_\t_\t5\tdet\t5:det\t_
5\tchat\tchat\tNOUN\t_\t_\t2\tobl:arg\t2:obl:arg\tSpaceAfter=No
6\t.\t.\tPUNCT\t_\t_\t2\tpunct\t2:punct\t_
"""
SHORT = """\
# sent_id = s2
# text = Viens !
0.1\tTu\ttoi\tPRON\t_\t_\t_\t_\t1:nsubj\t_
1\tViens\tvenir\tVERB\t_\t_\t0\troot\t0:root\t_
2\t!\t!\tPUNCT\t_\t_\t1\tpunct\t1:punct\t_
"""
ROWS = [
    {
        "sent_id": "s1",
        "text": "Il parle du chat.",
        "comments": ["newdoc id = d1", "__SENT_ID__", "__TEXT__", "remark"],
        "tokens": ["Il", "parle", "de", "le", "chat", "."],
        "lemmas": ["il", "parler", "de", "le", "chat", "."],
        "upos": ["PRON", "VERB", "ADP", "DET", "NOUN", "PUNCT"],
        "xpos": [None, "V", None, None, None, None],
        "feats": ["Gender=Masc", None, None, None, None, None],
        "head": [2, 0, 5, 5, 2, 2],
        "deprel": ["nsubj", "root", "case", "det", "obl:arg", "punct"],
        "deps": ["2:nsubj", "0:root", "5:case", "5:det", "2:obl:arg", "2:punct"],
        "misc": [None, None, None, None, "SpaceAfter=No", None],
        "mwt": [{"id": "3-4", "form": "du", "feats": None, "misc": "SpaceAfter=No"}],
        "empty_nodes": [
            {"id": "2.1", "form": "parle", "lemma": "parler", "upos": "VERB", "xpos": "_", "feats": None,
             "head": None, "deprel": "_", "deps": "2:conj", "misc": "CopyOf=2"}
        ],
    },
    {
        "sent_id": "s2",
        "text": "Viens !",
        "comments": ["__SENT_ID__", "__TEXT__"],
        "tokens": ["Viens", "!"],
        "lemmas": ["venir", "!"],
        "upos": ["VERB", "PUNCT"],
        "xpos": [None, None],
        "feats": [None, None],
        "head": [0, 1],
        "deprel": ["root", "punct"],
        "deps": ["0:root", "1:punct"],
        "misc": [None, None],
        "mwt": [],
        "empty_nodes": [
            {"id": "0.1", "form": "Tu", "lemma": "toi", "upos": "PRON", "xpos": "_", "feats": None,
             "head": None, "deprel": "_", "deps": "1:nsubj", "misc": None}
        ],
    },
]  # fmt: skip
WIKI_ROWS = [
    "", " = Cats = \n", "", " A cat 's paw is well @-@ padded . \n", " It has 1 @,@ 000 hairs . \n", "",
    " = = Diet = = \n", "", " = 2 + 2 = \n", " Fish . \n", "", " = Dogs = \n", "", " A dog barks . \n",
]  # fmt: skip
WIKI_TEXT = "A cat 's paw is well-padded .\nIt has 1,000 hairs .\n= 2 + 2 =\nFish .\n\nA dog barks .\n\n"


LOOK = "names are a language code, _ and a treebank, as ud:en_ewt or ud:fr_gsd"
BROKEN = "the data are broken: try another @revision, or give a local file"


def save(path, rows):
    path.parent.mkdir(parents=True, exist_ok=True)
    pd.DataFrame(rows).to_parquet(path, index=False)


@pytest.fixture(scope="module")
def served(tmp_path_factory):
    """Return the folder of the hub's files."""
    folder = tmp_path_factory.mktemp("hub")
    for name in ("dev", "test", "train"):
        save(folder / f"ud/parquet/fr_gsd/{name}.parquet", ROWS)
    save(folder / "ud/parquet/fr_sequoia/dev.parquet", ROWS)
    save(folder / "ud/parquet/en_gum/dev.parquet", ROWS)
    save(folder / "ud/parquet/fr_pud/test.parquet", ROWS)
    rows = [{"text": line} for line in WIKI_ROWS]
    save(folder / "wiki/wikitext-2-raw-v1/validation-00000-of-00001.parquet", rows)
    return folder


@pytest.fixture
def hub(served, monkeypatch):
    """Run a local hub for this process, without waiting between attempts."""
    server = HubServer(datasets={UD: served / "ud", WIKITEXT: served / "wiki"})
    server.revisions |= {UD_COMMIT: UD_COMMIT, WIKITEXT_COMMIT: WIKITEXT_COMMIT}
    point_at(server.address, monkeypatch)
    monkeypatch.setattr(constants, "HF_HUB_DISABLE_XET", True)
    monkeypatch.setattr(
        constants, "DOWNLOAD_CHUNK_SIZE", 50
    )  # small chunks: unfinished ones are lost with the connection
    monkeypatch.setattr(file_download.time, "sleep", lambda seconds: None)
    yield server
    server.shutdown()
    server.server_close()


def point_at(address, monkeypatch):
    monkeypatch.setattr(constants, "ENDPOINT", address)
    template = address + "/{repo_id}/resolve/{revision}/{filename}"
    monkeypatch.setattr(constants, "HUGGINGFACE_CO_URL_TEMPLATE", template)
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", False)


def refused(name, cache):
    with pytest.raises(InputError) as error:
        fetch(name, cache_dir=cache)
    return str(error.value)


def kept(cache):
    """Return the files that a failed download left."""
    return [p.name for p in cache.rglob("*") if p.is_file() and p.suffix not in (".lock", ".TAG", ".json")]


# Names


@pytest.mark.parametrize(
    "name",
    ["ud:en_ewt", "UD:EN_EWT/Train", "ud:fr_gsd@2.17", "ud:fr_gsd/test@refs/pr/3", "ud:", "wikitext", "WikiText-2",
     "wikitext/test", "wikitext-103", "wikitext@main"],
)  # fmt: skip
def test_names_that_are_fetched(name):
    assert is_remote(name)


@pytest.mark.parametrize(
    "name", ["-", "", "en_ewt", "en_ewt.conllu", "wikitext.txt", "wikitext/valid.txt", "data/wikitext", "ud", "a\0b"]
)
def test_names_that_are_not(name):
    assert not is_remote(name)


def test_a_local_file_or_folder_of_that_name_wins(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert is_remote("wikitext")
    (tmp_path / "wikitext").mkdir()
    (tmp_path / "ud:en_ewt").write_text("")
    assert not is_remote("wikitext")
    assert not is_remote("ud:en_ewt")
    assert resolve(["ud:en_ewt", "wikitext"]) == ("ud:en_ewt", "wikitext")


@pytest.mark.parametrize(
    ("name", "sentence"),
    [
        ("ud:english", f"ud:english is not a treebank: {LOOK}"),
        ("ud:..", f"ud:.. is not a treebank: {LOOK}"),
        ("my.txt", "'my.txt' is not the name of a corpus to fetch; expected ud:<treebank>, as ud:en_ewt, or wikitext"),
        ("ud:fr_gsd/final", "ud:fr_gsd has no split final; choose one of dev, test, train"),
        ("wikitext/final", "wikitext has no split final; choose one of validation, test, train"),
        ("wikitext-103", "wikitext-103 is not known; of WikiText, wikitext-2 is fetched: write wikitext"),
    ],
)  # fmt: skip
def test_names_that_are_slips(name, sentence, tmp_path):
    assert refused(name, tmp_path) == sentence


# Downloads


def test_a_treebank_is_fetched_once(hub, tmp_path, monkeypatch):
    path = fetch("ud:fr_gsd", cache_dir=tmp_path)
    assert path == tmp_path / f"assets/headscope/corpora-1/fr_gsd-dev-{UD_COMMIT}.conllu"
    assert path.read_text(encoding="utf-8") == FRENCH + "\n" + SHORT + "\n"
    where = f"/datasets/{UD}/resolve/{UD_COMMIT}/parquet/fr_gsd/dev.parquet"
    assert hub.seen.count(where) == 2  # one request for the metadata, one download
    assert [p for p in hub.seen if p.startswith("/cdn/")] == [f"/cdn/{sha256(path_of(hub, 'fr_gsd/dev'))}"]
    hub.seen.clear()
    assert fetch("UD:FR_GSD/validation", cache_dir=tmp_path) == path
    assert hub.seen == []  # no request at all
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", True)
    assert fetch("ud:fr_gsd", cache_dir=tmp_path) == path


def path_of(hub, name):
    return hub.datasets[UD] / f"parquet/{name}.parquet"


def sha256(path):
    return hashlib.sha256(path.read_bytes()).hexdigest()


def test_the_ordinary_reader_takes_over(hub, tmp_path):
    (document,) = read_treebank(fetch("ud:fr_gsd/train", cache_dir=tmp_path))
    assert document.sentences[0].words == ("Il", "parle", "de", "le", "chat", ".")
    assert document.sentences[0].heads == (2, 0, 5, 5, 2, 2)
    assert document.sentences[1].relations == ("root", "punct")


def test_wikitext_is_text_with_an_article_a_document(hub, tmp_path):
    path = fetch("wikitext", cache_dir=tmp_path)
    assert path.name == f"wikitext-2-raw-v1-validation-{WIKITEXT_COMMIT}.txt"
    assert path.read_text() == WIKI_TEXT
    assert [document.lines[-1] for document in read_corpus(path)] == ["Fish .", "A dog barks ."]
    assert fetch("WikiText-2/dev", cache_dir=tmp_path) == path


def test_resolve_replaces_names_and_leaves_paths(hub, tmp_path, monkeypatch):
    monkeypatch.setattr(constants, "HF_ASSETS_CACHE", str(tmp_path / "assets"))
    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path / "hub"))
    monkeypatch.setattr(file_download.constants, "HF_HUB_CACHE", str(tmp_path / "hub"))
    folder = f"{tmp_path}/assets/headscope/corpora-1"
    assert resolve(["my.txt", "ud:fr_gsd", "-", "wikitext"]) == (
        "my.txt",
        f"{folder}/fr_gsd-dev-{UD_COMMIT}.conllu",
        "-",
        f"{folder}/wikitext-2-raw-v1-validation-{WIKITEXT_COMMIT}.txt",
    )


def test_a_branch_is_looked_up_each_time_and_serves_when_the_hub_is_gone(hub, tmp_path, monkeypatch):
    first = fetch("ud:fr_gsd@main", cache_dir=tmp_path)
    assert first.name == f"fr_gsd-dev-{COMMIT}.conllu"
    hub.revisions["main"] = MOVED
    second = fetch("ud:fr_gsd@main", cache_dir=tmp_path)
    assert second.name == f"fr_gsd-dev-{MOVED}.conllu"
    point_at("http://127.0.0.1:9", monkeypatch)
    assert fetch("ud:fr_gsd@main", cache_dir=tmp_path) == second
    assert first.exists()


def test_a_repository_that_moved_is_followed(hub, tmp_path):
    hub.datasets["new/place"] = hub.datasets.pop(UD)
    hub.renamed[UD] = "new/place"
    assert fetch("ud:fr_gsd", cache_dir=tmp_path).read_text(encoding="utf-8") == FRENCH + "\n" + SHORT + "\n"
    assert any(path.startswith("/datasets/new/place/resolve") for path in hub.seen)


# Interrupted downloads


def test_a_cut_download_goes_on_where_it_stopped(hub, tmp_path):
    hub.cuts = [100, 50]
    assert fetch("ud:fr_gsd", cache_dir=tmp_path).read_text(encoding="utf-8").startswith(FRENCH)
    assert hub.ranges == [None, "bytes=100-", "bytes=150-"]


def test_a_server_that_knows_no_ranges_sends_all_again(hub, tmp_path):
    hub.cuts, hub.whole = [100], True
    assert fetch("ud:fr_gsd", cache_dir=tmp_path).read_text(encoding="utf-8").startswith(FRENCH)
    assert hub.ranges == [None, "bytes=100-"]


def test_a_refused_range_starts_from_the_beginning(hub, tmp_path):
    hub.cuts, hub.no_ranges = [100], True
    assert fetch("ud:fr_gsd", cache_dir=tmp_path).read_text(encoding="utf-8").startswith(FRENCH)
    assert hub.ranges == [None, "bytes=100-", None]


def test_a_range_refused_twice_is_told(hub, tmp_path):
    hub.cuts, hub.no_ranges = [100, 100], True
    assert refused("ud:fr_gsd", tmp_path) == "the download of ud:fr_gsd broke off; run the same command again"
    assert kept(tmp_path) == []


def test_a_download_that_never_ends_is_told_and_can_be_repeated(hub, tmp_path):
    hub.cuts = [100] + [0] * 6
    assert refused("ud:fr_gsd", tmp_path) == "the download of ud:fr_gsd broke off; run the same command again"
    assert kept(tmp_path) == []
    hub.cuts = []
    assert fetch("ud:fr_gsd", cache_dir=tmp_path).exists()


def test_another_size_than_announced(hub, tmp_path):
    hub.swapped = path_of(hub, "fr_gsd/dev").read_bytes()[:-1]
    assert refused("ud:fr_gsd", tmp_path) == (
        "ud:fr_gsd came with another size than the hub announced; nothing was kept: run the same command again"
    )
    assert kept(tmp_path) == []


def test_another_content_than_announced_is_removed(hub, tmp_path):
    sent = path_of(hub, "fr_gsd/dev").read_bytes()
    hub.swapped = sent[:-9] + b"damaged" + sent[-2:]
    found, announced = hashlib.sha256(hub.swapped).hexdigest(), hashlib.sha256(sent).hexdigest()
    assert refused("ud:fr_gsd", tmp_path) == (
        f"ud:fr_gsd came damaged: its SHA-256 is {found[:12]}..., the hub announced {announced[:12]}...; it was "
        "removed: run the same command again"
    )
    assert kept(tmp_path) == []
    hub.swapped = None
    assert fetch("ud:fr_gsd", cache_dir=tmp_path).exists()


# Refusals by the hub


def test_an_unknown_treebank_names_those_near_it(hub, tmp_path):
    assert refused("ud:fr_gdt", tmp_path) == (
        f"the hub has no treebank ud:fr_gdt; near it: ud:fr_gsd, ud:fr_pud (of 4); {LOOK}"
    )


@pytest.mark.parametrize(("name", "lists"), [("ud:fr_gdt", False), ("ud:xyz_qqqqqq", True)])
def test_an_unknown_treebank_without_any_near_it(hub, tmp_path, name, lists):
    hub.lists = lists
    assert refused(name, tmp_path) == (f"the hub has no treebank {name}; {LOOK}")


def test_a_treebank_without_that_split_names_its_own(hub, tmp_path):
    assert refused("ud:fr_pud", tmp_path) == "ud:fr_pud has no dev split; it has test: write ud:fr_pud/test"
    assert refused("ud:fr_sequoia/train", tmp_path) == (
        "ud:fr_sequoia has no train split; it has dev: write ud:fr_sequoia/dev"
    )


def test_no_such_file_revision_or_repository(hub, tmp_path):
    assert refused("wikitext/train@main", tmp_path) == (
        "the hub's Salesforce/wikitext has no wikitext-2-raw-v1/train-00000-of-00001.parquet at revision main; leave "
        "out the revision"
    )
    assert refused("ud:fr_gsd@v9", tmp_path) == (
        f"the hub has {UD} but no revision v9; look up its branches, tags and commits"
    )
    del hub.revisions[UD_COMMIT]
    assert refused("ud:fr_gsd", tmp_path) == (
        f"the hub's {UD} no longer has the commit 6b8168e1a6c0 that headscope asks for; name another, as ud:fr_gsd@main"
    )
    del hub.datasets[UD]
    gone = f"the hub shows no dataset {UD}; it may have moved: update headscope, or give a local file"
    assert refused("ud:fr_gsd", tmp_path) == gone
    hub.refused[UD] = (404, "RepoNotFound")
    assert refused("ud:fr_gsd", tmp_path) == gone


@pytest.mark.parametrize("answer", [(401, "GatedRepo"), (403, "GatedRepo"), (403, None)])
def test_terms_that_were_not_accepted(hub, tmp_path, answer):
    hub.refused[WIKITEXT] = answer
    assert refused("wikitext", tmp_path) == (
        f"{WIKITEXT} asks for permission: accept its terms on its hub page and run `hf auth login`, or give a local "
        "file"
    )


# No hub at all


def test_a_hub_that_is_down_or_out_of_reach(hub, tmp_path, monkeypatch):
    sentence = (
        "the hub cannot be reached, and ud:fr_gsd was not fetched before; go online once to fetch it, or give a local "
        "file"
    )
    hub.refused[UD] = (503, None)
    assert refused("ud:fr_gsd", tmp_path) == sentence
    point_at("http://127.0.0.1:9", monkeypatch)  # connection refused
    assert refused("ud:fr_gsd", tmp_path) == sentence


def test_environment_variables_are_obeyed(hub, tmp_path):
    """In a new process, the hub's address, cache and offline mode come from environment variables."""

    def run(name, **more):
        code = (
            "import sys\nfrom headscope.corpora.by_name import resolve\nfrom headscope.errors import InputError\n"
            "try:\n    print(*resolve(sys.argv[1:]))\nexcept InputError as error:\n    print(error)\n"
        )
        own = {"HF_ENDPOINT": hub.address, "HF_HOME": str(tmp_path), "HF_HUB_OFFLINE": "0", "HF_HUB_DISABLE_XET": "1"}
        done = subprocess.run(
            [sys.executable, "-c", code, name], capture_output=True, text=True, env={**os.environ, **own, **more}
        )
        assert done.returncode == 0, done.stderr
        return done.stdout.strip()

    path = str(tmp_path / f"assets/headscope/corpora-1/fr_gsd-dev-{UD_COMMIT}.conllu")
    assert run("ud:fr_gsd") == path
    assert (tmp_path / "hub").is_dir()
    assert run("ud:fr_gsd", HF_HUB_OFFLINE="1") == path
    assert run("wikitext", HF_HUB_OFFLINE="1") == (
        "HF_HUB_OFFLINE is set, and wikitext was not fetched before; unset it once to fetch it, or give a local file"
    )


def test_what_is_not_about_the_hub_is_left_alone(hub, tmp_path, monkeypatch):
    full = OSError(errno.ENOSPC, "No space left on device")
    assert trouble_of(full) is None
    assert trouble_of(PermissionError(errno.EACCES, "Permission denied")) is None

    def fail(*_):
        raise full

    monkeypatch.setattr(os, "replace", fail)
    with pytest.raises(OSError, match="No space left on device"):
        fetch("ud:fr_gsd", cache_dir=tmp_path)
    assert not (tmp_path / "assets/headscope/corpora-1").exists()


# From Parquet to plain files


def test_earlier_exports_number_the_tags_and_write_heads_as_text(tmp_path):
    row = {"idx": "7", "text": "Oh no", "tokens": ["Oh", "no"], "upos": [15, 7], "head": ["2", "0"],
           "deprel": ["discourse", "root"], "feats": ["None", ""]}  # fmt: skip
    save(tmp_path / "old.parquet", [row])
    parquet_corpora.parquet_to_conllu(tmp_path / "old.parquet", tmp_path / "out.conllu", name="ud:en_x")
    assert (tmp_path / "out.conllu").read_text() == (
        "# sent_id = 7\n# text = Oh no\n1\tOh\t_\tINTJ\t_\tNone\t2\tdiscourse\t_\t_\n"
        "2\tno\t_\tPART\t_\t_\t0\troot\t_\t_\n\n"
    )


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"head": [0]}, "zip() argument 6 is shorter than arguments 1-5"),
        ({"tokens": []}, "zip() argument 2 is longer than argument 1"),
        ({"lemmas": ["a\tb", "!"]}, "a tab inside a field"),
        ({"misc": ["a\nb", "!"]}, "a line end inside a field"),
        ({"comments": ["a\n1\tb"]}, "a line end inside a field"),
        ({"mwt": [{"id": "1", "form": "x"}]}, "not enough values to unpack (expected 2, got 1)"),
        ({"empty_nodes": [{"id": "1-2"}]}, "invalid literal for int() with base 10: '1-2'"),
    ],
)  # fmt: skip
def test_rows_that_conllu_cannot_hold(tmp_path, change, sentence):
    save(tmp_path / "bad.parquet", [ROWS[1], {**ROWS[1], **change}])
    with pytest.raises(InputError) as error:
        parquet_corpora.parquet_to_conllu(tmp_path / "bad.parquet", tmp_path / "out.conllu", name="ud:fr_x")
    assert str(error.value) == f"ud:fr_x, row 2 is not a sentence that CoNLL-U can hold ({sentence}); {BROKEN}"
    assert [p.name for p in tmp_path.iterdir()] == ["bad.parquet"]


@pytest.mark.parametrize("broken", ["page", "short", "packed"])
def test_files_that_are_no_whole_parquet(broken, tmp_path):
    path = tmp_path / "broken.parquet"
    save(path, [{"text": f"Line {n} of many ."} for n in range(999)])
    whole = path.read_bytes()
    contents = {
        "page": b"<html>",
        "short": whole[:-9],
        "packed": whole[:60] + bytes(40) + whole[100:],  # the first column's compressed bytes
    }
    path.write_bytes(contents[broken])
    with pytest.raises(InputError) as error:
        parquet_corpora.parquet_to_text(path, tmp_path / "out.txt", name="wikitext")
    assert str(error.value) == f"wikitext: what was fetched is not a whole Parquet file; {BROKEN}"
    assert [p.name for p in tmp_path.iterdir()] == ["broken.parquet"]


def test_files_with_other_columns(tmp_path):
    save(tmp_path / "other.parquet", [{"tokens": ["a"], "label": 1}])
    with pytest.raises(InputError) as error:
        parquet_corpora.parquet_to_conllu(tmp_path / "other.parquet", tmp_path / "out.conllu", name="ud:en_x")
    assert str(error.value) == (
        "ud:en_x: expected the columns tokens, head, deprel, found tokens, label (no head, deprel); try another "
        "@revision, or give a local file"
    )


def row_of(block):
    """Return a sentence of a CoNLL-U file as the hub's row, by a plain loop."""
    row = {"comments": [], "mwt": [], "empty_nodes": [], "sent_id": None, "text": None}
    names = ("tokens", "lemmas", "upos", "xpos", "feats", "head", "deprel", "deps", "misc")
    row |= {name: [] for name in names}
    for line in block.split("\n"):
        if line.startswith("# "):
            key, _, value = line[2:].partition(" = ")
            if key in ("sent_id", "text"):
                row[key] = value
                row["comments"].append("__SENT_ID__" if key == "sent_id" else "__TEXT__")
            else:
                row["comments"].append(line[2:])
            continue
        fields = line.split("\t")
        optional = [None if field == "_" else field for field in fields]
        if "-" in fields[0]:
            row["mwt"].append({"id": fields[0], "form": fields[1], "feats": optional[5], "misc": optional[9]})
        elif "." in fields[0]:
            keys = ("id", "form", "lemma", "upos", "xpos", "feats", "head", "deprel", "deps", "misc")
            row["empty_nodes"].append({**dict(zip(keys, fields)), "feats": optional[5], "head": None})
        else:
            values = [*fields[1:4], *optional[4:6], int(fields[6]), fields[7], *optional[8:]]
            for name, value in zip(names, values):
                row[name].append(value)
    return row


@pytest.mark.parametrize("name", ["ud-english-ewt/en_ewt-ud-dev.conllu", "ud-french-gsd/fr_gsd-ud-dev.conllu"])
def test_a_real_treebank_comes_back_byte_for_byte(name, tmp_path):
    text = data(name).read_text(encoding="utf-8")
    blocks = text.strip("\n").split("\n\n")
    save(tmp_path / "dev.parquet", [row_of(block) for block in blocks])
    parquet_corpora.parquet_to_conllu(tmp_path / "dev.parquet", tmp_path / "dev.conllu", name="ud:x_y")
    assert (tmp_path / "dev.conllu").read_text(encoding="utf-8") == text


@pytest.mark.parametrize(("name", "formulas"), [("valid", 0), ("test", 2)])
def test_real_wikitext_has_its_sixty_articles(name, formulas, tmp_path):
    """Each split has sixty articles by its authors' count; the test file has two formulas that resemble titles."""
    lines = data(f"wikitext-2/{name}.txt").read_text(encoding="utf-8").split("\n")
    save(tmp_path / "x.parquet", [{"text": f"{line}\n" if line.strip() else ""} for line in lines])
    parquet_corpora.parquet_to_text(tmp_path / "x.parquet", tmp_path / "x.txt", name="wikitext")
    documents = list(read_corpus(tmp_path / "x.txt"))
    assert len(documents) == 60
    paragraphs = [line for line in lines if line.strip() and not (line[:3] == " = " and line[-3:] == " = ")]
    assert sum(len(document.lines) for document in documents) == len(paragraphs) + formulas
    assert not re.search(r" @[-,.]@ ", (tmp_path / "x.txt").read_text(encoding="utf-8"))
