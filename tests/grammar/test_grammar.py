"""The grammar: trees, constructions, coreference, and sentences annotated by hand."""

import ast
import io
import json
from collections import Counter, defaultdict
from functools import cache
from importlib.resources import files
from itertools import pairwise
from pathlib import Path
from random import Random

import conllu
import pytest

import headscope_grammar
from headscope.corpora.annotation import AnnotatedDocument, AnnotatedSentence, Mention
from headscope.corpora.trees.conllu import read_conllu
from headscope.errors import OptionError, OutputError
from headscope_grammar import conllu_lines, synthetic_documents, write_conllu
from headscope_grammar.cast.clarity import Place, clear
from headscope_grammar.cast.entities import Entity, Seen
from headscope_grammar.cast.reference import Speaker
from headscope_grammar.documents import Written, write
from headscope_grammar.phrases.clauses import Clause, Form, build
from headscope_grammar.phrases.times import set_off
from headscope_grammar.sentences.speaking import quoted
from headscope_grammar.tree import Node, Ref, ended, sentence_of, with_case, word
from headscope_grammar.words import inflection
from headscope_grammar.words.lexicon import Noun, forms

LEXICON = json.loads((files("headscope_grammar.words") / "lexicon.json").read_text(encoding="utf-8"))
SHE, HE = {"she", "her", "herself"}, {"he", "him", "his", "himself"}
IT, THEY = {"it", "its", "itself"}, {"they", "them", "their", "themselves"}
SPEAKERS = {"i", "me", "my", "myself", "you", "your", "yourself"}


@cache
def written() -> list[Written]:
    return [write(seed=0, ordinal=ordinal) for ordinal in range(500)]


@cache
def documents() -> list[AnnotatedDocument]:
    return [one.document for one in written()]


@cache
def sentences() -> list[AnnotatedSentence]:
    return [sentence for document in documents() for sentence in document.sentences]


def head_of(document: AnnotatedDocument, mention: Mention) -> int:
    """The word of a mention whose head lies outside it, by a plain loop."""
    heads: list[int] = []
    for start, sentence in zip(document.starts(), document.sentences):
        heads += [start + head - 1 if head else -1 for head in sentence.heads]
    outside = [at for at in range(mention.start, mention.end) if not mention.start <= heads[at] < mention.end]
    assert len(outside) == 1, document.words[mention.start : mention.end]
    return outside[0]


def tags_of(document: AnnotatedDocument) -> list[str]:
    return [tag for sentence in document.sentences for tag in sentence.tags]


# ---------------------------------------------------------------------- trees


def is_tree(heads: tuple[int, ...]) -> bool:
    if sum(head == 0 for head in heads) != 1:
        return False
    for at in range(1, len(heads) + 1):
        seen = set()
        while at:
            if at in seen or not 0 <= at <= len(heads):
                return False
            seen.add(at)
            at = heads[at - 1]
    return True


def crosses(heads: tuple[int, ...]) -> bool:
    arcs = [(min(at, head), max(at, head)) for at, head in enumerate(heads, 1) if head]
    return any(a < c < b < d for a, b in arcs for c, d in arcs)


def test_the_checks_can_fail():
    assert is_tree((2, 0, 2))
    assert not any(is_tree(heads) for heads in ((2, 1, 0), (0, 0), (2, 3, 2)))
    assert crosses((3, 4, 0, 3))
    assert not crosses((2, 0, 2))


def test_trees_have_one_root_no_cycle_and_no_crossing():
    for sentence in sentences()[:1700]:
        assert is_tree(sentence.heads), sentence.text
        assert not crosses(sentence.heads), sentence.text
        assert len(sentence.heads) == len(sentence.relations) == len(sentence.tags) == len(sentence.words)
        assert [relation for relation, head in zip(sentence.relations, sentence.heads) if not head] == ["root"]


LEAVES = {"case", "cc", "det", "aux", "aux:pass", "cop", "compound:prt", "cc:preconj", "punct"}


def test_function_words_have_no_dependents_but_fixed_ones():
    for sentence in sentences():
        for relation, head in zip(sentence.relations, sentence.heads):
            if head and sentence.relations[head - 1] in LEAVES:
                assert relation == "fixed", sentence.text


