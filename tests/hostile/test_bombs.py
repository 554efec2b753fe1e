"""Small files that expand: tokenizers that double a text, compressed tables, and endless rows."""

import json
import threading

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tokenizers import Tokenizer

from headscope.corpora.annotation import AnnotatedDocument, AnnotatedSentence
from headscope.corpora.document import Document
from headscope.corpora.reading import read_corpus
from headscope.encoding import encoder, max_inputs
from headscope.encoding.encoder import Encoder
from headscope.encoding.line_packing import Packer
from headscope.encoding.max_inputs import read_enough
from headscope.encoding.sentence_packing import SentencePacker
from headscope.encoding.tokenizer import bounds
from headscope.encoding.tokenizer.pieces import FastBackend
from headscope.errors import InputError, ModelError
from headscope.models.load_model import load_model, load_tokenizer
from headscope.scans.declarations.run_options import RunOptions
from headscope.scans.prepare.prepared_run import prepare_model_run
from headscope.scans.prepare.text_corpus import TextCorpus
from support.commands import run_command
from support.hostile import printable
from support.hostile_model_folders import copied
from support.slow_tokenizers import word_piece
from support.special_files import guarded
from support.tiny_tokenizers import tiny_tokenizer

AGAIN = "use the tokenizer that the model was trained with, as save_pretrained writes it"
DOUBLES = {"type": "Replace", "pattern": {"Regex": "z"}, "content": "zz"}
NO_MORE = {"type": "Replace", "pattern": {"Regex": "(a+)+$"}, "content": ""}


def model_with(folder, **parts):
    """Return a whole model folder with other parts in its tokenizer."""

    def change(made):
        path = made / "tokenizer.json"
        path.write_text(json.dumps({**json.loads(path.read_text()), **parts}))

    return copied(folder, change)


def sequence(kind, steps):
    return {"type": "Sequence", kind: steps}


def refused(action, *given):
    with guarded(), pytest.raises(ModelError) as said:
        action(*given)
    assert printable(str(said.value))
    return str(said.value)


def test_normalizers_that_double_a_text(tmp_path):
    """The tokenizer loads, since none of its files grows; the text that grows is refused."""
    made = model_with(tmp_path, normalizer=sequence("normalizers", [DOUBLES] * 40))
    (tmp_path / "text.txt").write_text("the cat sat .\nz\n\nit slept .\n" * 10)
    given = ("--text", tmp_path / "text.txt", "--model", made, "--packing", "single", "-q")
    with guarded():
        code, _, err = run_command("stats", *given)
    says = f"the tokenizer's normalizer makes more than 1,048,576 letters of a text of 1; {AGAIN}"
    assert (code, err) == (2, f"headscope: {says}\n")


@pytest.mark.parametrize("letter", ["a", "b"])
def test_normalizers_that_double_what_is_read_when_a_tokenizer_is_loaded(letter, tmp_path):
    step = {"type": "Replace", "pattern": {"String": letter}, "content": 2 * letter}
    made = model_with(tmp_path, normalizer=sequence("normalizers", [step] * 40))
    says = f"the tokenizer's normalizer makes more than 1,048,576 letters of a text of 1; {AGAIN}"
    for load in (load_model, load_tokenizer):
        assert refused(load, made) == f"{made / 'tokenizer.json'}: {says}"


def test_normalizers_that_double_an_added_token(tmp_path):
    token = {"id": 5000, "content": "z", "normalized": True, "special": False}
    flags = dict.fromkeys(("single_word", "lstrip", "rstrip"), False)
    made = model_with(
        tmp_path,
        normalizer=sequence("normalizers", [sequence("normalizers", [DOUBLES] * 40)]),
        added_tokens=[{**token, **flags}],
    )
    assert "makes more than 1,048,576 letters of a text of 1; " in refused(load_tokenizer, made)


@pytest.mark.parametrize(
    ("part", "step", "inner", "says"),
    [
        ("pre_tokenizer", {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True}, "pretokenizers",
         f"the tokenizer writes texts as bytes 40 times over (ByteLevel); expected once: {AGAIN}"),
        ("decoder", DOUBLES, "decoders", f"the tokenizer's decoder may make over 1,000 letters of one; {AGAIN}"),
    ],
)  # fmt: skip
def test_other_parts_that_double_a_text(part, step, inner, says, tmp_path):
    made = model_with(tmp_path, **{part: sequence(inner, [step] * 40)})
    assert refused(load_tokenizer, made) == f"{made / 'tokenizer.json'}: {says}"


