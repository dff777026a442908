"""Removes markup: leaves what a reader sees of Markdown and HTML."""

from __future__ import annotations

import re

_LINK = re.compile(r"!?\[([^\]\n]{0,1000})\]\([^)\s]{0,1000}(?:\s{1,9}\"[^\"]{0,1000}\")?\)(?:\{[^}\n]{0,200}\})?")
_REFERENCE = re.compile(r"\[([^\]\n]{1,1000})\]\[[^\]\n]{0,200}\]")
_MARKED = re.compile(
    r"(?<!`)``(?!`)(?P<literal>[^`\n]+)``(?!`)"
    r"|(?:(?<![\w:]):(?:code|command|file|kbd|literal|math|option|samp):"
    r"|\{(?:code|command|file|kbd|literal|math|option|samp)\})`(?P<coded>[^`\n]+)`(?!`)"
    r"|(?:(?<![\w:]):(?:[a-z]+:)?[a-z-]+:|\{(?:[a-z]+:)?[a-z-]+\})"
    r"`(?:[!~]|\.(?=[^\W\d]))?(?P<role>[^`<>\n]{1,200}?)(?:[ \t]*<[^`<>]*>)?`(?!`)"
    r"|(?<![`\w:])`(?P<linked>[^`<>]{1,400}?)(?:\s*<[^`<>]*>)?`__?(?!\w)"
    r"|(?P<code>(?<!`)`[^`\n]+`(?!`))"
    r"|(?<![\w`.-])(?P<named>[A-Z][\w.-]*[a-z\d])_(?![\w`])"
)
"""The marks of reStructuredText and MyST around a name: ``` ``code`` ```, `:doc:`text <target>``,
`{ref}`text <target>``, `` `text <target>`_ ``, and `Name_`. Names in capitals alone keep their underscore, which is
mostly theirs."""
_KEPT = 0xF0000
"""The first of the private characters that stand for code while the text around it is read."""
_TARGET = re.compile(r"^[ \t]*\.\. _[^:\n]+:(?: [^\n]*)?$", re.MULTILINE)
LITERAL_BLOCK = re.compile(
    r"^([ \t]*)(?:\.\. (?:code|code-block|sourcecode|prompt)::[^\n]*(?:\n[ \t]+:\w+:[^\n]*)*"
    r"|((?![ \t]*(?::::|\.\. ))[^\n]*?)::)"
    r"[ \t]*\n"
    r"(?:[ \t]*\n)+((?:\1[ \t]+\S[^\n]*(?:\n|\Z)(?:[ \t]*\n)*)+)",
    re.MULTILINE,
)
"""Matches the code of reStructuredText below `::` or a directive: margin, what stands before `::`, code."""
_ELEMENTS = (
    "a|abbr|article|aside|audio|b|big|blockquote|br|canvas|center|cite|code|col|colgroup|dd|del|dfn|div|dl|dt|em|embed"
    "|figcaption|figure|footer|h[1-6]|hr|i|iframe|img|ins|kbd|li|main|mark|nav|noscript|ol|optgroup|p|pre|q|s|samp|script"
    "|span|strike|strong|sub|sup|svg|table|tbody|td|tfoot|th|thead|tr|tt|u|ul|var|video"
)
"""Tag names that mean nothing else."""
_WORDS = (
    "address|button|caption|dialog|details|font|form|header|input|label|legend|link|map|meta|object|option|param|path"
    "|picture|section|select|small|source|style|summary|template|textarea|time"
)
"""Tag names that may be words of the text, such as `<path>`, unless they close or have attributes."""
_TAG = re.compile(
    rf"</?(?:{_ELEMENTS})\s*/?>|</(?:{_WORDS})\s*>|<(?:{_ELEMENTS})\s[^<>\n]{{0,300}}>"
    rf"|<(?:{_WORDS})\s[^<>\n=]{{1,40}}=[^<>\n]{{0,300}}>|<!--.*?-->"
    r"|<[a-z]+ \w+=\"[^<>]*\Z",
    re.DOTALL,
)
_ATTRIBUTES = re.compile(r"(?<![ \t])[ \t]*\{\s*[.#:][^{}\n]{0,120}\}")
_EMPHASIS = re.compile(
    r"(?<![\w*\\])(\*\*\*|\*\*|\*)(?=\S)(.{1,1000}?)(?<=\S)\1(?![\w*])"
    r"|(?<![\w_])(__|_)(?=\S)([^_\n]{1,1000}?)(?<=\S)\3(?![\w_])"
)
"""Emphasis of at most 1,000 characters: an open star costs no more time than that."""
_ADMONITION = re.compile(r"^[ \t]*(?:/{3,}|:{3,}|!{3})\s*(?:\w+\s*)?(?:\|\s*)?", re.MULTILINE)
_LEAD = re.compile(r"^[ \t]*(?:#{1,6}\s+|>+\s?|[-*+]\s+)+", re.MULTILINE)
_ADORNMENT = re.compile(r"^([!-/:-@\[-`{-~])\1{3,}[ \t]*$\n?", re.MULTILINE)
_FENCE_LINE = re.compile(r"^[ \t]*(?:`{3,}|~{3,}|:{3,})[^\n`]*$(?:\n[ \t]*:[\w-]+:[^\n]*$)*\n?", re.MULTILINE)
_NOTE = re.compile(
    r"^([ \t]*)\.\. (?:admonition|attention|caution|danger|error|hint|important|note|seealso|tip|topic|warning)"
    r"::[ \t]*",
    re.MULTILINE,
)
_SINCE = re.compile(r"^[ \t]*\.\. (versionadded|versionchanged|deprecated|versionremoved)::[ \t]*", re.MULTILINE)
_SINCE_WORDS = {
    "versionadded": "Added in version ",
    "versionchanged": "Changed in version ",
    "deprecated": "Deprecated since version ",
    "versionremoved": "Removed in version ",
}
_DIRECTIVE = re.compile(r"^[ \t]*\.\. (?:\|[^|\n]+\| )?[\w:-]+::[^\n]*$", re.MULTILINE)
_OPTION = re.compile(r"(^[ \t]*\.\. [^\n:]{1,80}::[^\n]*\n)((?:[ \t]+:[\w -]+:[^\n]*(?:\n|\Z))+)", re.MULTILINE)
_EMOJI = re.compile("[\U0001f000-\U0001faff\u2600-\u27bf\u2b00-\u2bff\ufe0f]+\\s?")