TAGS = {
    "det": {"DET"},
    "case": {"ADP", "PART", "SCONJ", "VERB", "ADV"}, "aux": {"AUX"}, "aux:pass": {"AUX"}, "cop": {"AUX"},
    "amod": {"ADJ"}, "nummod": {"NUM"}, "punct": {"PUNCT"}, "cc": {"CCONJ", "ADV"}, "expl": {"PRON"}, "flat": {"PROPN"},
    "nmod:poss": {"PRON", "NOUN", "PROPN"}, "discourse": {"INTJ"},
    "compound:prt": {"ADP", "ADV"}, "vocative": {"PROPN"},
    "mark": {"SCONJ", "PART"}, "compound": {"NOUN"}, "nsubj:pass": {"PRON", "NOUN", "PROPN"},
}  # fmt: skip


def test_relations_and_tags_go_together():
    for sentence in sentences():
        for relation, tag in zip(sentence.relations, sentence.tags):
            assert tag in TAGS.get(relation, {tag}), (sentence.text, relation, tag)


def test_an_auxiliary_of_the_passive_has_a_passive_subject():
    for sentence in sentences():
        for relation, head in zip(sentence.relations, sentence.heads):
            if relation == "nsubj:pass":
                siblings = {sentence.relations[at] for at, own in enumerate(sentence.heads) if own == head}
                assert "aux:pass" in siblings, sentence.text


# ------------------------------------------------------------- variety


def test_every_construction_is_used_and_there_are_many():
    used = Counter(name for one in written() for names in one.constructions for name in names)
    assert len(used) >= 130
    assert len(written_names() - set(used)) == 0


def written_names() -> set[str]:
    """The names in the source: every literal given to `use`."""
    found = set()
    for path in Path(headscope_grammar.__file__).parent.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and getattr(node.func, "attr", "") == "use":
                argument = node.args[0]
                choices = [argument.body, argument.orelse] if isinstance(argument, ast.IfExp) else [argument]
                found |= {one.value for one in choices if isinstance(one, ast.Constant)}
    assert len(found) > 100
    return found


def test_constructions_are_told_sentence_by_sentence():
    for one in written()[:50]:
        assert len(one.constructions) == len(one.document.sentences)


def lemma_of_each_form() -> dict[str, str]:
    """Every form of the lexicon's nouns, verbs, adjectives, adverbs, with its lemma (names left out)."""
    known = {}
    singles = [
        "roles", "people", "places", "manner", "frequency", "opinion", "weather", "materials", "gerunds", "requests",
        "causing", "saying", "telling", "wondering", "seeing", "reporting",
    ]  # fmt: skip
    lists = [LEXICON[name] for name in singles]
    for table in ("nouns", "mass", "kin", "adjectives", "states", "stances", "comparable", "compounds"):
        lists += list(LEXICON[table].values())
    for entry in (entry for text in lists for entry in text.split()):
        lemma = entry.split("/")[0].split(":")[0]
        known[lemma] = known[inflection.plural(lemma)] = lemma
        known |= dict.fromkeys(entry.split("/")[1:], lemma)
    verbs = [
        row.get("verbs") or row["verb"]
        for name in ("frames", "complements", "particles", "transfers")
        for row in LEXICON[name]
    ]
    verbs += [*LEXICON["intending"], LEXICON["placing"]["verbs"], *(LEXICON[name] for name in singles[9:])]
    for verb in {entry.split(":")[0] for text in verbs for entry in text.split()}:
        known |= dict.fromkeys(forms(verb).values(), verb)
    return known


def test_more_than_400_lemmas_occur():
    known = lemma_of_each_form()
    said = {known[word.lower()] for sentence in sentences() for word in sentence.words if word.lower() in known}
    assert len(said) >= 400, len(said)


RELATIONS = [
    "nsubj",
    "nsubj:pass",
    "obj",
    "iobj",
    "obl",
    "obl:agent",
    "nmod",
    "nmod:poss",
    "det",
    "case",
    "amod",
    "advmod",
    "nummod",
    "compound",
    "compound:prt",
    "flat",
    "conj",
    "cc",
    "mark",
    "aux",
    "aux:pass",
    "cop",
    "xcomp",
    "ccomp",
    "advcl",
    "acl",
    "acl:relcl",
    "appos",
    "parataxis",
    "discourse",
    "vocative",
    "expl",
    "csubj",
    "fixed",
    "punct",
    "root",
]


