"""Trees and mentions of an annotated corpus reach the features: what follows them is explained by them."""

from dataclasses import replace

import numpy as np
import pytest

from headscope.analyses.explanation.catalog import FEATURES
from headscope.analyses.explanation.compute import ExplanationMeasurement
from headscope.analyses.explanation.explain import explain
from headscope.analyses.explanation.row_context import annotation_of, kept_fields
from headscope.analyses.explanation.sample import contexts_of, row_sample, token_counts
from headscope.analyses.explanation.sentence import WordNames
from headscope.analyses.explanation.sums import RowSampleAccumulator
from headscope.analyses.explanation.table_rows import head_rows
from headscope.analyses.explanation.tables import COREFERENCE, CORPORA, TEXT, TREEBANK, WEIGHT
from headscope.analyses.explanation.tables import TABLES as SCHEMAS
from headscope.analyses.explanation.vocabulary_facts import VocabularyFacts
from headscope.attention.scan import scan
from headscope.encoding.segment import Segment
from headscope.present.numbers import percent
from headscope.running.stages import measurement_of
from headscope.scans.declarations.analysis_list import STAGES
from headscope.scans.prepare.prepared_run import prepare
from headscope.scans.scan_runner import ScanRunner
from headscope.statistics.statistic import Special
from headscope.statistics.tables.frames import check_table
from support.coreference import mention_table
from support.hand_made import HandMadeSource
from support.inputs import CLS, DOT, SEP
from support.small_runs import sharded_options
from support.tiny_models import VOCABULARY

TAGS = ("VERB", "NOUN", "ADJ", "ADV")


def sentence(number: int) -> Segment:
    """Words of one piece, of which some nouns are objects of a verb, with a tree and mentions of three entities."""
    rng = np.random.default_rng(number)
    words = int(rng.integers(10, 18))
    tags = ["VERB", *rng.choice(TAGS, size=words - 1).tolist()]
    verbs = np.array([word for word, tag in enumerate(tags) if tag == "VERB"])
    heads, relations = [0], ["root"]
    for word in range(1, words):
        is_object = tags[word] == "NOUN" and rng.random() < 0.6
        # As a treebank has it: from 1, and 0 for the root.
        heads.append(int(rng.choice(verbs)) + 1 if is_object else 1)
        relations.append("obj" if is_object else "dep")
    mentions = np.sort(rng.choice(words, size=min(words, 9), replace=False))
    table = mention_table(
        starts=mentions,
        ends=mentions + 1,
        heads=mentions,
        entities=rng.integers(0, 3, size=len(mentions)),
        types=np.full(len(mentions), 1),
        words=words,
    )
    return Segment(
        document=f"document {number:02}",
        index=0,
        ids=np.array([CLS, *rng.integers(DOT + 2, VOCABULARY, size=words), SEP]),
        token_types=np.zeros(words + 2, dtype=np.int64),
        word_ids=np.array([-1, *range(words), -1]),
        words=tuple(map(str, range(words))),
        fields={"heads": heads, "relns": relations, "tags": tags, "mentions": table, "origin": "made up"},
    )


SENTENCES = [sentence(number) for number in range(60)]


def attention(segment: Segment) -> np.ndarray:
    """A head whose verbs look at their objects, and one whose words look at earlier mentions of their entity."""
    n = len(segment)
    scores = np.zeros((1, 2, n, n))
    for word, (head, relation) in enumerate(zip(segment.fields["heads"], segment.fields["relns"], strict=True)):
        scores[0, 0, head, word + 1] += 5.0 * (relation == "obj")
    table = segment.fields["mentions"]
    for one, entity in zip(table.heads, table.entities, strict=True):
        for other in table.heads[table.entities == entity]:
            scores[0, 1, one + 1, other + 1] += 5.0 * (other < one)
    weights = np.exp(scores)
    return weights / weights.sum(-1, keepdims=True)


