"""Who is meant: which form names an entity at each place, so that a careful reader is never in doubt."""

from dataclasses import replace
from random import Random

from headscope_grammar.cast import noun_phrases
from headscope_grammar.cast.clarity import Place, clear
from headscope_grammar.cast.entities import SUBJECTS, Entity, Seen, pronoun
from headscope_grammar.tree import Edge, Node, Ref, word
from headscope_grammar.words.lexicon import raw, words


class Speaker:
    """Names entities from left to right and remembers what was named; the reader's memory, in short."""

    def __init__(self, rng: Random, entities: list[Entity]) -> None:
        self.rng = rng
        self.entities = entities
        self.sentence = 0
        self.order = 0
        self.speaker: Entity | None = None  # of the direct speech that is being spoken
        self.addressee: Entity | None = None

    def resolve(self, child: Node | Ref, relation: str = "root", place: Place | None = None) -> Node:
        """Return a tree with all open places named, in order of speaking."""
        place = place or Place()
        if isinstance(child, Ref):
            return self._name(child, relation, place)
        if child.voice is not None:
            self.speaker, self.addressee = child.voice
            spoken = self.resolve(replace(child, voice=None), relation, place)
            self.speaker = self.addressee = None
            return spoken
        if not child.before and not child.after:
            return child
        inner = replace(place, depth=place.depth + (relation != "root"))
        before: list[Edge] = []
        for name, edge in child.before:
            before.append((name, self.resolve(edge, name, inner)))
            if name in SUBJECTS and isinstance(edge, Ref):
                inner = replace(inner, subject=edge.who)
        after: list[Edge] = []
        controller = inner
        for name, edge in child.after:
            after.append((name, self.resolve(edge, name, controller if name == "xcomp" else inner)))
            if name in SUBJECTS and isinstance(edge, Ref):
                inner = controller = replace(inner, subject=edge.who)
            elif name in ("obj", "iobj") and isinstance(edge, Ref):
                controller = replace(inner, subject=edge.who)  # "asked Tom to ...": it is Tom who will
        return child.having(tuple(before), tuple(after))

    def _name(self, ref: Ref, relation: str, place: Place) -> Node:
        entity: Entity = ref.who
        if ref.form.startswith("gap:"):  # a relative pronoun stands for its noun without being a mention
            return word(ref.form[4:], "PRON").with_before(*ref.before)
        node = self._phrase(ref, relation, place)
        self._remember(entity, relation, place)
        if entity.members and node.tag != "PRON":
            node = replace(node, group=entity.id)
        else:
            node = replace(node, entity=entity.id)
        if relation == "nmod:poss" and node.tag != "PRON":
            node = noun_phrases.with_clitic(node)
        node = node.with_before(*ref.before).with_after(*ref.after, *ref.tail)
        named = self.resolve(node, relation, replace(place, inside=entity))
        # the whole is remembered behind its parts: "Anna's brother" ends with the brother
        entity.mentions[-1] = replace(entity.mentions[-1], order=self.order)
        self.order += 1
        return named

    def _remember(self, entity: Entity, relation: str, place: Place) -> None:
        main = place.depth == 0
        entity.mentions.append(Seen(sentence=self.sentence, order=self.order, relation=relation, main=main))
        self.order += 1

    def _phrase(self, ref: Ref, relation: str, place: Place) -> Node:
        entity: Entity = ref.who
        spoken_to = entity is self.addressee and ref.form != "name"
        if entity is self.speaker or entity.person == 1 or spoken_to:
            agreement = "2" if spoken_to else "1"
            relation = "obj" if ref.form == "objective" else relation
            form = pronoun(agreement, relation, reflexive=ref.form == "reflexive")
            return word(form, "PRON")
        if ref.form in ("reflexive", "pronoun"):
            entity.shown = True
        if ref.form == "reflexive":
            return word(pronoun(entity.agreement, relation, reflexive=True), "PRON")
        if ref.form == "pronoun":
            return word(pronoun(entity.agreement, relation), "PRON")
        if not entity.mentions:
            return self._introduce(entity, replace(ref, form="name") if relation == "nmod:poss" else ref, relation)
        allowed = (
            not ref.after
            and ref.form in ("any", "brief", "objective")
            and clear(entity, relation, place, entities=self.entities, sentence=self.sentence)
        )
        again = entity.mentions[-1].sentence == self.sentence
        liking = 1.0 if again else 0.72 if relation in (*SUBJECTS, "nmod:poss") else 0.6
        if allowed and self.rng.random() < liking:
            entity.shown = True
            return word(pronoun(entity.agreement, "obj" if ref.form == "objective" else relation), "PRON")
        return self._again(entity, ref, relation)

    def _introduce(self, entity: Entity, ref: Ref, relation: str) -> Node:
        rng = self.rng
        if entity.members:
            return self._couple(entity, relation)
        if entity.owner is not None:
            node = noun_phrases.possessed(entity, adjectives=rng.random() < 0.4)
            entity.described = True
            if entity.name and (ref.form == "full" or rng.random() < 0.55):
                entity.named = True
                node = noun_phrases.apposed(node, word(entity.name, "PROPN"), commas=False)
            return node
        if entity.kind == "city":
            entity.named = True
            return word(entity.name, "PROPN")
        if entity.kind == "place":
            entity.described = True
            node = noun_phrases.definite(entity, adjectives=rng.random() < 0.5, compound=rng.random() < 0.3)
            return node
        if not entity.name:
            entity.described = True
            if self.speaker is not None and rng.random() < 0.7:  # talkers know what they talk about
                return noun_phrases.definite(entity, adjectives=True)
            return noun_phrases.indefinite(entity)
        return self._named(entity, ref)

    def _named(self, entity: Entity, ref: Ref) -> Node:
        """Introduce somebody with a name: by it, by what they are, or by both."""
        rng = self.rng
        way = rng.random()
        if ref.form in ("name", "brief", "full") or ref.after:
            way = 0.0
        entity.named = True
        if way < 0.5 or entity.title:
            return noun_phrases.proper(entity, full=ref.form == "full" or rng.random() < 0.6)
        entity.described = True
        if way < 0.76:
            name = noun_phrases.proper(entity, full=rng.random() < 0.6)
            return noun_phrases.apposed(name, noun_phrases.indefinite(entity), commas=True)
        if way < 0.89:
            called = word(rng.choice(("called", "named")), "VERB")
            name = noun_phrases.proper(entity, full=True)
            return noun_phrases.indefinite(entity).with_after(("acl", called.with_after(("xcomp", name))))
        entity.named = False
        return noun_phrases.indefinite(entity)

    def _couple(self, entity: Entity, relation: str) -> Node:
        # each is named as the couple would be: "Anna and I" as a subject, "Anna and me" elsewhere
        nodes = [
            self.resolve(Ref(who=member, form="noun"), relation, Place(inside=entity, depth=1))
            for member in sorted(entity.members, key=lambda member: member.person == 1)
        ]
        joined = noun_phrases.joined(nodes)
        if self.rng.random() < 0.2 and nodes[1].tag == "PROPN":
            joined = joined.with_before(("cc:preconj", word("both", "CCONJ")))
        return joined

    def _again(self, entity: Entity, ref: Ref, relation: str) -> Node:
        """Name an entity that the reader knows, without a pronoun."""
        rng = self.rng
        if entity.members:
            same = {member.sex for member in entity.members if member.person == 3}
            if len(same) == 1 and all(member.person == 3 for member in entity.members) and rng.random() < 0.6:
                noun = word("women" if same == {"f"} else "men", "NOUN", ("nummod", word("two", "NUM")))
                if not self._others_like(entity):
                    return noun.with_before(("det", word("the", "DET")))
            return self._couple(entity, relation)
        options: list[str] = []
        if entity.named:
            options += ["name"] * 2
        if entity.described and ref.form not in ("name", "brief"):
            options += ["noun"] * 2
        if ref.form not in ("name", "brief") and not ref.after and entity.kind != "city":
            general = self.hypernym(entity)
            if general:
                options += ["general"] * 2
        chosen = rng.choice(options)
        if chosen == "name":
            full = rng.random() < 0.2 and ref.form != "name" and entity.mentions[-1].sentence < self.sentence - 1
            return noun_phrases.proper(entity, full=full)
        if chosen == "general":
            entity.shown = True
            return word(
                general,
                "NOUN",
                ("det", word("this" if entity.kind != "person" and rng.random() < 0.4 else "the", "DET")),
            )
        if entity.owner is not None and (entity.kin or rng.random() < 0.4):
            return noun_phrases.possessed(entity)
        return noun_phrases.definite(entity, adjectives=rng.random() < 0.2)

    def hypernym(self, entity: Entity) -> str:
        """Return a wider word for an entity (`woman`, `animal`), or nothing if it could mean another."""
        if entity.plural or entity.person == 1 or self._others_like(entity):
            return ""
        if entity.kind == "person":
            return "woman" if entity.sex == "f" else "man"
        if entity.kind in words("hypernyms"):
            general: str = raw()["hypernyms"][entity.kind]
            return "" if entity.noun is not None and entity.noun.lemma == general else general
        return ""

    def _others_like(self, entity: Entity) -> list[Entity]:
        """Return the entities of the same sort that the document has spoken of."""
        own = entity.members or (entity,)
        return [
            other
            for other in self.entities
            if other.mentions
            and not other.members
            and other not in own
            and other.kind == own[0].kind
            and (other.kind != "person" or other.sex == own[0].sex)
            and other.person == 3
        ]
