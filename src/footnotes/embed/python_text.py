"""Detects Python: its passages are embedded by weights trained on functions."""

from __future__ import annotations

import re

_DEFINES = re.compile(r"^[ \t]*(?:async def|def|class) +\w+.*[:(,]\s*$", re.MULTILINE)
_STATEMENT = re.compile(
    r"^\s*(?:(?:async )?(?:def|for|with) .*|(?:class|if|elif|while|except|else|try|finally)\b.*:|@\w.*"
    r"|(?:return|raise|yield|import|from|assert|del|pass|break|continue)\b[^.]*"
    r"|[\w.\[\]'\", ]+ [-+*/|&]?= .*|.*[)\]},({\[]|\"\"\".*)\s*$"
)
_LEAST = 0.35
"""The least share of lines that are statements: a function may be shorter than its docstring, but prose has fewer."""
_MOST_CHARACTERS = 4_000


def is_python(text: str) -> bool:
    """Return whether a text holds a definition and enough of its lines are statements."""
    text = text[:_MOST_CHARACTERS]
    if ("def " not in text and "class " not in text) or not _DEFINES.search(text):
        return False
    lines = [line for line in text.split("\n") if line.strip()]
    return sum(_STATEMENT.match(line) is not None for line in lines) >= _LEAST * len(lines)