def test_all_frequent_relations_occur():
    counts = Counter(relation for sentence in sentences() for relation in sentence.relations)
    assert {relation for relation in RELATIONS if counts[relation] < 30} == set()


def test_250_documents_give_100_of_20_relations():
    counts = Counter(
        relation for document in documents()[:250] for sentence in document.sentences for relation in sentence.relations
    )
    assert sum(count >= 100 for relation, count in counts.items() if relation not in ("punct", "root")) >= 23


def test_lengths_are_spread():
    lengths = [len(sentence) for sentence in sentences()]
    assert min(lengths) >= 3
    assert max(lengths) <= 40
    assert sum(length <= 6 for length in lengths) > 0.03 * len(lengths)
    assert sum(length >= 20 for length in lengths) > 0.08 * len(lengths)
    assert {len(document.sentences) for document in documents()} == set(range(3, 9))


@pytest.mark.parametrize(
    ("relation", "most"), [("nsubj", 0.55), ("obj", 0.45), ("obl", 0.35), ("xcomp", 0.6), ("nmod:poss", 0.7)]
)
def test_no_offset_finds_a_relation(relation, most):
    offsets = Counter()
    for sentence in sentences():
        for at, (head, own) in enumerate(zip(sentence.heads, sentence.relations), 1):
            if own == relation:
                offsets[head - at] += 1
    best = offsets.most_common(1)[0][1] / offsets.total()
    assert best < most, (relation, best)


# -------------------------------------------------------------- coreference


def chains_of(document: AnnotatedDocument) -> dict[str, list[Mention]]:
    chains: dict[str, list[Mention]] = defaultdict(list)
    for mention in document.mentions:
        chains[mention.entity].append(mention)
    return chains


def test_every_document_has_two_chains():
    for document in documents():
        assert sum(len(chain) > 1 for chain in chains_of(document).values()) >= 2
    assert any(len(chain) == 1 for document in documents() for chain in chains_of(document).values())


def test_mentions_are_sorted_and_inside_one_sentence():
    for document in documents():
        assert list(document.mentions) == sorted(document.mentions, key=lambda one: (one.start, -one.end, one.entity))
        borders = [*document.starts(), len(document.words)]
        for mention in document.mentions:
            assert any(a <= mention.start < mention.end <= b for a, b in pairwise(borders))


def test_some_mentions_are_nested():
    nested = sum(
        outer.start <= inner.start and inner.end <= outer.end and outer.entity != inner.entity
        for document in documents()[:100]
        for outer in document.mentions
        for inner in document.mentions
    )
    assert nested > 100


def test_each_type_of_mention_is_common_among_later_ones():
    kinds: Counter[str] = Counter()
    for document in documents():
        tags, seen = tags_of(document), set()
        for mention in document.mentions:
            if mention.entity in seen:
                kinds[{"PRON": "pronoun", "PROPN": "proper"}.get(tags[head_of(document, mention)], "nominal")] += 1
            seen.add(mention.entity)
    assert min(kinds[kind] for kind in ("pronoun", "proper", "nominal")) > 0.2 * kinds.total(), kinds


def agreement_by_words(document: AnnotatedDocument, mention: Mention) -> str:
    """`f`, `m`, `n` or `p` as the words say, nothing where they do not; names by the lexicon's lists."""
    form = document.words[head_of(document, mention)]
    lower = form.lower()
    inside = [one.lower() for one in document.words[mention.start : mention.end]]
    for sign, listed in (("f", SHE), ("m", HE), ("n", IT), ("p", THEY)):
        if lower in listed:
            return sign
    if lower in SPEAKERS:
        return ""
    relatives = document.words[mention.start : mention.end]
    joined = "and" in inside or "as" in inside
    if lower in plurals() and lower != "sheep":
        return "p"
    if joined and not {"who", "whom", "whose", "that", "which", "where"} & set(inside):
        first = relatives.index("and") if "and" in relatives else relatives.index("as")
        if document.words[head_of(document, mention)] in relatives[:first] and form[0].isupper():
            return "p" if first == head_of(document, mention) - mention.start + 1 else ""
    women = {*LEXICON["women"].split(), *LEXICON["kin"]["f"].split(), "woman"}
    men = {*LEXICON["men"].split(), *LEXICON["kin"]["m"].split(), "man"}
    return "f" if form in women else "m" if form in men else ""


