"""The word lists of the rules, all English but for those that tell other languages from it."""

from collections.abc import Mapping


def word_set(text: str) -> frozenset[str]:
    """The words of a text, parted by blanks."""
    return frozenset(text.split())


def _bases(text: str) -> Mapping[str, str]:
    """`base: form form; base: form` as {form: base}."""
    return {
        form: base.strip()
        for base, _, forms in (entry.partition(":") for entry in text.split(";"))
        for form in forms.split()
    }


def _values(text: str, start: int = 0, factor: int = 1) -> Mapping[str, int]:
    """Words in rising order as {word: value}."""
    return {word: value * factor for value, word in enumerate(text.split(), start)}


ENGLISH = word_set("""
    the a an of and or to in on at by for with from is are was were be been has have had will would it its he
    she they his her their this that these those as than not no but which who what when where there more most
    can could should may might must do does did if so because about after before into over under between
""")
"""Function words by which English is told from other languages."""

OTHER_LANGUAGES = (
    word_set("""
    der die das den dem des ein eine einen einer und ist sind war waren wurde werden nicht mit von für auf
    im zu le la les des du un une et est sont était dans pour pas que qui sur avec au aux ce cette el los
    las y es son fue en por para con se del al lo una su il gli di che è sono non per della nel alla os um
    uma e não em da dos foi com mais het een van niet voor op te zijn och att det som är på av inte med
    til af ikke og w na z się nie jest że
""")
    - ENGLISH
)

STOPWORDS = ENGLISH | word_set("""
    s t re ve d ll i me my you your we our us them him himself herself itself themselves own one ones only
    just also too very such any some each other another same all both few many much several again already
    still yet ever then once here up down out off through during while until since per via among across
    against without within toward towards upon around how why whose whom either neither nor though although
    however said say says get gets got make makes made take takes took give gives gave go goes went come comes
    came put puts let keep kept become becomes became seem seems well rather quite even now being having doing
    shall cannot am percent part least roughly nearly almost approximately
""")

NUMBER_WORDS: Mapping[str, int] = {
    **_values(
        "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen "
        "sixteen seventeen eighteen nineteen"
    ),
    **_values("twenty thirty forty fifty sixty seventy eighty ninety", 2, 10),
    "dozen": 12,
}

MAGNITUDES: Mapping[str, int] = {
    "hundred": 100,
    "thousand": 1_000,
    "million": 1_000_000,
    "billion": 1_000_000_000,
    "trillion": 1_000_000_000_000,
}

ORDINALS = _values("fourth fifth sixth seventh eighth ninth tenth eleventh twelfth thirteenth", 4)
"""Those that are hardly ever anything but a number; `first`, `second` and `third` are implied ones."""

IMPLIED_NUMBERS: Mapping[str, tuple[int, ...]] = {
    "half": (50, 2),
    "halves": (50, 2),
    "halve": (50, 2),
    "halved": (50, 2),
    "third": (3, 33),
    "thirds": (3, 66, 67),
    "quarter": (4, 25),
    "quarters": (4, 75),
    "double": (2,),
    "doubled": (2,),
    "twice": (2,),
    "triple": (3,),
    "tripled": (3,),
    "first": (1,),
    "second": (2,),
    "single": (1,),
    "once": (1,),
    "pair": (2,),
    "both": (2,),
    "century": (100,),
    "decade": (10,),
}
"""Numbers that a page's word may become in a claim."""

IRREGULAR = _bases("""
    be: is are was were been; fall: fell fallen; rise: rose risen; grow: grew grown; lose: lost; build:
    built; sell: sold; buy: bought; find: found; hold: held; leave: left; win: won; begin: began begun;
    bring: brought; write: wrote written; pay: paid; send: sent; lead: led; meet: met; run: ran; see: saw
    seen; spend: spent; think: thought; drive: drove driven; teach: taught; speak: spoke spoken; break:
    broke broken; choose: chose chosen; know: knew known; show: showed shown; tell: told; stand: stood;
    mean: meant; feel: felt; catch: caught; draw: drew drawn; throw: threw thrown; wear: wore worn; eat:
    ate eaten; fly: flew flown; sink: sank sunk; swim: swam swum; shrink: shrank shrunk; person: people
    persons; child: children; man: men; woman: women; good: better best; bad: worse worst; foot: feet;
    tooth: teeth; mouse: mice; use: used using
""")

