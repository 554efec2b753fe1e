"""The cast of one document, and who and what is picked from it for the next sentence."""

from collections.abc import Sequence
from functools import cache
from random import Random

from headscope_grammar.cast.entities import Entity
from headscope_grammar.cast.reference import Speaker
from headscope_grammar.tree import Edge, Ref, with_case
from headscope_grammar.words.drawing import Drawn
from headscope_grammar.words.lexicon import Frame, Noun, frames, kind_of, nouns, raw, words

THINGS = tuple(raw()["nouns"])
MASS = ("drink",)
_TITLES = {"doctor": ("Dr.", "Dr."), "professor": ("Prof.", "Prof."), "": ("Mrs.", "Mr.")}


class Scene:
    """One document as it grows: its cast, its tense, what was used.

    Attributes:
        rng: the document's own source of chance.
        tense: `past`, in most documents, or `present`.
        cast: the people, the first of whom the document is about.
        used: names of the constructions used, in order.
    """

    def __init__(self, rng: Random) -> None:
        self.rng = rng
        self.entities: list[Entity] = []
        self.speaker = Speaker(rng, self.entities)
        self.tense = "past" if rng.random() < 0.8 else "present"
        self.used: list[str] = []
        self.verbs: set[str] = set()
        self.cast: list[Entity] = []
        self.things: list[Entity] = []
        self.places: list[Entity] = []
        self.timed = False  # whether the sentence says when
        self.placed = False  # whether it says where
        self.caused = False  # whether it says why
        self.joined = False  # whether it says with whom
        self.final = False  # whether it is the document's last
        self.later: list[Entity] = []  # whose names the reader knows when the sentence is over
        self.told: list[Entity] = []  # of whom the reader knows then what they are
        self.pet: Entity | None = None
        self.drawn = Drawn(rng)
        self._people()

    def begin(self, sentence: int, *, final: bool = False) -> None:
        """Begin a sentence, or begin it anew."""
        self.final = final
        self.speaker.sentence = sentence
        self.used = []
        self.later = []
        self.told = []
        self.timed = self.placed = self.caused = self.joined = False

    def end(self) -> None:
        """End a sentence."""
        for entity in self.later:
            entity.named = True
        for entity in self.told:
            entity.described = True

    def use(self, name: str) -> None:
        """Record that a construction was used."""
        self.used.append(name)

    def chance(self, probability: float) -> bool:
        """Draw yes or no."""
        return self.rng.random() < probability

    def fresh(self, listed: Sequence[str]) -> str:
        """Return a word that the document has not drawn yet, if there is one."""
        return self.drawn.fresh(listed)

    def _entity(self, kind: str, **values: object) -> Entity:
        entity = Entity(id=f"e{len(self.entities) + 1}", kind=kind, **values)  # type: ignore[arg-type]
        self.entities.append(entity)
        return entity

    def _people(self) -> None:
        """Draw the cast: two of the hero's sex at least, so that pronouns have rivals."""
        rng = self.rng
        sex = rng.choice("fm")
        other = "m" if sex == "f" else "f"
        hero = self._person(sex)
        self.cast = [hero, self._person(sex), self._person(other)]
        if self.chance(0.5):
            self.cast[1 + rng.randrange(2)] = self._relation(hero, sex if self.chance(0.5) else other)
        if self.chance(0.4):
            self.cast.append(self._person(rng.choice("fm")))
        if self.chance(0.4):
            self.pet = self.thing("animal", owner=hero)
        if self.chance(0.12):
            narrator = self._entity("person", sex=sex, person=1)
            self.cast.insert(1, narrator)

    def _person(self, sex: str) -> Entity:
        role = self.drawn.noun(nouns("role"))
        title = ""
        if self.chance(0.15) and role.lemma in ("doctor", "professor", "teacher", "librarian", "manager"):
            title = _TITLES.get(role.lemma, _TITLES[""])[sex == "m"]
        return self._entity(
            "person",
            noun=role,
            sex=sex,
            name=self.drawn.fresh(words("women" if sex == "f" else "men")),
            surname=self.drawn.fresh(words("surnames")),
            title=title,
            adjectives=self.drawn.adjectives("role"),
        )

    def _relation(self, owner: Entity, sex: str) -> Entity:
        noun = self.drawn.noun(nouns(self.rng.choice((sex, "a"))))
        name = self.drawn.fresh(words("women" if sex == "f" else "men"))
        return self._entity("person", noun=noun, sex=sex, owner=owner, name=name)

    def known(self) -> list[Entity]:
        """Return the things, animals and groups that the document has spoken of and that still exist."""
        return [
            one for one in self.things if not one.gone and (one.mentions or (one is self.pet and self.cast[0].mentions))
        ]

    def thing(
        self, kind: str, *, plural: bool | None = None, owner: Entity | None = None, choice: Sequence[Noun] = ()
    ) -> Entity:
        """Bring a new thing, animal or group of people into the document; of `choice`, if that is given."""
        rng = self.rng
        several = self.chance(0.15) if plural is None else plural
        several = several and kind not in (*MASS, "event", "machine") and owner is None
        noun = self.drawn.noun(choice or nouns(kind))
        entity = self._entity(
            kind,
            noun=noun,
            plural=several or kind == "people",
            adjectives=self.drawn.adjectives(noun.lemma if noun.lemma in raw()["adjectives"] else kind),
            compound=self.drawn.compound(noun) if self.chance(0.45) else "",
            number=rng.choice(("two", "three", "four", "")) if several or kind == "people" else "",
            owner=owner,
        )
        if entity.compound:  # no "wooden metal box"
            kept = (one for one in entity.adjectives if one not in words("materials"))
            entity.adjectives = tuple(kept)
        pet = kind == "animal" and noun.lemma in ("dog", "cat", "horse", "pony")
        if pet and not several and owner is None and self.chance(0.4):
            entity.name = self.drawn.fresh(words("pets"))
        self.things.append(entity)
        return entity

    def unnamed(self, kind: str) -> Entity:
        """Return an entity for a phrase that is made by hand and not taken up again."""
        return self._entity(kind)

    def place(self, *, indoors: bool | None = None) -> Entity:
        """Return a place of the document, old or new, under a roof or not if that matters."""
        known = [one for one in self.places if _fits(one, indoors)]
        if known and self.chance(0.3 + 0.2 * len(known)):
            return self.rng.choice(known)
        noun = self.drawn.noun([noun for noun in nouns("place") if indoors is None or noun.indoors == indoors])
        compound = self.drawn.compound(noun) if self.chance(0.3) else ""
        entity = self._entity("place", noun=noun, adjectives=self.drawn.adjectives("place"), compound=compound)
        self.places.append(entity)
        return entity

    def couple(self, first: Entity, second: Entity) -> Entity:
        """Return the two as one entity, `they`."""
        for entity in self.entities:
            if entity.members and set(entity.members) == {first, second}:
                return entity
        return self._entity("person", plural=True, members=(first, second))

    def person(self, *, exclude: Sequence[Entity] = (), named: bool = False) -> Entity | None:
        """Return one of the cast, those of the last sentences more often; None when nobody is left."""
        open_to = [one for one in self.cast if not any(one.holds(other) for other in exclude)]
        if named:
            open_to = [one for one in open_to if one.person == 3]
        # a relation is not brought in before the one whose relation it is
        open_to = [one for one in open_to if one.owner is None or one.owner.mentions]
        if not open_to:
            return None
        weights = [self._weight(one) for one in open_to]
        return self.rng.choices(open_to, weights)[0]

    def _weight(self, entity: Entity) -> float:
        weight = 2.0 if entity is self.cast[0] else 1.0
        if entity.mentions:
            age = self.speaker.sentence - entity.mentions[-1].sentence
            weight *= 2.5 if age <= 1 else 1.4
        return weight

    def something(self, kinds: Sequence[str], *, exclude: Sequence[Entity] = ()) -> Entity | None:
        """Return a thing of one of the kinds, from the document or new to it; None when nobody is left."""
        known = [
            one
            for one in self.known()
            if (one.kind in kinds or (one.noun and one.noun.lemma in kinds)) and one not in exclude
        ]
        if kinds == ("person",) or ("person" in kinds and self.chance(0.8)):
            return self.person(exclude=exclude)
        if known and self.chance(0.75):
            return self.rng.choices(known, [self._weight_of_thing(one) for one in known])[0]
        new = [kind for kind in kinds if kind in (*THINGS, *MASS, "people", "place", "room") or kind_of(kind)]
        if not new:
            return None
        kind = self.rng.choice(new)
        if kind in ("place", "room"):
            place = self.place(indoors=True if kind == "room" else None)
            return None if place in exclude else place
        choice: tuple[Noun, ...] = ()
        if kind_of(kind):
            choice = tuple(noun for noun in nouns(kind_of(kind)) if noun.lemma in kinds)
            kind = kind_of(kind)
        owner = self._owner(kind, exclude) if self.chance(0.22) else None
        return self.thing(kind, owner=owner, choice=choice)

    def _weight_of_thing(self, entity: Entity) -> float:
        return 3.0 if entity.mentions and entity.mentions[-1].sentence >= self.speaker.sentence - 1 else 1.0

    def _owner(self, kind: str, exclude: Sequence[Entity]) -> Entity | None:
        if kind not in ("portable", "text", "vehicle", "clothes", "instrument", "animal", "container"):
            return None
        known = [one for one in self.cast if one.mentions or one in exclude]
        if exclude and exclude[0].kind == "person" and not exclude[0].members and self.chance(0.6):
            return exclude[0]
        return self.rng.choice(known) if known else None

    def frame(self, tables: Sequence[str], *, subject: str, uses: str = "") -> Frame | None:
        """Return a verb, not used in the document before if possible, that a kind of subject can have."""
        listed = _frames(tuple(tables), subject, uses)
        left = [frame for frame in listed if frame.verb not in self.verbs] or listed
        return self.rng.choice(left) if left else None

    def where(self, *, indoors: bool | None = None) -> Edge:
        """Return where something happens: `in the kitchen`."""
        place = self.place(indoors=indoors)
        assert place.noun is not None
        self.placed = True
        return ("obl", with_case(place.noun.locative, Ref(who=place, form="noun")))

    def whither(self) -> Edge:
        """Return where somebody goes: `to the station`."""
        self.placed = True
        return ("obl", with_case("to", Ref(who=self.place(), form="noun")))


def _fits(place: Entity, indoors: bool | None) -> bool:
    return indoors is None or (place.noun is not None and place.noun.indoors == indoors)


@cache
def _frames(tables: tuple[str, ...], subject: str, uses: str) -> list[Frame]:
    return [
        frame
        for table in tables
        for frame in frames(table)
        if subject in frame.subject and all(use in frame.uses for use in uses)
    ]