def plain_text(text: str) -> str:
    """Remove link addresses, tags, and marks of emphasis, headings and lists; code keeps its marks."""
    codes: dict[str, str] = {}

    def unmarked(match: re.Match[str]) -> str:
        code = match["literal"] or match["coded"]
        code = f"`{code}`" if code else match["code"]
        if not code:
            return match["role"] or match["linked"] or match["named"]
        sign = chr(_KEPT + len(codes))
        codes[sign] = code
        return sign

    text = _MARKED.sub(unmarked, _TARGET.sub("", text))
    text = _TAG.sub("", text)
    text = _LINK.sub(r"\1", text)
    text = _REFERENCE.sub(r"\1", text)
    text = _ATTRIBUTES.sub("", _ADMONITION.sub("", text))
    text = _LEAD.sub("", text)
    for _ in range(2):
        text = _EMPHASIS.sub(lambda match: match[2] or match[4] or "", text)
    text = _EMOJI.sub("", text)
    for sign, code in codes.items():
        text = text.replace(sign, code)
    return " ".join(text.split())


def skim_text(text: str) -> str:
    """Return a passage of Markdown or reStructuredText for skimming: also without fences, rules and directives."""
    text = _OPTION.sub(r"\1", _ADORNMENT.sub("", text))
    text = _SINCE.sub(lambda match: _SINCE_WORDS[match[1]], _NOTE.sub(r"\1", text))
    text = _DIRECTIVE.sub("", _FENCE_LINE.sub("", text))
    return plain_text(re.sub(r"::[ \t]*$", ":", text, flags=re.MULTILINE))
