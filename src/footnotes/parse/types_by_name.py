"""The content types that Footnotes has names for."""

from __future__ import annotations

PLAIN = "text/plain"
MARKDOWN = "text/markdown"
WIKI = "text/x-wiki"
"""Markdown that describes a repository; never detected, only named by the caller."""
PDF = "application/pdf"
HTML = "text/html"
XML = "application/xml"
JSON = "application/json"
JSON_LINES = "application/x-ndjson"
NOTEBOOK = "application/x-ipynb+json"
CSV = "text/csv"
TSV = "text/tab-separated-values"
RST = "text/x-rst"
RTF = "application/rtf"
MAIL = "message/rfc822"
EPUB = "application/epub+zip"
DOCX = "application/vnd.openxmlformats-officedocument.wordprocessingml.document"
PPTX = "application/vnd.openxmlformats-officedocument.presentationml.presentation"
XLSX = "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"
XLSB = "application/vnd.ms-excel.sheet.binary.macroenabled.12"
XLS = "application/vnd.ms-excel"
ODT = "application/vnd.oasis.opendocument.text"
ODP = "application/vnd.oasis.opendocument.presentation"
ODS = "application/vnd.oasis.opendocument.spreadsheet"

LANGUAGES = {
    "python": ("py", "pyi", "pyw"),
    "javascript": ("js", "mjs", "cjs", "jsx"),
    "typescript": ("ts", "mts", "cts"),
    "tsx": ("tsx",),
    "go": ("go",),
    "rust": ("rs",),
    "java": ("java",),
    "c": ("c", "h"),
    "cpp": ("cc", "cpp", "cxx", "hpp", "hh", "hxx"),
    "ruby": ("rb",),
    "csharp": ("cs",),
    "php": ("php",),
    "bash": ("sh", "bash"),
    "kotlin": ("kt", "kts"),
    "swift": ("swift",),
    "scala": ("scala", "sc"),
    "dart": ("dart",),
    "lua": ("lua",),
    "elixir": ("ex", "exs"),
    "sql": ("sql",),
    "protobuf": ("proto",),
    "graphql": ("graphql", "gql"),
    "vue": ("vue",),
    "svelte": ("svelte",),
}
"""Programming languages and their file name suffixes. Languages after Bash have no grammar here: regular expressions
find their definitions."""


_MARKUP = frozenset(["md", "markdown", "mdown", "mkd", "mdx", "qmd", "rmd", "rst"])


def code_mime(language: str) -> str:
    """Return the content type of source code in a language."""
    return f"text/x-{language}"


def is_code_name(filename: str) -> bool:
    """Return whether a file's name ends like source code in a programming language."""
    ending = filename.rpartition(".")[2].lower()
    return any(ending in endings for endings in LANGUAGES.values())


def is_markup_name(filename: str) -> bool:
    """Return whether a file's name ends like Markdown or reStructuredText, whose marks are no words to a reader."""
    return filename.rpartition(".")[2].lower() in _MARKUP


def is_source_code(mime: str) -> bool:
    """Return whether a content type is a programming language that Footnotes cuts by function and class."""
    return mime.startswith("text/x-") and mime.removeprefix("text/x-") in LANGUAGES