@cache
def plurals() -> set[str]:
    tables = [*LEXICON["nouns"].values(), LEXICON["people"]]
    return {plural_of(entry) for table in tables for entry in table.split()} | {"women", "men"}


def plural_of(entry: str) -> str:
    return entry.split("/")[1] if "/" in entry else inflection.plural(entry)


def test_a_chain_agrees_with_itself_in_gender_and_number():
    checked = 0
    for document in documents()[:300]:
        for entity, chain in chains_of(document).items():
            said = {agreement_by_words(document, mention) for mention in chain} - {""}
            assert len(said) <= 1, (entity, said, [document.words[m.start : m.end] for m in chain])
            checked += len(said)
    assert checked > 500


def test_a_pronoun_has_its_antecedent_in_this_sentence_or_the_last():
    """And nobody of its gender stands between, unless grammar decides (its clause's subject, or possession)."""
    for document in documents():
        tags = tags_of(document)
        sentence_at = [number for number, sentence in enumerate(document.sentences) for _ in sentence.words]
        for mention in document.mentions:
            form = document.words[mention.start].lower()
            if mention.end - mention.start > 1 or form not in SHE | HE | THEY | IT or tags[mention.start] != "PRON":
                continue
            before = [one for one in document.mentions if one.entity == mention.entity and one.start < mention.start]
            assert before, (document.words, mention)
            assert sentence_at[mention.start] - sentence_at[before[-1].start] <= 1


def relation_of(document: AnnotatedDocument, mention: Mention) -> str:
    relations = [relation for sentence in document.sentences for relation in sentence.relations]
    return relations[head_of(document, mention)]


def test_of_several_candidates_a_pronoun_means_a_prominent_one():
    """She or he, as a subject: the only one of that gender nearby, or one that has been a subject there."""
    alone = prominent = 0
    for document in documents()[:250]:
        tags = tags_of(document)
        sentence_at = [number for number, sentence in enumerate(document.sentences) for _ in sentence.words]
        for mention in document.mentions:
            form = document.words[mention.start].lower()
            if form not in ("she", "he") or tags[mention.start] != "PRON" or mention.end > mention.start + 1:
                continue
            sign = "f" if form == "she" else "m"
            near = [
                one
                for one in document.mentions
                if one.start < mention.start and sentence_at[mention.start] - sentence_at[one.start] <= 1
            ]
            rivals = [one for one in near if one.entity != mention.entity and agreement_by_words(document, one) == sign]
            own = [relation_of(document, one) for one in near if one.entity == mention.entity]
            alone += not rivals
            prominent += bool(rivals)
            assert not rivals or {"nsubj", "nsubj:pass", "conj"} & set(own), (document.words, mention)
    assert alone > 100
    assert prominent > 10


def test_there_are_rivals_of_the_same_gender():
    """For many pronouns the nearest earlier mention of that gender is not the antecedent or has a rival."""
    rivalled = pronouns = 0
    for document in documents()[:200]:
        for mention in document.mentions:
            form = document.words[mention.start].lower()
            if mention.end - mention.start > 1 or form not in SHE | HE:
                continue
            pronouns += 1
            sign = "f" if form in SHE else "m"
            others = {
                one.entity
                for one in document.mentions
                if one.start < mention.start
                and one.entity != mention.entity
                and agreement_by_words(document, one) == sign
            }
            rivalled += bool(others)
    assert rivalled > 0.2 * pronouns


def person(name: str, sex: str, *, sentence: int, relation: str = "nsubj", order: int = 0, main: bool = True) -> Entity:
    entity = Entity(id=name.lower(), kind="person", sex=sex, name=name, named=True)
    entity.mentions.append(Seen(sentence=sentence, order=order, relation=relation, main=main))
    return entity


def judged(entity: Entity, relation: str, others: list[Entity], *, subject: Entity | None = None) -> bool:
    return clear(entity, relation, Place(subject=subject), entities=[entity, *others], sentence=1)


