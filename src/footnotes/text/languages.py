"""Detects the language of a text from its function words, to choose a stemmer.

This is not a general language identifier. It must only choose a stemmer, always the same one, in microseconds;
a wrong guess costs a few extra index terms (see `analysis`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from itertools import repeat

STEMMERS = {
    "ar": "arabic", "ca": "catalan", "cs": "czech", "da": "danish", "de": "german", "el": "greek", "en": "english",
    "es": "spanish", "et": "estonian", "eu": "basque", "fa": "persian", "fi": "finnish", "fr": "french", "ga": "irish",
    "hi": "hindi", "hu": "hungarian", "hy": "armenian", "id": "indonesian", "it": "italian", "lt": "lithuanian",
    "ne": "nepali", "nl": "dutch", "no": "norwegian", "pl": "polish", "pt": "portuguese", "ro": "romanian",
    "ru": "russian", "sr": "serbian", "sv": "swedish", "ta": "tamil", "tr": "turkish", "yi": "yiddish",
}  # fmt: skip
"""Snowball algorithms by ISO 639-1 code."""

DEFAULT = "en"

# Function words that are frequent in one language and rare in the others. A word of several languages is listed
# under each, and counts for each. Single letters are omitted because formulas and lists are full of them.
_FUNCTION_WORDS = {
    "en": "the of and to in is that for with was are this by from which what how does when where who why it be"
    " or an as on have has had not at can do did you your my me were been their they its than then there"
    " these but if no such into should we our he she his her will would about a i",
    "de": "der die das und in ist von den dem mit zu im des auf für nicht ein eine einen einem einer als auch"
    " sich wie was wer wo wann warum werden wird sind bei oder aus nach durch über kann ich wir haben hat"
    " dass zum zur welche welcher welches",
    "fr": "le la les de des et est une du en dans pour que qui sur pas avec sont par au aux ce cette il elle"
    " nous vous quel quelle quels quelles comment pourquoi où combien plus été être ou mais leur ses",
    "es": "el la los las de del y no en es que por un una con para se su al como más qué cuál quién cuándo"
    " dónde cómo cuánto cuántos son fue está entre sobre pero también sus este esta quien cual",
    "it": "il lo gli le la di in del della dei delle che è per un una con non sono si da nel nella come più"
    " quale quali chi dove quando perché quanto questo questa anche alla al ha ed",
    "pt": "os as de um uma do da dos das em no na que é para com não por mais como qual quais quem quando onde"
    " se foi são ao seu sua pelo pela também está entre",
    "nl": "de het een van in en is dat te met voor op zijn niet aan wat wie waar wanneer waarom hoe worden"
    " wordt door bij naar uit ook maar deze die dit heeft kan er als om welke",
    "sv": "och att det som en är av för på med den till inte har om ett hur vad vem var när varför från eller"
    " kan ska vilka vilken genom också",
    "da": "og at det som er af for på med den til ikke har om et hvordan hvad hvem hvor hvornår hvorfor fra"
    " eller kan skal hvilke hvilken også blev",
    "no": "og at det som er av for på med den til ikke har om et hvordan hva hvem hvor når hvorfor fra eller"
    " kan skal hvilke hvilken også ble",
    "fi": "ja on ei se että oli ovat joka kun mutta myös tai mikä miten miksi missä milloin kuka sekä ole mitä kuin",
    "et": "ja on ei see et oli ka kui mis kuidas miks kus millal kes või nii aga",
    "hu": "a az és hogy nem egy is van volt mi ki hol mikor miért hogyan milyen vagy meg csak ez de mint melyik",
    "pl": "na się nie do jest że to jak co kto gdzie kiedy dlaczego oraz są przez dla po od czy który która które",
    "cs": "a je se na že to v jak co kdo kde kdy proč pro jsou který která které nebo jako ale podle při byl",
    "ro": "și în de la cu este că nu pe din o un care ce cum cine unde când sunt pentru mai sau prin",
    "tr": "ve bir bu için ile ne nasıl neden nerede zaman kim mi mı olarak daha olan gibi değil çok hangi kaç",
    "ca": "el la els les i de que és en per amb una no com què qui quan on més són del al dels pel aquest",
    "id": "yang dan di dari untuk dengan ini itu pada adalah tidak apa bagaimana siapa mengapa kapan atau oleh ke akan",
    "lt": "ir yra kad su iš kaip kas kur kodėl ar į bei buvo tai nuo per dėl kuris",
    "eu": "eta da ez bat du dira nola zer nor non noiz edo ere baina izan",
    "ga": "agus an na is ar tá sé le go ag bhí cad conas cé cathain nó",
}


# One or two keywords contain no function words, but perhaps a characteristic letter.
_LETTERS = {
    "de": "äöüßÄÖÜ", "es": "ñ¿¡Ñ", "pt": "ãõÃÕ", "sv": "åÅ", "da": "øæØÆ", "pl": "łęąśżźŁŚŻ", "tr": "ğıİşĞŞ",
    "hu": "őűŐŰ", "cs": "řěůŘ", "ro": "șțăȘȚ", "fr": "çœêèùÇÉ", "it": "àòì", "lt": "ėįųš",
}  # fmt: skip
_LANGUAGE_OF_LETTER = {letter: language for language, letters in _LETTERS.items() for letter in letters}


def _by_word() -> dict[str, tuple[str, ...]]:
    """Map each function word, in lower case and capitalised, to its languages: `die` → de, nl."""
    found: dict[str, list[str]] = {}
    for language, words in _FUNCTION_WORDS.items():
        for word in words.split():
            found.setdefault(word, []).append(language)
            found.setdefault(word.capitalize(), []).append(language)
    return {word: tuple(languages) for word, languages in found.items() if len(word) > 1}


_LANGUAGES_OF = _by_word()
_FIELD_BITS = 20
_ENGLISH, _OTHER, _LISTED = 1, 1 << _FIELD_BITS, 1 << 2 * _FIELD_BITS


def _tallies() -> dict[str, int]:
    """Map each function word to its votes, packed into one number: for English, for any other language, and words
    listed as English. One pass over a text then counts all three."""
    tallies = {
        word: (_ENGLISH if DEFAULT in languages else 0) + (_OTHER if set(languages) - {DEFAULT} else 0)
        for word, languages in _LANGUAGES_OF.items()
    }
    for word in _FUNCTION_WORDS[DEFAULT].split():
        tallies[word] = tallies.get(word, 0) + _LISTED
    return tallies


_TALLIES = _tallies()


def function_words(language: str) -> tuple[str, ...]:
    """Return the function words of a language; none for languages not listed here."""
    return tuple(_FUNCTION_WORDS.get(language, "").split())


def detect(words: Sequence[str]) -> str:
    """Return the language with most function words among these words; English if no other language has any."""
    return DEFAULT if _is_english(_tally(words), len(words)) else _by_votes(words)


def detect_with_share(words: Sequence[str]) -> tuple[str, float]:
    """Return the language of these words, and the share of its function words (in lower case) among them."""
    tally = _tally(words)
    if _is_english(tally, len(words)):
        return DEFAULT, (tally >> 2 * _FIELD_BITS) / len(words)
    found = _by_votes(words)
    return found, sum(map(frozenset(function_words(found)).__contains__, words)) / max(len(words), 1)


def _tally(words: Sequence[str]) -> int:
    return sum(map(_TALLIES.get, words, repeat(0)))


def _is_english(tally: int, words: int) -> bool:
    """Return whether a tally proves English: all other languages together have no more votes."""
    english, other = tally % _OTHER, tally % _LISTED // _OTHER
    return words < _OTHER and english >= other and english > 0


def _by_votes(words: Sequence[str]) -> str:
    votes: dict[str, int] = {}
    # Group equal sets of languages first: a text has few of them, and Counter runs in C.
    for languages, count in Counter(map(_LANGUAGES_OF.get, words)).items():
        for language in languages or ():
            votes[language] = votes.get(language, 0) + count
    if not votes:
        return _by_letter(words)
    most = max(votes.values())
    if votes.get(DEFAULT) == most:
        return DEFAULT
    best = [language for language in _FUNCTION_WORDS if votes.get(language) == most]
    if len(best) == 1:
        return best[0]
    by_letter = _by_letter(words)
    return by_letter if by_letter in best else best[0]


def _by_letter(words: Sequence[str]) -> str:
    letters = (letter for word in words[:20] if not word.isascii() for letter in word[:40])
    return next((_LANGUAGE_OF_LETTER[letter] for letter in letters if letter in _LANGUAGE_OF_LETTER), DEFAULT)
