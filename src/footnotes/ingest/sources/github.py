"""Issues of GitHub: `github://owner/repository` by its API, or `github:issues.json` from `gh issue list --json`.

The fields of such a file: number,title,body,author,comments,labels,state,createdAt,updatedAt,url.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from footnotes.errors import MissingExtra, OptionError, SourceAway
from footnotes.fetch.address import public_address
from footnotes.ingest.sources import Address, BaseSource, Content, Entry, LeftOut
from footnotes.ingest.sources.files import digest, write_text
from footnotes.remote.client import guarded_transport
from footnotes.types import JsonValue

if TYPE_CHECKING:
    import httpx

_API = "https://api.github.com"
_NAME = re.compile(r"[\w.-]{1,100}")
_MOST_PAGES, _PAGE = 1_000, 100
Item = dict[str, Any]
"""An issue or a comment, as GitHub writes it."""


class GitHubSource(BaseSource):
    """Issues and, with `pulls=true`, pull requests, each with its comments."""

    def __init__(self, address: Address) -> None:
        super().__init__(address)
        self._issues: dict[str, Item] = {}
        self._client: httpx.Client | None = None
        if address.host:
            self._owner, self._repository = address.host, address.path.strip("/")
            if not _NAME.fullmatch(self._owner) or not _NAME.fullmatch(self._repository):
                raise OptionError(f"{address.text} names no repository", remedy="Write github://owner/repository.")
            self._client = _client(address)
        else:
            self._file = address.local_path()
            self.root = self.name = f"github:{self._file}"

    @classmethod
    def options(cls) -> tuple[str, ...]:
        return "token", "state", "pulls", "api"

    @classmethod
    def check_rights(cls, address: Address) -> None:
        if address.option("api"):
            address.check_private("an address of one's own may be inside the server's network")

    def entries(self) -> Iterator[Entry | LeftOut]:
        issues = self._list_issues() if self._client else iter(json.loads(self._file.read_text("utf-8")))
        for row in issues:
            if "pull_request" in row and not self.address.flag("pulls"):
                continue
            key = f"issues/{row['number']}.md"
            self._issues[key] = row
            updated = row.get("updated_at") or row.get("updatedAt") or ""
            comments = row.get("comments")
            stamp = digest(updated, comments, row.get("title"), row.get("body"), row.get("state"), _labels(row))
            yield Entry(key, stamp, metadata=_metadata(row))

    def _list_issues(self) -> Iterator[Item]:
        state = self.address.option("state", "all")
        yield from self._pages("issues", state=state, per_page=str(_PAGE), sort="created", direction="asc")

    def _pages(self, path: str, **query: str) -> Iterator[Item]:
        for page in range(1, _MOST_PAGES + 1):
            answer = self._get(f"/repos/{self._owner}/{self._repository}/{path}", {**query, "page": str(page)})
            yield from answer
            if len(answer) < _PAGE:
                return
        raise SourceAway(f"{self.root} has too many issues to list", remedy="Filter with state=open.")

    def _get(self, path: str, query: dict[str, str]) -> list[Item]:
        assert self._client is not None
        answer = self._client.get(path, params=query)
        if answer.status_code != 200:
            raise SourceAway(f"{self.root}: GitHub responded with status {answer.status_code}")
        found: list[Item] = answer.json()
        if not isinstance(found, list):
            raise SourceAway(f"{self.root}: GitHub's response is not a list")
        return found

    def read(self, entry: Entry, folder: Path) -> Iterable[Content]:
        row = self._issues[entry.key]
        comments = row.get("comments")
        if self._client:
            comments = list(self._pages(f"issues/{row['number']}/comments", per_page=str(_PAGE))) if comments else []
        yield Content(write_text(_issue_text(row, comments or []), folder / "issue"), f"{_title(row)}.md")

    def close(self) -> None:
        if self._client:
            self._client.close()


def _client(address: Address) -> httpx.Client:
    try:
        import httpx
    except ModuleNotFoundError as error:
        raise MissingExtra(
            "the API of GitHub needs the package 'httpx'", remedy='pip install "footnotes[github]"'
        ) from error
    GitHubSource.check_rights(address)
    headers = {"Accept": "application/vnd.github+json", "X-GitHub-Api-Version": "2022-11-28", "User-Agent": "footnotes"}
    if token := address.secret("token"):
        headers["Authorization"] = f"Bearer {token}"
    return httpx.Client(
        base_url=address.option("api", _API),
        headers=headers,
        timeout=address.settings.fetch_seconds,
        trust_env=False,
        transport=None if address.private else guarded_transport(public_address),
    )


def _title(row: Item) -> str:
    return f"#{row['number']} {str(row.get('title') or '')[:100]}".replace("/", "-")


def _author(row: Item) -> str:
    return str((row.get("user") or row.get("author") or {}).get("login") or "somebody")


def _labels(row: Item) -> list[str]:
    return [str(each.get("name")) for each in row.get("labels") or () if isinstance(each, dict)]


def _metadata(row: Item) -> dict[str, JsonValue]:
    return {
        "issue": row["number"],
        "state": str(row.get("state") or "").lower(),
        "author": _author(row),
        "labels": [*_labels(row)],
        "created": row.get("created_at") or row.get("createdAt") or "",
        "url": row.get("html_url") or row.get("url") or "",
    }


def _issue_text(row: Item, comments: list[Item]) -> str:
    """Write an issue and its comments, with authors and dates."""
    parts = [f"# {row.get('title') or ''} (#{row['number']})", str(row.get("body") or "").strip()]
    for each in comments:
        moment = str(each.get("created_at") or each.get("createdAt") or "")[:10]
        parts.append(f"## {_author(each)}, {moment}\n\n{str(each.get('body') or '').strip()}")
    return "\n\n".join(part for part in parts if part).replace("\r\n", "\n") + "\n"
