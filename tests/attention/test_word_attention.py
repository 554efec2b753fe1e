"""Word-level attention: hand-made maps, a plain loop, and real tokenizers of two kinds."""

import re

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from tokenizers import Tokenizer, decoders, models, normalizers, pre_tokenizers, processors, trainers
from transformers import PreTrainedTokenizerFast

from headscope.attention.word_attention import POOLINGS, between_words, word_axis, word_level
from headscope.encoding.encoder import Encoder

# [CLS] play ##ing chess [SEP]
WORD_IDS = torch.tensor([[-1, 0, 0, 1, -1]])
WEIGHTS = torch.tensor(
    [
        [0.1, 0.2, 0.3, 0.4, 0.0],
        [0.5, 0.1, 0.1, 0.1, 0.2],
        [0.1, 0.3, 0.3, 0.3, 0.0],
        [0.0, 0.0, 1.0, 0.0, 0.0],
        [0.2, 0.2, 0.2, 0.2, 0.2],
    ]
)[None, None]
HAND = {  # the row of the word that was cut; the others are the same each time
    "mean": [0.3, 0.4, 0.2, 0.1],
    "first": [0.5, 0.2, 0.1, 0.2],
    "max": [0.5 / 1.6, 0.6 / 1.6, 0.3 / 1.6, 0.2 / 1.6],
}


@pytest.mark.parametrize("pooling", POOLINGS)
def test_a_map_worked_by_hand(pooling):
    result = word_level(WEIGHTS, WORD_IDS, pooling=pooling)
    expected = torch.tensor([[0.1, 0.5, 0.4, 0.0], HAND[pooling], [0.0, 1.0, 0.0, 0.0], [0.2, 0.4, 0.2, 0.2]])
    torch.testing.assert_close(result.weights[0, 0], expected)
    assert result.queries.words.tolist() == [[-1, 0, 1, -1]]
    assert result.queries.places.tolist() == [[0, 1, 1, 2, 3]]
    assert result.queries.leaders.tolist() == [[0, 1, 3, 4]]


def test_the_input_is_not_changed():
    before = WEIGHTS.clone()
    for pooling in POOLINGS:
        word_level(WEIGHTS, WORD_IDS, pooling=pooling)
    assert torch.equal(WEIGHTS, before)


def test_an_unknown_way_of_joining_pieces():
    with pytest.raises(ValueError, match=r"^pooling 'sum' is not known; choose one of mean, first, max$"):
        word_level(WEIGHTS, WORD_IDS, pooling="sum")


def plain_loop(weights, word_ids, pooling):
    """One head's map, word by word: the definition written out."""
    groups, seen = [], {}
    for place, word in enumerate(word_ids):
        if word == -1 or word not in seen:
            seen[word] = len(groups)
            groups.append([place])
        else:
            groups[seen[word]].append(place)
    out = np.zeros((len(groups), len(groups)))
    for q, query_pieces in enumerate(groups):
        rows = []
        for piece in query_pieces:
            rows.append([sum(weights[piece][key] for key in key_pieces) for key_pieces in groups])
        if pooling == "first":
            out[q] = rows[0]
        elif pooling == "mean":
            out[q] = [sum(column) / len(rows) for column in zip(*rows)]
        else:
            best = [max(column) for column in zip(*rows)]
            out[q] = [value / sum(best) for value in best]
    return out, [word_ids[group[0]] for group in groups]


@st.composite
def segments(draw):
    """Word ids in the order of text: words of 1-4 pieces, some numbers left out (dropped words), specials."""
    word_ids, word = [], -1
    for _ in range(draw(st.integers(1, 6))):
        if draw(st.booleans()):
            word_ids.append(-1)
        word += draw(st.integers(1, 3))
        word_ids += [word] * draw(st.integers(1, 4))
    seed = draw(st.integers(0, 2**32 - 1))
    weights = np.random.default_rng(seed).dirichlet(np.full(len(word_ids), 0.3), size=(2, len(word_ids)))
    return word_ids, weights


@settings(max_examples=60)
@given(st.lists(segments(), min_size=1, max_size=4), st.sampled_from(POOLINGS), st.booleans())
def test_batches_agree_with_the_plain_loop(batch, pooling, left):
    width = max(len(ids) for ids, _ in batch) + 1
    word_ids = torch.full((len(batch), width), -1)
    valid = torch.zeros(len(batch), width, dtype=torch.bool)
    weights = torch.full((len(batch), 2, width, width), torch.nan, dtype=torch.float64)
    for item, (ids, own) in enumerate(batch):
        at = slice(width - len(ids), width) if left else slice(0, len(ids))
        word_ids[item, at] = torch.tensor(ids)
        valid[item, at] = True
        weights[item, :, at] = 0  # rows of tokens give padding nothing; rows of padding may hold anything
        weights[item, :, at, at] = torch.from_numpy(own)
    result = word_level(weights, word_ids, valid=valid, pooling=pooling)
    for item, (ids, own) in enumerate(batch):
        n = int(result.queries.valid[item].sum())
        for head in range(2):
            expected, words = plain_loop(own[head], ids, pooling)
            assert result.queries.words[item, :n].tolist() == words
            np.testing.assert_allclose(result.weights[item, head, :n, :n], expected, atol=1e-12)
        assert not result.weights[item, :, n:].any()
        assert not result.weights[item, :, :, n:].any()
        np.testing.assert_allclose(result.weights[item, :, :n].sum(-1), 1, atol=1e-12)