@pytest.mark.parametrize("part", ["normalizer", "pre_tokenizer"])
def test_a_pattern_that_gives_up_on_a_text(part, tmp_path):
    """Oniguruma's retry limit causes a panic in Rust, which once ended in a traceback."""
    split = {"type": "Split", "pattern": NO_MORE["pattern"], "behavior": "Isolated", "invert": False}
    step = NO_MORE if part == "normalizer" else split
    made = model_with(tmp_path, **{part: step})
    (tmp_path / "text.txt").write_text("a" * 40 + "c\n")
    code, _, err = run_command("stats", "--text", tmp_path / "text.txt", "--model", made, "-q")
    why = "Onig: Regex search error: retry-limit-in-match over"
    assert (code, err) == (2, f"headscope: the tokenizer gave up on a text of 41 letters ({why}); {AGAIN}\n")


def test_a_template_whose_special_token_is_not_defined(tmp_path):
    """Loading tokenized a pair but no single text, which then ended in a panic in Rust."""

    def change(made):
        path = made / "tokenizer.json"
        definition = json.loads(path.read_text())
        definition["post_processor"]["single"][0]["SpecialToken"]["id"] = "[UNDEFINED]"
        path.write_text(json.dumps(definition))

    made = copied(tmp_path, change)
    for load in (load_model, load_tokenizer):
        assert refused(load, made) == (
            f"{made} could not be loaded, for its tokenizer is not as it should be; expected what save_pretrained "
            "writes: save model and tokenizer again into one folder"
        )


def test_a_tokenizer_that_takes_for_ever(monkeypatch):
    monkeypatch.setattr(bounds, "SECONDS", 0.05)
    ends = threading.Event()
    says = f"the tokenizer did not cut a text of 7 letters within 0 seconds; {AGAIN}"
    assert refused(lambda: bounds.within_time(ends.wait, letters=7)) == says
    ends.set()
    assert bounds.within_time(lambda: "pieces", letters=7) == "pieces"
    with pytest.raises(ValueError, match="as it is"):
        bounds.within_time(lambda: int("as it is"), letters=7)


WORD_PIECES = {"[UNK]": 0, "[CLS]": 1, "[SEP]": 2, "[PAD]": 3, "[MASK]": 4, "a": 5, "##a": 6}


def slow_over_long_words(folder):
    """Return a tokenizer without a word-length limit, which tries every substring of a word."""
    model = {"type": "WordPiece", "unk_token": "[UNK]", "continuing_subword_prefix": "##"}
    return model_with(folder, model={**model, "max_input_chars_per_word": 1 << 30, "vocab": WORD_PIECES})


@pytest.mark.parametrize("kind", ["fast", "in Python"])
def test_a_long_word_that_takes_for_ever(kind, tmp_path, monkeypatch):
    """The file has no pattern, but tokenizing 3,000 letters takes seconds, and a million a year."""
    if kind == "fast":
        tokenizer, _ = load_tokenizer(slow_over_long_words(tmp_path))
    else:
        tokenizer = word_piece(tmp_path, list(WORD_PIECES))
        tokenizer.wordpiece_tokenizer.max_input_chars_per_word = 1 << 30
    encoder = Encoder(tokenizer)
    monkeypatch.setattr(bounds, "SECONDS", 0.05)
    monkeypatch.setattr(bounds, "LETTERS_A_SECOND", 1 << 30)
    says = f"the tokenizer did not cut a text of 3,000 letters within 0 seconds; {AGAIN}"
    assert refused(encoder.pieces, ["a" * 3000]) == says
    assert len(encoder.pieces(["aaa"])[0].ids) == 3


