"""Closed lists of English words by which a phrase's head is found without tags or trees (`head_words`).

All in lower case. They are lists of function words, and of those adjectives, adverbs and participles that are
frequent and that no ending gives away.
"""


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


PRONOUNS = _words(
    "i me my mine myself we us our ours ourselves you your yours yourself yourselves he him his himself she her "
    "hers herself it its itself they them their theirs themselves themself thou thee thy thine thyself ye "
    "who whom whose which what whoever whomever whatever whichever that this these those "
    "oneself each both all some any none either neither "
    "someone somebody something anyone anybody anything everyone everybody everything nobody nothing "
    "'em em ya y'all"
)
POSSESSIVES = _words("my our your his her its their thy whose")
ARTICLES = _words("the a an this that these those every no such what which")
QUANTITIES = _words(
    "all both half each either neither some any none many much more most few fewer several enough less least "
    "another other others first second third last next only own same very single double "
    "one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen "
    "eighteen nineteen twenty thirty forty fifty sixty seventy eighty ninety hundred thousand million billion"
)
PREPOSITIONS = _words(
    "about above across after against along alongside amid amidst among amongst around as at atop before behind "
    "below beneath beside besides between beyond by concerning despite down during except for from in inside "
    "into like near next of off on onto opposite out outside over past per regarding since than through "
    "throughout till to toward toward under underneath unlike until unto up upon versus via vs with within "
    "without worth"
)
RELATIVES = _words("who whom whose which that where when why whereby wherein whereof whither whence")
# words of other classes that a phrase may hold before its first noun
FUNCTION_WORDS = _words(
    "and or but nor yet not if because though although while whereas so then also too even just rather quite almost "
    "nearly about approximately roughly perhaps maybe still ever never always often once twice again "
    "how however there here now"
)
ADJECTIVES = _words(
    "able ancient angry bad beautiful best better big bitter black blind blue bold brave brief bright broad brown "
    "busy calm cheap civil clean clear clever cold common complete cool correct crazy current curious dark dead "
    "deaf dear deep different difficult dirty direct double dry due dull dumb eager early easy elder eldest empty "
    "entire equal evil exact extra faint fair false familiar famous fat favorite favorite fellow fine firm fit "
    "flat foreign former free fresh front full further future gay gentle glad golden good grand grave gray great "
    "greater greatest green gray grim happy hard heavy high higher highest holy honest hot huge human humble ill "
    "important infinite inner innocent intense junior keen key kind large larger largest late later latest latter "
    "lazy left lesser light little local lone lonely long longer longest loose loud lovely low lower lucky mad main "
    "major mean mere mild minor modern modest much naked narrow nasty neat new newer newest next nice noble old "
    "older oldest opposite orange original outer overall pale particular past perfect pink plain polite poor present "
    "pretty previous prime private proper proud public pure purple quick quiet rapid rare raw ready real recent red "
    "regular rich right ripe rotten rough round royal sacred sad safe same secret senior separate severe shallow "
    "sharp short sick silent silly similar simple slight slim slow small smaller smallest smart smooth soft solemn "
    "solid sorry sound sour special square stale steady steep stern stiff still stout straight strange strict strong "
    "stupid sudden sure sweet swift tall tender terrible thick thin tight tiny total tough true twin ugly upper "
    "upright usual vague various vast violent warm weak wealthy weird wet white whole wicked wide wild wise worse "
    "worst worthy wretched wrong yellow young younger youngest"
)
# endings of adjectives and adverbs, and the nouns among the words that have them
ADJECTIVE_ENDINGS = ("ous", "ful", "less", "able", "ible", "ical", "ish", "ive", "like", "most", "ly")
NOUNS_LIKE_ADJECTIVES = _words(
    "ally anomaly assembly belly bully butterfly family fly folly italy jelly july lily monopoly rally reply supply "
    "table vegetable cable fable constable detective executive fish dish wish finish british english irish spanish "
    "parish rubbish representative relative native objective motive initiative alternative captive archive drive "
    "hive wife mischief spoonful handful mouthful armful host post coast ghost cost boast east west breakfast "
    "medical musical physical spectacle"
)
# participles that end in neither -ed nor -ing, of verbs that often follow a noun
PARTICIPLES = _words(
    "been begun bent bound broken brought built bought caught chosen clad cut done drawn driven fallen felt found "
    "forgotten fought given gone grown heard held hidden hung kept known laid lain led left lent lost made meant met "
    "paid put read risen run said seen sent set shown shut slain sold spent spoken spread stolen stood struck sung "
    "sunk sworn taken taught thought thrown told torn understood woken won worn woven written"
)
# nouns and other words that end like a participle
NOT_PARTICIPLES = _words(
    "anything beginning being building ceiling clothing cunning darling dwelling earring engineering evening "
    "everything feeling king landing lightning meaning meeting morning nothing offspring opening painting "
    "pudding railing ring saying sibling sing sling something spring stocking string thing training viking "
    "wedding wing writing bed bleed breed creed deed feed greed hatred hundred indeed kindred need red reed seed "
    "shed shred sled speed steed weed"
)
CLITICS = frozenset({"'s", "’s"})
# subject pronouns: after a noun they begin a relative clause whose relative pronoun is left out (the man I saw)
SUBJECTS = _words("i he she we they you it thou ye")
CONJUNCTIONS = _words("and or nor but")
COMMAS = frozenset({",", ";", ":", "(", "[", "--", "---", "—", "–", "―", "..."})