def test_rows_of_a_tile_and_keys_of_another_text():
    # Rows 1-3 of the map above (no word is cut), and keys that are three words of another text.
    tile = word_level(WEIGHTS[:, :, 1:4], WORD_IDS[:, 1:4], key_word_ids=WORD_IDS)
    whole = word_level(WEIGHTS, WORD_IDS)
    torch.testing.assert_close(tile.weights, whole.weights[:, :, 1:3])
    cross = word_level(WEIGHTS[..., :4], WORD_IDS, key_word_ids=torch.tensor([[0, 1, 1, 2]]))
    assert cross.weights.shape == (1, 1, 4, 3)
    torch.testing.assert_close(cross.weights[0, 0, 1], torch.tensor([0.3, 0.4, 0.2]))
    assert cross.keys.words.tolist() == [[0, 1, 2]]


def test_half_precision_is_summed_in_float32():
    result = word_level(WEIGHTS.to(torch.float16), WORD_IDS)
    assert result.weights.dtype == torch.float32
    torch.testing.assert_close(result.weights.sum(-1), torch.ones(1, 1, 4), atol=1e-3, rtol=0)


def test_an_empty_axis_has_no_place():
    axis = word_axis(torch.full((2, 3), -1), torch.zeros(2, 3, dtype=torch.bool))
    assert axis.words.shape == (2, 0)
    assert axis.places.tolist() == [[-1] * 3] * 2


@pytest.mark.parametrize("pooling", POOLINGS)
@pytest.mark.parametrize("left", [False, True])
def test_sentences_batched_are_the_sentences_alone(pooling, left):
    """Exactly: the same sums in the same order, whatever stands beside a sentence, and no NaN of padding."""
    rng = np.random.default_rng(3)
    texts = [[-1, 0, 1, 1, 1, 3, -1], [-1, -1], [0], [-1, 0, 0, 2, -1, 3, 3, 5, -1, -1], [-1, 4, 4, -1]]
    width = 12
    word_ids = torch.full((len(texts), width), -1)
    valid = torch.zeros(len(texts), width, dtype=torch.bool)
    weights = torch.full((len(texts), 3, width, width), torch.nan)
    alone = []
    for item, ids in enumerate(texts):
        own = torch.from_numpy(rng.dirichlet(np.full(len(ids), 0.4), size=(3, len(ids)))).float()
        at = slice(width - len(ids), width) if left else slice(0, len(ids))
        word_ids[item, at], valid[item, at] = torch.tensor(ids), True
        weights[item, :, at], weights[item, :, at, at] = 0, own
        alone.append(word_level(own[None], torch.tensor([ids]), pooling=pooling))
    together = word_level(weights, word_ids, valid=valid, pooling=pooling)
    assert torch.isfinite(together.weights).all()
    for item, single in enumerate(alone):
        n = single.queries.words.shape[1]
        assert together.queries.words[item, :n].equal(single.queries.words[0])
        assert together.queries.valid[item].sum() == n
        torch.testing.assert_close(together.weights[item, :, :n, :n], single.weights[0], atol=5e-7, rtol=0)
        assert not together.weights[item, :, n:].any()
        assert not together.weights[item, :, :, n:].any()


def test_one_axis_serves_all_layers_and_leaves_them_as_they_are():
    axis = word_axis(WORD_IDS, torch.ones_like(WORD_IDS, dtype=torch.bool))
    for layer in range(3):
        weights = WEIGHTS.roll(layer, dims=3)
        before = weights.clone()
        for pooling in POOLINGS:
            found = between_words(weights, axis, axis, pooling=pooling)
            torch.testing.assert_close(found, word_level(weights, WORD_IDS, pooling=pooling).weights)
        assert torch.equal(weights, before)
    assert [part.tolist() for part in axis.cut] == [[1], [2]]
    assert axis.unfilled.tolist() == []
    assert [part.tolist() for part in axis.followers] == [[0], [2], [1]]
    assert axis.members[0].T.tolist() == [[1, 0, 0, 0, 0], [0, 1, 1, 0, 0], [0, 0, 0, 1, 0], [0, 0, 0, 0, 1]]


TEXT = ["the play was playing and players played chess in New York for 1 000 people , 2 000 more"] * 20