def test_many_steps_over_a_short_text_are_watched():
    """Each step is quick without a pattern, but a million of them are not."""
    split = {"type": "Split", "pattern": {"String": "z"}, "behavior": "Isolated", "invert": False}
    for number, slow in ((bounds.MOST_STEPS, False), (bounds.MOST_STEPS + 1, True)):
        assert bounds.may_be_slow({"pre_tokenizer": sequence("pretokenizers", [split] * number)}) is slow
        assert bounds.may_be_slow({"normalizer": sequence("normalizers", [{"type": "NFC"}] * number)}) is slow


def test_a_long_text_has_more_time():
    assert bounds._seconds(10) == bounds.SECONDS
    assert bounds._seconds(16 << 20) == (16 << 20) / bounds.LETTERS_A_SECOND > bounds.SECONDS


# --- valid inputs are accepted


UMLAUTS = [{"type": "Replace", "pattern": {"String": letter}, "content": letter + "e"} for letter in "abcdefghijklmnop"]


@pytest.mark.parametrize(
    "steps",
    [
        [],
        [{"type": "NFKC"}],
        [DOUBLES] * 40,
        UMLAUTS,
        [{"type": "ByteLevel"}] * 2,
        [{"type": "Prepend", "prepend": "▁"}],
    ],
)
def test_a_text_that_does_not_grow_is_not_refused(steps):
    """The declared bound is 65,536 times the length in the worst case; this text at most doubles."""
    bounds.Normalizing({"normalizer": sequence("normalizers", steps)}).check("the cat sat , ﷺ \u00e9" * 100)


@pytest.mark.slow
def test_the_growth_of_a_step_is_never_more_than_is_said():
    """The step itself normalizes every Unicode character."""
    bert = dict.fromkeys(("clean_text", "handle_chinese_chars", "strip_accents", "lowercase"), True)
    for kind in bounds._GROWTH:
        step = {"type": kind, **(bert if kind == "BertNormalizer" else {})}
        normalizer = bounds._normalizer(step)
        characters = [chr(c) for c in (*range(0xD800), *range(0xE000, 0x30000))]
        assert max(len(normalizer.normalize_str(each)) for each in characters) <= bounds._growth(step), kind


def test_the_growth_of_a_table_of_sentencepiece():
    """A hand-made table: a trie of 4 bytes, then two texts, the longer with 18 letters in more bytes."""
    import base64

    table = (4).to_bytes(4, "little") + bytes(4) + "é".encode() * 18 + b"\0ab\0"
    step = {"type": "Precompiled", "precompiled_charsmap": base64.b64encode(table).decode()}
    assert bounds._growth(step) == 18


def test_pieces_are_those_of_the_tokenizer_itself(tmp_path):
    """Another thread tokenizes if there are patterns; its result equals that of tokenizers."""
    split = {"type": "Split", "pattern": {"Regex": r"\s+"}, "behavior": "Removed", "invert": False}
    tokenizer, _ = load_tokenizer(model_with(tmp_path, pre_tokenizer=split))
    texts = ["the cat sat", "it slept", ""]
    expected = Tokenizer.from_str(tokenizer.backend_tokenizer.to_str()).encode_batch(texts, add_special_tokens=False)
    found = Encoder(tokenizer).pieces(texts)
    assert [each.ids for each in found] == [each.ids for each in expected]
    assert [each.offsets for each in found] == [each.offsets for each in expected]


# --- tables


def parquet(path, column, **how):
    pq.write_table(pa.table({"id": list(range(len(column))), "text": column}), path, compression="zstd", **how)
    return path


def refusal(path):
    with guarded(gigabytes=1), pytest.raises(InputError) as said:
        list(read_corpus(path, column="text"))
    return str(said.value)


@pytest.mark.slow
def test_a_cell_that_unpacks_to_100_megabytes(tmp_path):
    path = parquet(tmp_path / "my.parquet", ["a" * 100_000_000])
    assert path.stat().st_size < 10_000
    packed = pq.ParquetFile(path).metadata.row_group(0).column(1).total_compressed_size
    assert refusal(path) == (
        f"{path}: its column 'text' unpacks from {packed:,} bytes to 100,000,052; expected text, at most 100 times as "
        "much: make it again"
    )


def test_a_cell_longer_than_a_line_may_be(tmp_path):
    path = parquet(tmp_path / "my.parquet", ["short", "a" * (17 << 20)])
    says = "one of them is longer than 16 MiB; break it into shorter ones"
    assert refusal(path) == f"{path}, rows 1 to 2: {says}"