def test_when_a_pronoun_is_clear():
    anna = person("Anna", "f", sentence=0)
    assert judged(anna, "nsubj", [])
    assert judged(anna, "nsubj", [person("Tom", "m", sentence=0, order=1)])
    assert not judged(anna, "nsubj", [person("Mary", "f", sentence=0, order=1, relation="obj")])  # Anna met Mary. She
    assert judged(anna, "nsubj", [person("Mary", "f", sentence=0, order=1, relation="nmod:poss", main=False)])
    mary = person("Mary", "f", sentence=1, order=2)
    assert judged(anna, "obj", [mary], subject=mary)  # Anna was tired. Mary helped her
    assert not judged(anna, "nmod:poss", [mary], subject=mary)  # Mary took her book: Mary's
    here = person("Anna", "f", sentence=1, order=3)
    assert judged(here, "nmod:poss", [person("Mary", "f", sentence=0)], subject=here)
    assert not judged(person("Anna", "f", sentence=-1), "nsubj", [])


# ------------------------------------------------------- by hand, word for word


def tom() -> Entity:
    return Entity(id="tom", kind="person", sex="m", name="Tom", surname="Reed")


def titled(title: str, surname: str) -> Entity:
    return Entity(id=surname.lower(), kind="person", sex="f", name="X", surname=surname, title=title)


def anna() -> Entity:
    return Entity(id="anna", kind="person", sex="f", name="Anna")


def thing(lemma: str, *, known: bool = True, kind: str = "portable", **more: object) -> Entity:
    noun = Noun(lemma=lemma, plural=inflection.plural(lemma), kind=kind)
    entity = Entity(id=lemma, kind=kind, noun=noun, described=known, **more)  # type: ignore[arg-type]
    if known:
        entity.mentions.append(Seen(sentence=-9, order=-1, relation="obj", main=True))
    return entity


def spoken(tree: Node | Ref, *, mark: str = ".") -> tuple[AnnotatedSentence, list[tuple[str, str]]]:
    speaker = Speaker(Random(1), [])
    sentence, mentions = sentence_of(speaker.resolve(ended(tree, mark) if mark else tree), origin="", offset=0)
    return sentence, [(" ".join(sentence.words[m.start : m.end]), m.entity) for m in sorted(mentions)]


def name(entity: Entity) -> Ref:
    return Ref(who=entity, form="name" if entity.mentions else "full")


def the(entity: Entity) -> Ref:
    return Ref(who=entity, form="noun")


def rows(sentence: AnnotatedSentence) -> str:
    return " ".join(f"{w}/{h}/{r}" for w, h, r in zip(sentence.words, sentence.heads, sentence.relations))


PAST = Form(tense="past")


def test_by_hand_two_objects():
    clause = Clause(
        verb="give",
        subject=name(anna()),
        complements=(("iobj", name(tom())), ("obj", the(thing("key", known=False, adjectives=("old",))))),
    )
    sentence, mentions = spoken(build(clause, PAST))
    assert rows(sentence) == ("Anna/2/nsubj gave/0/root Tom/2/iobj Reed/3/flat an/7/det old/7/amod key/2/obj ./2/punct")
    assert mentions == [("Anna", "anna"), ("Tom Reed", "tom"), ("an old key", "key")]


def test_by_hand_passive_perfect_with_an_agent():
    clause = Clause(
        verb="steal",
        subject=the(thing("lamp")),
        complements=(("obl:agent", with_case("by", name(anna()))),),
        passive=True,
    )
    sentence, mentions = spoken(build(clause, Form(tense="present", perfect=True, negated=True)))
    assert rows(sentence) == (
        "The/2/det lamp/6/nsubj:pass has/6/aux not/6/advmod been/6/aux:pass stolen/0/root by/8/case "
        "Anna/6/obl:agent ./6/punct"
    )
    assert mentions == [("The lamp", "lamp"), ("Anna", "anna")]


def test_by_hand_a_question_with_a_contracted_negation():
    clause = Clause(
        verb="carry",
        subject=name(anna()),
        complements=(("obj", the(thing("lamp"))),),
        fronted=(("advmod", word("why", "ADV")),),
    )
    sentence, _ = spoken(build(clause, Form(tense="past", negated=True, contracted=True, inverted=True)), mark="?")
    assert rows(sentence) == (
        "Why/5/advmod did/5/aux n't/5/advmod Anna/5/nsubj carry/0/root the/7/det lamp/5/obj ?/5/punct"
    )
    assert sentence.text == "Why didn't Anna carry the lamp?"


