"""What the site adds to the pages of docs/: a first page, the reference of Python classes, the rest of the menu.

Pages link to files of the repository, which a site does not have: such links become the file's path.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from mkdocs.structure.files import File

ROOT = Path(__file__).parent.parent
DOCS = ROOT / "docs"
CLASSES = ("footnotes.open", "footnotes.connect", "footnotes.Library", "footnotes.AsyncLibrary", "footnotes.Client")
MODULES = ("footnotes.types", "footnotes.errors")
API = "reference/api.md"
_SHIM = "https://unpkg.com/iframe-worker/shim"
_LINK = re.compile(r"\[([^\]]*)\]\(([^)#\s]+)(#[^)]*)?\)")


def on_files(files: Any, *, config: Any) -> Any:
    """The first page is the README; the reference of the classes is made of their docstrings."""
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    moved = re.sub(r"\]\(docs/", "](", readme)
    files.append(File.generated(config, "index.md", content=moved))
    parts = "\n\n".join(f"::: {name}" for name in CLASSES)
    modules = "\n\n".join(f"::: {name}" for name in MODULES)
    files.append(File.generated(config, API, content=f"# Python classes\n\n{parts}\n\n{modules}\n"))
    return files


def on_config(config: Any) -> Any:
    """Pages that no menu names yet come last, by folder: none is left out."""
    named = set(re.findall(r"[\w/-]+\.md", str(config["nav"])))
    rest = sorted(str(page.relative_to(DOCS)) for page in DOCS.rglob("*.md"))
    found: dict[str, list[str]] = {"Reference": ["reference/index.md", API]}
    for page in (one for one in rest if one not in named and one != "reference/index.md"):
        folder = page.split("/")[0].capitalize() if "/" in page else "More"
        found.setdefault(folder, []).append(page)
    config["nav"] = [*config["nav"], *({name: pages} for name, pages in found.items())]
    return config


def on_page_markdown(markdown: str, *, page: Any, config: Any, files: Any) -> str:
    known = {file.src_uri for file in files}

    def checked(match: re.Match[str]) -> str:
        text, target, _ = match.groups()
        if "://" in target or target.startswith("mailto:"):
            return match[0]
        place = _resolved(Path(page.file.src_uri).parent / target)
        return match[0] if place in known else f"{text} (`{place.lstrip('./')}`)"

    return _LINK.sub(checked, markdown)


def on_post_page(output: str, *, page: Any, config: Any) -> str:
    """The one script that the theme would fetch from elsewhere is ours to give."""
    up = "../" * page.file.dest_uri.count("/")
    return output.replace(_SHIM, f"{up}assets/iframe-worker-shim.js")


def on_post_template(output_content: str, *, template_name: str, config: Any) -> str:
    return output_content.replace(_SHIM, "assets/iframe-worker-shim.js")


def _resolved(path: Path) -> str:
    """A path without the steps up in it; what leads out of docs/ begins at the repository."""
    parts: list[str] = []
    for part in path.as_posix().split("/"):
        if part == ".." and parts and parts[-1] != "..":
            parts.pop()
        elif part != ".":
            parts.append(part)
    return "/".join(parts)