def test_one_long_cell_that_thousands_of_rows_name(tmp_path):
    """The column has 10 MB per row and 512 rows per batch; documents are still read one by one."""
    cells = pa.DictionaryArray.from_arrays(pa.array([0] * 2000, pa.int32()), pa.array(["a" * 10_000_000]))
    path = parquet(tmp_path / "my.parquet", cells, dictionary_pagesize_limit=1 << 30)
    with guarded(gigabytes=1):
        first = next(iter(read_corpus(path, column="text")))
    assert len(first.lines[0]) == 10_000_000


def test_a_table_is_read_as_before(tmp_path):
    texts = [f"Sentence {number % 7}." if number % 3 else None for number in range(2000)]
    found = list(read_corpus(parquet(tmp_path / "my.parquet", texts), column="text"))
    assert [each.lines[0] for each in found] == [text for text in texts if text]


def test_a_column_with_a_dot_in_its_name_is_looked_at_too(tmp_path):
    path = tmp_path / "my.parquet"
    pq.write_table(pa.table({"my.text": ["a" * 100_000_000]}), path, compression="zstd")
    with guarded(gigabytes=1), pytest.raises(InputError, match=r"its column 'my\.text' unpacks from"):
        list(read_corpus(path, column="my.text"))


# --- endless rows


def test_a_limit_reads_the_documents_that_it_needs(tmp_path, monkeypatch):
    """For 4 inputs a run reads the first 100,000 rows of millions; here, the first 1,000 of 3,000."""
    monkeypatch.setattr(max_inputs, "_READ_AT_LEAST", 1000)
    path = parquet(tmp_path / "my.parquet", pa.array(["a"]).take(pa.array([0] * 3000)))
    corpus = TextCorpus((str(path),), column="text", max_inputs=1)
    assert corpus.digest()[0] == 1000
    assert len(list(corpus.read())) == 1000


def test_what_is_enough_for_a_limit():
    enough = ((1, 100_000, 1 << 26), (1000, 1_000_000, 1 << 26), (10_000, 10**7, 655_360_000))
    for limit, documents, characters in enough:
        assert read_enough(documents, 0, limit=limit)
        assert read_enough(1, characters, limit=limit)
        assert not read_enough(documents - 1, characters - 1, limit=limit)
    assert not read_enough(1 << 60, 1 << 60, limit=None)


@pytest.mark.slow
def test_a_limit_stops_reading_one_long_cell_that_thousands_of_rows_name(tmp_path, monkeypatch):
    """A file of 1.6 kB holds 24 GB of text; here 10 inputs are drawn from the first 2 documents."""
    monkeypatch.setattr(max_inputs, "_CHARACTERS_AT_LEAST", 20_000_000)
    cells = pa.DictionaryArray.from_arrays(pa.array([0] * 2000, pa.int32()), pa.array(["the cat sat . " * 850_000]))
    path = parquet(tmp_path / "my.parquet", cells, dictionary_pagesize_limit=1 << 30)
    assert path.stat().st_size < 20_000
    given = ("--text", path, "--column", "text", "--model", copied(tmp_path), "--max-length", 32, "--max-inputs", 10)
    with guarded(gigabytes=2):
        code, out, err = run_command("stats", *given)
    assert code in (0, None), err
    assert "the inputs were drawn from the text's first 2 documents" in out + err
    with guarded(gigabytes=2):
        code, out, err = run_command("segments", *given, "--out", tmp_path / "out.json", "--packing", "single")
    assert code in (0, None), err


# --- long lines


PACKINGS = ("single", "joined", "paragraphs", "pretraining")


def inputs_of(tokenizer, *documents, packing, **more):
    packer = Packer(Encoder(tokenizer), packing=packing, max_length=16, **more)
    made = list(packer.pack(documents))
    return [(each.ids.tolist(), each.shortened, each.document, each.index) for each in made], packer.counts