def test_by_hand_control_and_a_possessive():
    owner = anna()
    book = thing("ladder", known=False, owner=owner)
    inner = build(Clause(verb="find", complements=(("obj", the(book)),)), Form(tense="to"))
    sentence, mentions = spoken(build(Clause(verb="want", subject=name(owner), complements=(("xcomp", inner),)), PAST))
    assert rows(sentence) == (
        "Anna/2/nsubj wanted/0/root to/4/mark find/2/xcomp her/6/nmod:poss ladder/4/obj ./2/punct"
    )
    assert mentions == [("Anna", "anna"), ("her", "anna"), ("her ladder", "ladder")]


def test_by_hand_a_possessor_with_its_clitic_and_a_copula():
    kin = Entity(
        id="brother", kind="person", sex="m", owner=anna(), noun=Noun(lemma="brother", plural="brothers", kind="m")
    )
    predicate = word("doctor", "NOUN", ("det", word("a", "DET")), ("amod", word("good", "ADJ")))
    sentence, mentions = spoken(
        build(Clause(verb="be", subject=the(kin), predicate=predicate), Form(tense="past", modal="might"))
    )
    assert rows(sentence) == (
        "Anna/3/nmod:poss 's/1/case brother/8/nsubj might/8/aux be/8/cop a/8/det good/8/amod doctor/0/root ./8/punct"
    )
    assert sentence.text == "Anna's brother might be a good doctor."
    assert mentions == [("Anna 's", "anna"), ("Anna 's brother", "brother")]


def test_by_hand_a_place_as_predicate_is_a_mention_without_its_clause():
    predicate = with_case("in", the(thing("trunk")))
    sentence, mentions = spoken(build(Clause(verb="be", subject=name(anna()), predicate=predicate), PAST))
    assert rows(sentence) == "Anna/5/nsubj was/5/cop in/5/case the/5/det trunk/0/root ./5/punct"
    assert mentions == [("Anna", "anna"), ("the trunk", "trunk")]


def test_by_hand_a_relative_clause_belongs_to_the_mention():
    lost = build(
        Clause(verb="lose", subject=name(anna()), fronted=(("obj", word("that", "PRON")),)),
        Form(tense="past", perfect=True),
    )
    subject = Ref(who=thing("key"), form="noun", after=(("acl:relcl", lost),))
    sentence, mentions = spoken(build(Clause(verb="disappear", subject=subject), PAST))
    assert rows(sentence) == (
        "The/2/det key/7/nsubj that/6/obj Anna/6/nsubj had/6/aux lost/2/acl:relcl disappeared/0/root ./7/punct"
    )
    assert mentions == [("The key that Anna had lost", "key"), ("Anna", "anna")]


def test_by_hand_coordination_is_one_mention_and_two():
    couple = Entity(id="both", kind="person", plural=True, members=(titled("Mrs.", "Hill"), titled("Mr.", "Reed")))
    said = set()
    for seed in range(30):  # there are two ways to join them; chance takes both
        for one in (couple, *couple.members):
            one.mentions.clear()
        clause = Clause(verb="be", subject=Ref(who=couple), predicate=word("late", "ADJ"))
        tree = Speaker(Random(seed), []).resolve(ended(build(clause, PAST)))
        sentence, mentions = sentence_of(tree, origin="", offset=0)
        found = " + ".join(" ".join(sentence.words[m.start : m.end]) for m in mentions)
        said.add((rows(sentence), found))
    members = "Mr. Reed + Mrs. Hill + "
    assert said == {
        (
            "Mrs./2/nmod:desc Hill/7/nsubj and/5/cc Mr./5/nmod:desc Reed/2/conj were/7/cop late/0/root ./7/punct",
            members + "Mrs. Hill and Mr. Reed",
        ),
        (
            "Both/3/cc:preconj Mrs./3/nmod:desc Hill/8/nsubj and/6/cc Mr./6/nmod:desc Reed/3/conj were/8/cop "
            "late/0/root ./8/punct",
            members + "Mrs. Hill and Mr. Reed",
        ),
    }


