"""What documents are about: people, animals, things and places, and how an English reader sees them."""

from dataclasses import dataclass, field

from headscope_grammar.words.lexicon import Noun


@dataclass(eq=False, kw_only=True)
class Entity:
    """Something that a document speaks of, with what its reader has been told so far.

    Attributes:
        id: its name in the annotation: `e3`.
        kind: `person`, `people`, `place`, or a kind of the lexicon (`portable`, `animal`).
        noun: what it is called when it is not named; None where only a name is known.
        sex: `f`, `m` or `n`: decides the pronoun of one.
        plural: whether it is several.
        person: 1 for the narrator, 3 for all others.
        name, surname, title: a proper name in parts; empty where there is none.
        owner: whose it is (`her brother`, `Tom's bicycle`).
        members: of a couple.
        adjectives, compound: what its first noun phrase says of it.
        number: the word for how many, of a plural.
        named, described: whether its name, or what it is, has been told.
        shown: whether a pronoun or a word such as `woman` has told the sex.
        gone: eaten, drunk: not to be spoken of again.
    """

    id: str
    kind: str
    noun: Noun | None = None
    sex: str = "n"
    plural: bool = False
    person: int = 3
    name: str = ""
    surname: str = ""
    title: str = ""
    owner: "Entity | None" = None
    members: tuple["Entity", ...] = ()
    adjectives: tuple[str, ...] = ()
    compound: str = ""
    number: str = ""
    named: bool = False
    described: bool = False
    gone: bool = False
    shown: bool = False
    mentions: list["Seen"] = field(default_factory=list)

    @property
    def agreement(self) -> str:
        """The pronoun that stands for it: `f`, `m`, `n` (it), `p` (they) or `1` (I)."""
        if self.person == 1:
            return "1"
        return "p" if self.plural else self.sex

    @property
    def kin(self) -> bool:
        """Whether it is known as somebody's relation."""
        return self.owner is not None and self.kind == "person"

    @property
    def sexed(self) -> bool:
        """Whether the reader knows if it is a woman or a man."""
        kin = self.noun is not None and self.noun.kind in ("f", "m") and self.described
        return self.shown or kin or (self.named and not self.title) or bool(self.members)

    def holds(self, other: "Entity") -> bool:
        """Tell whether the other is this, a member of it, or it a member of the other."""
        return other is self or other in self.members or self in other.members


@dataclass(frozen=True, kw_only=True)
class Seen:
    """One mention, as a reader remembers it.

    Attributes:
        sentence: in which sentence, from 0.
        order: which mention of the document, from 0.
        relation: its grammatical relation.
        main: whether it stood directly under the sentence's main verb.
    """

    sentence: int
    order: int
    relation: str
    main: bool


PRONOUNS = {
    "f": ("she", "her", "her", "herself"),
    "m": ("he", "him", "his", "himself"),
    "n": ("it", "it", "its", "itself"),
    "p": ("they", "them", "their", "themselves"),
    "1": ("I", "me", "my", "myself"),
    "2": ("you", "you", "your", "yourself"),
}
"""Subject, object, possessive and reflexive form by agreement."""
SUBJECTS = ("nsubj", "nsubj:pass")


def pronoun(agreement: str, relation: str, *, reflexive: bool = False) -> str:
    """Return the form of a pronoun in a grammatical relation."""
    subject, other, possessive, own = PRONOUNS[agreement]
    if reflexive:
        return own
    return subject if relation in SUBJECTS else possessive if relation == "nmod:poss" else other