@pytest.mark.parametrize("packing", PACKINGS)
def test_of_a_line_of_megabytes_only_the_letters_that_an_input_holds_are_tokenized(packing, monkeypatch):
    """A line of 5 MB once took 1.3 GB; 16,000 letters have more tokens than an input of 16."""
    tokenizer, lengths = tiny_tokenizer(), []
    cut = FastBackend.pieces

    def watched(backend, texts):
        lengths.append(sum(map(len, texts)))
        return cut(backend, texts)

    monkeypatch.setattr(FastBackend, "pieces", watched)
    line = "the cat sat on the mat . " * 200_000
    made, counts = inputs_of(tokenizer, Document(lines=(line, "it slept ."), id="0" * 16), packing=packing)
    assert max(lengths) < 17_000
    assert counts.truncated >= 1
    # Pre-training pairs keep a stretch from the middle of the read text.
    if packing != "pretraining":
        less = Document(lines=(line[: 1000 * 16], "it slept ."), id="0" * 16)
        assert made == inputs_of(tokenizer, less, packing=packing)[0]


def test_of_words_without_end_only_those_that_an_input_holds_are_tokenized(monkeypatch):
    tokenizer, words = tiny_tokenizer(), []
    aligned = Encoder.piece_words

    def watched(encoder, given, *more):
        words.append(len(given))
        return aligned(encoder, given, *more)

    monkeypatch.setattr(Encoder, "piece_words", watched)
    made, _ = inputs_of(tokenizer, Document(words=("cat",) * 1_000_000), packing="single")
    assert words == [5334]  # 16,000 letters
    assert made[0][:2] == (made[0][0], True)
    tree = AnnotatedSentence(words=("cat",) * 10_000, heads=tuple(range(10_000)), relations=("x",) * 10_000)
    packer = SentencePacker(Encoder(tokenizer), max_length=16)
    del words[:]
    assert list(packer.pack([AnnotatedDocument(id="a", sentences=(tree,))])) == []
    assert words == []
    assert packer.counts.skipped == {"sentence over the limit": 1}


@pytest.mark.parametrize("packing", PACKINGS)
def test_lines_that_are_tokenized_some_at_a_time_make_the_same_inputs(packing, monkeypatch):
    tokenizer, words = tiny_tokenizer(), ["the cat", "it slept .", "", "a dog ran away from the house !", "b"]
    lines = [tuple(filter(None, (words[n % 5] for n in range(number)))) for number in range(1, 9)]
    documents = [Document(lines=each, id=f"{number:016x}") for number, each in enumerate(lines)]
    expected = inputs_of(tokenizer, *documents, packing=packing)
    for letters in (1, 9, 20):
        monkeypatch.setattr(encoder, "_AT_ONCE", letters)
        assert inputs_of(tokenizer, *documents, packing=packing) == expected


def test_a_run_says_that_its_limit_left_documents_unread(tmp_path, monkeypatch):
    monkeypatch.setattr(max_inputs, "_READ_AT_LEAST", 20)
    monkeypatch.setattr(max_inputs, "_READ_FOR_EACH", 1)
    path = tmp_path / "text.txt"
    path.write_text("the cat sat\n\n" * 30)
    model = str(copied(tmp_path))
    for limit, notes in ((4, ["the inputs were drawn from the text's first 20 documents"]), (40, [])):
        options = RunOptions(model=model, text=(str(path),), packing="single", max_inputs=limit, max_length=32)
        run = prepare_model_run(options)
        assert run.corpora.documents == (20 if notes else 30)
        assert [note for note in run.facts()["notes"] if "drawn" in note] == notes


def test_a_run_says_that_documents_repeat_one_another(tmp_path):
    """A bootstrap over documents treats them as independent."""
    path, model = tmp_path / "text.txt", str(copied(tmp_path))
    for texts, notes in ((["the cat sat"] * 3 + ["the dog sat"], 1), (["the cat sat", "the dog sat"], 0)):
        path.write_text("".join(f"{text}\n\n" for text in texts))
        run = prepare_model_run(RunOptions(model=model, text=(str(path),), packing="single", max_length=32))
        list(run.batches(2))
        said = [note for note in run.facts()["notes"] if "intervals and tests count each as independent" in note]
        assert len(said) == notes
        assert not said or said[0].startswith("2 documents of the 4 of text.txt (50%) repeat the text of another")