def test_by_hand_direct_speech():
    speaker = anna()
    speaker.named = True
    speaker.mentions.append(Seen(sentence=-1, order=-1, relation="nsubj", main=True))
    content = build(
        Clause(verb="be", subject=Ref(who=speaker), predicate=word("tired", "ADJ")),
        Form(tense="present"),
        speaker=speaker,
    )
    assert isinstance(content, Node)
    speech = quoted(content, ",", voice=(speaker, None))
    tree = Node(word="said", tag="VERB", before=(("ccomp", speech),), after=(("nsubj", name(speaker)),))
    sentence, mentions = spoken(tree)
    assert rows(sentence) == (
        '"/4/punct I/4/nsubj am/4/cop tired/7/ccomp ,/4/punct "/4/punct said/0/root Anna/7/nsubj ./7/punct'
    )
    assert sentence.text == '"I am tired," said Anna.'
    assert mentions == [("I", "anna"), ("Anna", "anna")]


def test_by_hand_a_fronted_clause_keeps_its_comma():
    inner = build(Clause(verb="arrive", subject=name(tom())), PAST)
    assert isinstance(inner, Node)
    inner = inner.with_before(("mark", word("before", "SCONJ")))
    rain = with_case("because of", word("rain", "NOUN", ("det", word("the", "DET"))))
    clause = Clause(verb="leave", subject=name(anna()), complements=(("obl", rain),))
    sentence, _ = spoken(build(clause.led(set_off(("advcl", inner))), PAST))
    assert rows(sentence) == (
        "Before/4/mark Tom/4/nsubj Reed/2/flat arrived/7/advcl ,/4/punct Anna/7/nsubj left/0/root because/11/case "
        "of/8/fixed the/11/det rain/7/obl ./7/punct"
    )


def test_by_hand_an_apposition_at_the_end_has_one_mark():
    who = Entity(
        id="who", kind="person", sex="f", name="Clara", noun=Noun(lemma="architect", plural="architects", kind="role")
    )
    for seed in range(50):  # until chance introduces her by both
        speaker = Speaker(Random(seed), [])
        who.mentions.clear()
        tree = ended(build(Clause(verb="meet", subject=name(tom()), complements=(("obj", Ref(who=who)),)), PAST))
        sentence, mentions = sentence_of(speaker.resolve(tree), origin="", offset=0)
        if "," in sentence.words:
            break
    assert rows(sentence) == (
        "Tom/3/nsubj Reed/1/flat met/0/root Clara/3/obj ,/7/punct an/7/det architect/4/appos ./3/punct"
    )
    assert mentions[-1] == Mention(3, 7, "who")


# ------------------------------------------------------------------- files


def test_conllu_is_read_back_by_another_library():
    text = "".join(f"{line}\n" for document in documents()[:60] for line in conllu_lines(document))
    parsed = list(conllu.parse_incr(io.StringIO(text)))
    expected = [sentence for document in documents()[:60] for sentence in document.sentences]
    assert len(parsed) == len(expected)
    for read, own in zip(parsed, expected):
        words = [token for token in read if isinstance(token["id"], int)]
        assert tuple(token["form"] for token in words) == own.words
        assert tuple(token["head"] for token in words) == own.heads
        assert tuple(token["deprel"] for token in words) == own.relations
        assert tuple(token["upos"] for token in words) == own.tags
        # A range such as `didn't` is written, its words are not.
        ranges = [range(token["id"][0], token["id"][2] + 1) for token in read if token not in words]
        written = [token for token in read if not any(token["id"] in each for each in ranges)]
        spaced = "".join(
            token["form"] + ("" if (token["misc"] or {}).get("SpaceAfter") == "No" else " ") for token in written
        )
        assert spaced.rstrip() == read.metadata["text"] == own.text


def test_written_documents_are_read_back(tmp_path):
    write_conllu(documents(), tmp_path / "made.conllu")
    back = list(read_conllu(tmp_path / "made.conllu"))
    for read, own in zip(back, documents(), strict=True):
        assert read.mentions == own.mentions
        for one, other in zip(read.sentences, own.sentences, strict=True):
            assert (one.words, one.heads, one.relations, one.tags, one.text) == (
                other.words, other.heads, other.relations, other.tags, other.text,
            )  # fmt: skip