SYNONYMS = _bases("""
    grow: rise increase climb; fall: drop decline decrease shrink; person: staff employee user customer;
    buy: purchase; begin: start launch; end: finish stop; big: large; income: revenue sales; need: require;
    firm: company business; car: automobile; wide: broad
""")
"""Words that count as one in any inflection; only those that mean the same nearly everywhere."""

NEGATIONS = word_set("no not never none nobody nothing neither nor without cannot hardly barely scarcely")

ABSOLUTES = word_set(
    "all every always never none only entire entirely completely nobody nothing everyone everything"
)

OPPOSITES = tuple(
    (word_set(left), word_set(right))
    for left, right in (
        ("more higher up rise rises rose risen increase increases increased grow grows grew grown climbed",
         "less fewer lower down fall falls fell fallen decrease decreases decreased drop drops dropped"),
        ("largest biggest longest highest most", "smallest shortest lowest least fewest"),
        ("better best", "worse worst"),
        ("before earlier", "after later"),
        ("above over exceeds exceeded", "below under"),
        ("first", "last"),
        ("cheaper cheapest", "dearer dearest costlier"),
        ("faster fastest sooner", "slower slowest"),
        ("safer safest", "riskier"),
        ("gained gains gain won wins win", "lost loses lose"),
        ("opened opens open", "closed closes close shut"),
        ("supports support supported", "opposes oppose opposed"),
        ("accepted accepts", "rejected rejects refused refuses"),
        ("easy easier easiest", "hard harder hardest difficult"),
        ("strong stronger", "weak weaker"),
    )
)  # fmt: skip
"""A claim with a word of one side whose page has only words of the other is turned round."""

ROLES = word_set("""
    adviser advisor analyst architect artist author astronomer biologist buyer captain chair chairman
    chairwoman chancellor chief chemist coach columnist commissioner consultant co-founder cofounder critic
    curator designer developer director doctor economist editor engineer executive expert farmer founder
    geographer geologist governor head historian host inspector investor journalist lawyer lead lecturer
    librarian maintainer manager mayor minister moderator nurse officer operator owner partner physicist pilot
    planner president producer professor programmer reporter representative researcher reviewer scientist
    secretary senator speaker spokesman spokesperson spokeswoman statistician surveyor teacher trainer
    treasurer vet writer
""")
"""What stands before or instead of a person's name."""

ORGANISATIONS = word_set("""
    agency association authority bank board brand bureau business city clinic club college commission
    committee company consortium cooperative council court customer department firm foundation fund
    government group hospital institute lab laboratory management maker ministry municipality museum office
    party port press publisher regulator retailer school shop startup studio supplier team union university
    utility vendor
""")

OWN_WORDS = word_set("company firm brand startup studio team business maker group management press shop we")
"""Organisation words that, after `the`, mean the page's own subject."""

CROWDS = word_set("""
    analysts assessment assessments critics data economists estimate estimates experts figures measurements
    observers polls researchers scientists statistics studies study survey surveys trial trials
""")
"""Speakers without a name, whose findings the world may hold as well."""

TEXTS = word_set("""
    agenda appendix brief briefing brochure chapter deck draft essay footnote handout invoice leaflet letter
    memo memorandum minutes note notes pamphlet post-mortem presentation primer report slides summary
    transcript update whitepaper
""")
"""Documents that are hardly ever of interest for themselves."""

MEDIA = word_set("""
    announcement article blog bulletin catalogue digest document documentation email episode guide handbook
    magazine manual newsletter page paper podcast post poster programme recording review template video
    webinar website
""")
"""Documents that may also be what a page is about."""

OCCASIONS = word_set("call hearing interview keynote meeting panel session talk webinar workshop")
"""What a page may have come from."""

DOCUMENTS = TEXTS | MEDIA | OCCASIONS

MONTH_NAMES = tuple(
    _values("january february march april may june july august september october november december")
)

DATE_WORDS = frozenset(MONTH_NAMES) | word_set("""
    monday tuesday wednesday thursday friday saturday sunday jan feb mar apr jun jul aug sep sept oct nov dec
""")
