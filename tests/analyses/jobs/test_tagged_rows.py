"""Parts of speech as a feature of jobs: heads made by hand that nothing else tells apart, and a real treebank."""

from dataclasses import replace

import conllu
import numpy as np
import pytest

from headscope.analyses.jobs.active_rows import ActiveRowAccumulator
from headscope.analyses.jobs.features import FEATURES, TAGS_OF_KEYS, features, informative_features
from headscope.analyses.jobs.head_jobs import head_jobs
from headscope.analyses.jobs.measure import JobsMeasurement
from headscope.analyses.jobs.row_facts import TAG_NUMBERS, TAGGED
from headscope.analyses.jobs.tables import TREEBANK
from headscope.analyses.jobs.tagged_rows import TaggedRowAccumulator
from headscope.attention.scan import scan
from headscope.corpora.trees.universal_tags import TAGS, universal_tag
from headscope.declarations.run_options import RunOptions
from headscope.encoding.packing.tree_fields import tags_of_fields
from headscope.encoding.vocabulary import KeyClass
from headscope.errors import InputError
from headscope.prepare.prepared_run import prepare
from headscope.prepare.trees import trees_of
from headscope.scans.scan_runner import ScanRunner
from support.hand_made import WritingNoise
from support.inputs import made_up_segments, vocabulary
from support.shared_data import data


def tagged(number):
    """Long segments whose words are nouns, verbs (by Penn's tag) or something else, whatever stands there."""
    rng = np.random.default_rng(5)
    found = []
    for segment in made_up_segments(number, seed=3, longest=40, documents=30):
        words = int(segment.word_ids.max(initial=-1)) + 1
        tags = rng.choice(["NOUN", "VBD", "ADV", "DET", "no tag"], size=words, p=[0.2, 0.2, 0.2, 0.2, 0.2])
        words = tuple(f"w{place}" for place in range(words))
        found.append(replace(segment, words=words, fields={"tags": tags.tolist()}))
    return found


SEGMENTS = tagged(80)


def tag_of(segment, position):
    """The tag of the token's word, as the segment has it."""
    word = int(segment.word_ids[position])
    return segment.fields["tags"][word] if word >= 0 else ""


def by_tag(segment):
    """Three heads that look anywhere: at nouns or at verbs; at nouns or at any word; at any word."""
    number = len(segment)
    rng = np.random.default_rng([*segment.document.encode(), segment.index])
    places = np.arange(number)
    words = [at for at in places if segment.word_ids[at] >= 0] or [0]
    of = {tag: [at for at in words if tag_of(segment, at) == tag] or words for tag in ("NOUN", "VBD")}
    maps = np.zeros((1, 3, number, number))
    for row in places:
        first = rng.random() < 0.5
        maps[0, 0, row, rng.choice(of["NOUN"] if first else of["VBD"])] += 1.0
        maps[0, 1, row, rng.choice(of["NOUN"] if first else words)] += 1.0
        maps[0, 2, row, rng.choice(words)] += 1.0
    return maps


def sample(accumulator, **how):
    source = WritingNoise(SEGMENTS, by_tag, **how)
    rows = accumulator(source.layout)
    scan(source, [rows])
    (kept,) = rows.compute()
    return kept


def test_a_head_that_parts_of_speech_alone_tell_apart_has_two_jobs():
    kept = sample(TaggedRowAccumulator)
    jobs = list(head_jobs(kept, seed=0))
    assert [(job.head, job.jobs) for job in jobs] == [(1, 2), (1, 2), (2, 1), (3, 1)]
    nouns, verbs = sorted(jobs[:2], key=lambda job: job.description)
    assert nouns.description.startswith("looks at nouns, about ")
    assert verbs.description.startswith("looks at verbs, about ")
    for job, tag in ((nouns, "NOUN"), (verbs, "VERB")):
        of_keys = kept.rows[job.rows]["key_tag"]
        # Where an input has no such word the head looks at another.
        assert np.mean(of_keys == TAG_NUMBERS[tag]) > 0.9
    # A head that looks at nouns, and now and then at others, does one thing.
    assert jobs[2].description.startswith("looks at nouns, about ")
    assert jobs[3].description.startswith("looks about ")


def test_without_parts_of_speech_it_has_one():
    jobs = list(head_jobs(sample(ActiveRowAccumulator), seed=0))
    assert [(job.head, job.jobs) for job in jobs] == [(1, 1), (2, 1), (3, 1)]
    assert not any("noun" in job.description or "verb" in job.description for job in jobs)