def test_lines_of_a_document_by_hand():
    sentence = AnnotatedSentence(
        words=("Anna", "'s", "dog", "barked", "."),
        heads=(3, 1, 4, 0, 4),
        relations=("nmod:poss", "case", "nsubj", "root", "punct"),
        tags=("PROPN", "PART", "NOUN", "VERB", "PUNCT"),
        text="Anna's dog barked.",
    )
    document = AnnotatedDocument(
        id="d1", sentences=(sentence,), mentions=(Mention(0, 3, "e2"), Mention(0, 2, "e1"), Mention(2, 3, "e3"))
    )
    assert list(conllu_lines(document)) == [
        "# newdoc id = d1",
        "# global.Entity = eid",
        "# sent_id = d1-1",
        "# text = Anna's dog barked.",
        "1\tAnna\t_\tPROPN\t_\t_\t3\tnmod:poss\t_\tEntity=(e2(e1|SpaceAfter=No",
        "2\t's\t_\tPART\t_\t_\t1\tcase\t_\tEntity=e1)",
        "3\tdog\t_\tNOUN\t_\t_\t4\tnsubj\t_\tEntity=(e3)e2)",
        "4\tbarked\t_\tVERB\t_\t_\t0\troot\t_\tSpaceAfter=No",
        "5\t.\t_\tPUNCT\t_\t_\t4\tpunct\t_\t_",
        "",
    ]


def test_a_document_depends_on_its_seed_and_number_only():
    first = list(synthetic_documents(12, seed=5))
    assert first == list(synthetic_documents(30, seed=5))[:12]
    assert first[7] == write(seed=5, ordinal=7).document
    assert first != list(synthetic_documents(12, seed=6))
    assert len({document.id for document in documents()}) == len(documents())


def test_a_number_under_one_is_refused():
    with pytest.raises(OptionError) as refused:
        synthetic_documents(0)
    assert str(refused.value) == "expected 1 document or more, found 0; ask for a positive number"


def test_a_place_that_cannot_be_written_is_refused(tmp_path):
    with pytest.raises(OutputError) as refused:
        write_conllu(documents()[:1], tmp_path / "missing" / "made.conllu")
    assert str(refused.value) == (
        f"{tmp_path / 'missing' / 'made.conllu'} cannot be written (no such file or directory); "
        "give a file in a folder that exists"
    )


# ----------------------------------------------------------------- English


@pytest.mark.parametrize(
    ("verb", "expected"),
    [
        ("carry", "carries carried carried carrying"), ("stop", "stops stopped stopped stopping"),
        ("travel", "travels travelled travelled travelling"), ("visit", "visits visited visited visiting"),
        ("lie", "lies lay lain lying"),
        ("write", "writes wrote written writing"), ("enjoy", "enjoys enjoyed enjoyed enjoying"),
        ("begin", "begins began begun beginning"), ("watch", "watches watched watched watching"),
        ("repair", "repairs repaired repaired repairing"), ("have", "has had had having"),
        ("admit", "admits admitted admitted admitting"),
    ],
)  # fmt: skip
def test_verb_forms(verb, expected):
    own = forms(verb)
    assert " ".join((own["third"], own["past"], own["participle"], own["ing"])) == expected


@pytest.mark.parametrize(
    ("following", "expected"),
    [("old", "an"), ("useful", "a"), ("hour", "an"), ("red", "a"), ("unit", "a"), ("ugly", "an")],
)
def test_articles(following, expected):
    assert inflection.article(following) == expected


def test_a_or_an_fits_the_next_word():
    for sentence in sentences():
        for form, after in pairwise(sentence.words):
            if form.lower() in ("a", "an"):
                assert form.lower() == inflection.article(after), sentence.text


@pytest.mark.parametrize(
    ("adjective", "more", "most"),
    [
        ("tall", "taller", "tallest"),
        ("young", "younger", "youngest"),
        ("heavy", "heavier", "heaviest"),
        ("useful", None, None),
    ],
)
def test_comparison(adjective, more, most):
    assert inflection.comparative(adjective) == more
    assert inflection.superlative(adjective) == most