def byte_level() -> PreTrainedTokenizerFast:
    """GPT-2's kind: a space belongs to the piece after it, any byte is a piece."""
    backend = Tokenizer(models.BPE())
    backend.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    backend.decoder = decoders.ByteLevel()
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    special = ["<s>", "</s>", "<pad>"]
    backend.train_from_iterator(
        TEXT,
        trainers.BpeTrainer(vocab_size=330, initial_alphabet=alphabet, special_tokens=special, show_progress=False),
    )
    backend.post_processor = processors.TemplateProcessing(
        single="<s> $A </s>", special_tokens=[("<s>", 0), ("</s>", 1)]
    )
    return PreTrainedTokenizerFast(
        tokenizer_object=backend,
        bos_token="<s>",
        eos_token="</s>",
        cls_token="<s>",
        sep_token="</s>",
        pad_token="<pad>",
    )


def sentence_piece() -> PreTrainedTokenizerFast:
    """SentencePiece's kind: a mark before each word; unknown characters have a piece, control characters none."""
    backend = Tokenizer(models.Unigram())
    # XLM-R's normalizer, near enough: control characters and zero-width spaces go.
    backend.normalizer = normalizers.Sequence(
        [normalizers.Replace("\u200b", ""), normalizers.Replace("\x07", ""), normalizers.NFKC()]
    )
    backend.pre_tokenizer = pre_tokenizers.Metaspace()
    backend.decoder = decoders.Metaspace()
    backend.train_from_iterator(
        TEXT,
        trainers.UnigramTrainer(
            vocab_size=60, unk_token="<unk>", special_tokens=["<s>", "</s>", "<unk>", "<pad>"], show_progress=False
        ),
    )
    backend.post_processor = processors.TemplateProcessing(
        single="<s> $A </s>", special_tokens=[("<s>", 0), ("</s>", 1)]
    )
    return PreTrainedTokenizerFast(
        tokenizer_object=backend,
        bos_token="<s>",
        eos_token="</s>",
        cls_token="<s>",
        sep_token="</s>",
        unk_token="<unk>",
        pad_token="<pad>",
    )


@pytest.mark.parametrize("make", [byte_level, sentence_piece])
@pytest.mark.parametrize(
    "words",
    [
        ("the", "players", "replayed", "chess"),
        ("1 000", "people", "in", "New York"),  # words that hold a space, as French treebanks write numbers
        ("chess", "🙂", "日本", "played", "🏳️‍🌈"),
        ("Zürich", "naïve", "'s", ",", "..."),
    ],
)
def test_every_word_has_one_row(make, words):
    encoder = Encoder(make())
    pieces, alignment = encoder.piece_words(words)
    segment = encoder.segment(pieces, document="d", index=0, alignment=alignment, words=words)
    assert len(segment) > len(words) + 2  # some word is cut, or this shows nothing
    word_ids = torch.from_numpy(segment.word_ids)[None]
    weights = torch.rand(1, 2, len(segment), len(segment)).softmax(-1)
    result = word_level(weights, word_ids)
    assert result.queries.words.tolist() == [[-1, *range(len(words)), -1]]
    torch.testing.assert_close(result.weights.sum(-1), torch.ones(1, 2, len(words) + 2))
    # Each row's pieces spell its word.
    for word, text in enumerate(words):
        own = segment.ids[segment.word_ids == word]
        spelt = encoder.tokenizer.decode(own).replace(" ", "")
        assert re.fullmatch(re.escape(spelt).replace("<unk>", ".+"), text.replace(" ", "")), (spelt, text)


def test_a_word_without_pieces_has_no_row():
    words = ("the", "\u200b", "play", "\x07")
    encoder = Encoder(sentence_piece())
    pieces, alignment = encoder.piece_words(words)
    assert alignment.dropped == (1, 3)
    segment = encoder.segment(pieces, document="d", index=0, alignment=alignment, words=words)
    result = word_level(
        torch.full((1, 1, len(segment), len(segment)), 1 / len(segment)), torch.from_numpy(segment.word_ids)[None]
    )
    assert [word for word in result.queries.words[0].tolist() if word >= 0] == [0, 2]


@pytest.mark.parametrize("pooling", ["mean", "first", "max"])
def test_what_a_sink_takes_of_a_row_is_not_given_to_words(pooling):
    rng = np.random.default_rng(4)
    weights = rng.dirichlet(np.ones(7), size=(2, 3, 6))[..., :6]  # the seventh part is the sink's
    word_ids = torch.tensor([[-1, 0, 0, 1, 2, 2], [-1, 0, 1, 1, 1, 2]])
    found = word_level(torch.from_numpy(weights), word_ids, pooling=pooling)
    for item, words in enumerate(word_ids.tolist()):
        groups = [[0], *([place for place, word in enumerate(words) if word == each] for each in range(3))]
        for place, members in enumerate(groups):
            sums = weights[item][:, members].sum(-1)
            left = sums[:, 0] if pooling == "first" else sums.mean(1)
            np.testing.assert_allclose(found.weights[item, :, place].sum(-1), left, atol=1e-12)