@pytest.fixture(scope="module")
def explained():
    """The row of each head, and the shares of its groups."""
    source = HandMadeSource(SENTENCES, attention)
    accumulator = RowSampleAccumulator(source.layout)
    scan(source, [accumulator])
    # As a run reads it back that was stopped.
    samples = RowSampleAccumulator.from_state(accumulator.state()).compute()["encoder"]
    vocabulary = VocabularyFacts.of_names({number: f"w{number}" for number in range(VOCABULARY)})
    counts = token_counts(samples)
    vocabulary = vocabulary.with_counts(counts)
    rows_of_heads = row_sample(samples, list(FEATURES.values()), contexts_of(vocabulary), seed=0)
    (heads,) = explain(rows_of_heads, 1, (WEIGHT,))[WEIGHT]
    names = WordNames(vocabulary, counts, rows_of_heads.columns)
    rows, groups = head_rows({}, heads, names=names, special=Special())
    return [(row, {group["group"]: group["share"] for group in groups if group["head"] == row["head"]}) for row in rows]


@pytest.mark.slow
def test_a_head_of_verbs_is_said_to_look_at_their_objects(explained):
    row, groups = explained[0]
    assert row["explained"] > 0.97
    assert set(groups) == {"dependents"}
    share, whole = percent(groups["dependents"]), percent(row["explained"])
    # The ridge divides the coefficient of objects between them and dependents of any relation, which may be named too.
    assert row["sentence"].startswith("Attends to the direct object of a verb")
    assert row["sentence"].endswith(f" ({share}); {whole} predicted")


@pytest.mark.slow
def test_a_head_of_mentions_is_said_to_look_at_those_of_the_same_entity(explained):
    row, groups = explained[1]
    assert row["explained"] > 0.97
    assert set(groups) == {"entity"}
    assert row["sentence"].startswith("Attends to earlier mentions of the same entity (")


def test_what_is_kept_of_an_input_is_its_annotation():
    fields = SENTENCES[0].fields
    kept = kept_fields(fields)
    assert set(kept) == {"heads", "relns", "tags", "mentions"}
    annotation = annotation_of(kept, len(SENTENCES[0].words), origin="made up")
    assert annotation.tags == tuple(fields["tags"])
    np.testing.assert_array_equal(annotation.heads, np.array(fields["heads"]) - 1)
    assert annotation.relations == tuple(fields["relns"])
    for word, entity in zip(fields["mentions"].heads, fields["mentions"].entities, strict=True):
        assert annotation.entities[word] == entity
        assert annotation.heads_mention[word]
    assert annotation.heads_mention.sum() == len(fields["mentions"])
    nothing = annotation_of({}, 3, origin="made up")
    assert (nothing.tags, nothing.heads, nothing.entities) == (None, None, None)


def test_the_word_of_two_mentions_belongs_to_the_shorter():
    mentions = {"starts": [0, 1], "ends": [4, 3], "heads": [3, 2], "entities": [7, 8]}
    annotation = annotation_of({"mentions": mentions}, 4, origin="made up")
    assert annotation.entities.tolist() == [7, 8, 8, 7]
    assert annotation.heads_mention.tolist() == [False, False, True, True]


@pytest.mark.slow
def test_a_run_explains_each_corpus_that_is_given(tmp_path):
    options = sharded_options(tmp_path, repeats=12, documents=12, controls=0, stages=("explanation",))
    stage = STAGES["explanation"]

    def tables(options):
        measurement = measurement_of(stage, prepare(options))
        assert isinstance(measurement, ExplanationMeasurement)
        return measurement.compute(ScanRunner().run("explanation", list(measurement.scans()))).tables

    found = tables(options)
    for schema in SCHEMAS:
        check_table(schema, found[schema.name])
    explanation = found["explanation"]
    assert tuple(explanation["corpus"].unique()) == CORPORA
    measures = explanation.groupby("corpus")["measure"].unique().map(set).to_dict()
    assert measures == {TEXT: {"weight", "norm", "non_sink"}, TREEBANK: {"weight"}, COREFERENCE: {"weight"}}
    assert explanation.groupby("corpus")["explained"].apply(lambda shares: shares.notna().all()).all()
    alone = tables(replace(options, treebank=(), coref=()))
    assert set(alone["explanation"]["corpus"]) == {TEXT}