def test_what_chance_gives_counts_for_nothing():
    kept = sample(TaggedRowAccumulator)
    counting = {}
    for head in range(3):
        own = kept.rows[kept.rows["cell"] == head]
        used = informative_features(features(own, square=True, same_ids=True), own)
        counting[head] = {tag for tag, name in zip(TAGGED, TAGS_OF_KEYS) if used[FEATURES.index(name)]}
    seen = {tag for tag in TAGGED if (kept.rows["key_tag"] == TAG_NUMBERS[tag]).any()}
    assert seen == {"NOUN", "VERB", "ADV", "DET"}
    assert [counting[head] & seen for head in range(3)] == [{"NOUN", "VERB"}, {"NOUN"}, set()]


@pytest.mark.parametrize("how", [{}, {"side": "left", "batch_size": 3, "height": 7}, {"kind": "decoder"}])
def test_tags_are_those_of_the_words_whatever_the_padding(how):
    kept = sample(TaggedRowAccumulator, **how)
    segments = {(segment.document, segment.index): segment for segment in SEGMENTS}
    known = vocabulary()
    assert len(kept.rows) > 500
    for one in kept.rows[::7]:
        segment = segments[kept.segments[int(one["segment"])]]
        classes = known.of(segment.ids, decoder=how.get("kind") == "decoder")
        row, key = int(one["row"]), int(one["key"])
        for position, number in ((row, one["row_tag"]), (key, one["key_tag"])):
            name = universal_tag(tag_of(segment, position))
            assert number == (TAG_NUMBERS[name] if name else 0)
        last = row if how.get("kind") == "decoder" else len(segment) - 1
        visible = [
            universal_tag(tag_of(segment, at))
            for at in range(last + 1)
            if classes[at] not in (KeyClass.CLS, KeyClass.SEP)
        ]
        even = [visible.count(tag) / len(visible) for tag in TAGGED]
        np.testing.assert_allclose(one["uniform_tags"], even, atol=1e-6)


def test_tags_of_penn_are_universal_ones():
    assert [universal_tag(tag) for tag in ("NNS", "VBZ", "IN", "PRP$", "MD", ",", "$")] == [
        *("NOUN", "VERB", "ADP", "PRON", "AUX", "PUNCT", "SYM")
    ]
    assert [universal_tag(tag) for tag in TAGS] == list(TAGS)
    assert [universal_tag(tag) for tag in ("", "_", "NE", "noun")] == [""] * 4


@pytest.mark.parametrize(("tags", "found"), [(["NOUN"], "1"), ([1, 2], "something else"), ("ab", "something else")])
def test_tags_that_are_not_one_a_word_are_refused(tags, found):
    with pytest.raises(InputError) as refused:
        tags_of_fields({"tags": tags}, 2, "segment 1 of document d")
    assert str(refused.value) == (
        "segment 1 of document d: expected tags as a list of names, one for each of its 2 words, found "
        f"{found}; give a treebank, or maps that were extracted from one"
    )


def test_a_segment_may_have_no_tags():
    assert tags_of_fields({}, 2, "d") == []
    assert tags_of_fields({"tags": ["NOUN", "VERB", "X"]}, 2, "d") == ["NOUN", "VERB"]


@pytest.mark.slow
def test_tags_of_a_real_treebank():
    """Each row's tag is that of the word whose letters its token is of, as another reader of the file has it."""
    path = data("ud-english-ewt/en_ewt-ud-dev.conllu")
    run = prepare(RunOptions(treebank=(str(path),), max_inputs=60, stages=("jobs",), controls=0))
    sums = ScanRunner().run("jobs", JobsMeasurement(run).scans())
    (kept,) = sums.of(TaggedRowAccumulator, TREEBANK).compute()
    sentences = {}
    for sentence in conllu.parse(path.read_text(encoding="utf-8")):
        words = [word for word in sentence if isinstance(word["id"], int)]
        sentences[tuple(word["form"] for word in words)] = [word["upos"] for word in words]
    trees = trees_of(run)
    segments = {(each.document, each.index): each for each in trees._segments(trees._packer())}
    tokens = run.loaded.tokenizer
    checked = 0
    for one in kept.rows[::11]:
        segment = segments[kept.segments[int(one["segment"])]]
        tags = sentences[segment.words]
        for position, number in ((int(one["row"]), one["row_tag"]), (int(one["key"]), one["key_tag"])):
            piece = tokens.convert_ids_to_tokens(int(segment.ids[position])).removeprefix("##")
            # A piece may reach into the next word of a contraction: `don` of `do` and `n't`.
            word = "".join(segment.words[segment.word_ids[position] :][:2]).lower()
            if piece.isascii() and piece.isalnum():
                assert piece in word
                assert number == TAG_NUMBERS[tags[segment.word_ids[position]]]
                checked += 1
    assert checked > 500
