"""Closed lists of English words, used to find a phrase's head without tags or trees (`head_words`).

All in lower case; the long ones are read from `data/english_words.json`. They are lists of function words, and of
frequent adjectives, adverbs and participles that cannot be recognized by their ending.
"""

import json
from importlib import resources

_FILE = resources.files("headscope").joinpath("data/english_words.json")
_LISTS = json.loads(_FILE.read_text(encoding="utf-8"))

_WHERES = ("whereby", "wherein", "whereof", "whither", "whence")
PRONOUNS = frozenset(_LISTS["pronouns"])
POSSESSIVES = frozenset(("my", "our", "your", "his", "her", "its", "their", "thy", "whose"))
ARTICLES = frozenset(("the", "a", "an", "this", "that", "these", "those", "every", "no", "such", "what", "which"))
QUANTITIES = frozenset(_LISTS["quantities"])
PREPOSITIONS = frozenset(_LISTS["prepositions"])
RELATIVES = frozenset(("who", "whom", "whose", "which", "that", "where", "when", "why", *_WHERES))
# words of other classes that may precede the first noun of a phrase
FUNCTION_WORDS = frozenset(_LISTS["function_words"])
ADJECTIVES = frozenset(_LISTS["adjectives"])
# endings of adjectives and adverbs, and the nouns among the words that have them
ADJECTIVE_ENDINGS = ("ous", "ful", "less", "able", "ible", "ical", "ish", "ive", "like", "most", "ly")
NOUNS_LIKE_ADJECTIVES = frozenset(_LISTS["nouns_like_adjectives"])
# participles that end in neither -ed nor -ing, of verbs that often follow a noun
PARTICIPLES = frozenset(_LISTS["participles"])
# nouns and other words that end like a participle
NOT_PARTICIPLES = frozenset(_LISTS["not_participles"])
CLITICS = frozenset(("'s", "’s"))
# subject pronouns: after a noun they begin a relative clause whose relative pronoun is left out (the man I saw)
SUBJECTS = frozenset(("i", "he", "she", "we", "they", "you", "it", "thou", "ye"))
CONJUNCTIONS = frozenset(("and", "or", "nor", "but"))
COMMAS = frozenset((",", ";", ":", "(", "[", "--", "---", "—", "–", "―", "..."))
