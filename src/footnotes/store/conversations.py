"""Conversations: the questions and answers of each tenant."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TypeAlias

from footnotes.errors import NotFound, StorageQuota
from footnotes.store.core import Core
from footnotes.store.database import Cursor, Json, Row
from footnotes.store.retry import retrying
from footnotes.store.rows import packed_error
from footnotes.types import Conversation, ErrorInfo, KeptTurn, Metadata, Rating, TurnState

MOST_TURNS = 500
"""The most questions per conversation, because showing it reads all of them."""
_LONGEST_TITLE = 200
Copied: TypeAlias = tuple[Conversation, list[KeptTurn], list[list[str]]]


@dataclass(frozen=True, slots=True)
class NewTurn:
    """A new question. `owner` and `most` apply if it begins a conversation."""

    question: str
    request: Metadata
    holder: str
    owner: str = ""
    most: int = 0
    replaces: int | None = None


@dataclass(frozen=True, slots=True)
class TurnUpdate:
    """The answer so far while its state is `asking`, otherwise its end; `documents` are those quoted in it.

    Without a `text`, the stored one stays.
    """

    state: TurnState
    text: str | None = None
    answer: Metadata | None = None
    error: ErrorInfo | None = None
    documents: Sequence[str] = ()


class Conversations:
    """The conversations of every tenant."""

    def __init__(self, core: Core) -> None:
        self._core = core

    # ── reading

    def all(self, user_id: str, *, sought: str = "", limit: int = 100, offset: int = 0) -> list[Conversation]:
        """Return conversations, most recent first; `sought` must occur in their title, a question or an answer."""
        with self._core.database.read(user_id) as cursor:
            rows = cursor.all("conversations", sought=_fold(sought).strip(), limit=limit, offset=offset)
        return [_conversation(row) for row in rows]

    def get(self, user_id: str, conversation: str) -> Conversation:
        with self._core.database.read(user_id) as cursor:
            return _find(cursor, conversation)

    def turns(self, user_id: str, conversation: str, number: int | None = None) -> list[KeptTurn]:
        """Return the turns of a conversation, or only the one with a number. Raises `NotFound` if that is missing."""
        with self._core.database.read(user_id) as cursor:
            if number is None:
                return [_turn(row) for row in cursor.all("turns_of", conversation=conversation)]
            row = cursor.one("turn_of", conversation=conversation, number=number)
        if row is None:
            raise _missing_turn(number)
        return [_turn(row)]

    # ── asking

    @retrying
    def ask(self, user_id: str, conversation: str, new: NewTurn, *, begins: bool) -> int:
        """Record a question before it is answered; return its number. If it `replaces` one, later turns are removed."""
        now = _now()
        with self._core.database.write(user_id) as cursor:
            if begins:
                _begin(cursor, conversation, new, now)
            else:
                _find(cursor, conversation)
            if new.replaces is not None:
                if cursor.one("turn_of", conversation=conversation, number=new.replaces) is None:
                    raise _missing_turn(new.replaces)
                cursor.run("drop_turns_from", conversation=conversation, number=new.replaces)
            number = int(cursor.value("last_turn", conversation=conversation) or 0) + 1
            if number > MOST_TURNS:
                raise StorageQuota(f"the conversation has {MOST_TURNS} questions", remedy="Begin a new conversation.")
            values = {"question": new.question, "words": _fold(new.question), "request": Json(dict(new.request))}
            cursor.run("make_turn", conversation=conversation, number=number, **values, holder=new.holder, now=now)
            cursor.run("touch_conversation", id=conversation, now=now)
        return number

    @retrying
    def update(self, user_id: str, turn: tuple[str, int], update: TurnUpdate, *, holder: str | None) -> bool:
        """Save the progress or the end of an answer. Return False if the turn no longer waits for this holder.

        Without a holder, end it for whoever answers it. Of an ended answer, quotes from documents deleted meanwhile are
        removed.
        """
        conversation, number = turn
        place = {"conversation": conversation, "number": number}
        with self._core.database.write(user_id) as cursor:
            before = cursor.one("turn_of", **place)
            if before is None:
                return False
            text = before["text"] if update.text is None else update.text
            values = {
                "state": update.state,
                "text": update.text,
                "words": _fold(f"{before['question']}\n{text}"),
                "answer": Json(None if update.answer is None else dict(update.answer)),
                "error": packed_error(update.error),
            }
            if not cursor.run("update_turn", **place, holder=holder, **values, now=_now()):
                return False
            cursor.run("quote_documents", conversation=conversation, turn=number, documents=list(update.documents))
            if update.state != "asking":
                _drop_gone(cursor, conversation, number)
        return True

    # ── changing

    @retrying
    def rename(self, user_id: str, conversation: str, title: str) -> Conversation:
        title_text = _title(title)
        with self._core.database.write(user_id) as cursor:
            _find(cursor, conversation)
            cursor.run("rename_conversation", id=conversation, title=title_text, words=_fold(title_text))
            return _find(cursor, conversation)

    @retrying
    def rate(self, user_id: str, conversation: str, number: int, rating: Rating | None, reason: str) -> None:
        """Save a user's rating of an answer, and the reason."""
        with self._core.database.write(user_id) as cursor:
            place = {"conversation": conversation, "number": number}
            if not cursor.run("rate_turn", **place, rating=rating, reason=reason):
                raise _missing_turn(number)

    @retrying
    def delete(self, user_id: str, conversation: str, *, since: int = 1) -> None:
        """Delete the turns `since` a number, or the whole conversation, and purge them from the database's files."""
        with self._core.database.write(user_id) as cursor:
            if since > 1:
                cursor.run("drop_turns_from", conversation=conversation, number=since)
            elif not cursor.run("drop_conversation", id=conversation):
                raise _missing(conversation)
        self._core.database.checkpoint()


# ── copying: a conversation, its turns, and the documents that each of them quotes ────────────────────────────


def quoted_documents(cursor: Cursor, conversation: str, turns: Sequence[KeptTurn]) -> list[list[str]]:
    rows = [cursor.all("quoted_documents", conversation=conversation, turn=turn.number) for turn in turns]
    return [[row["document_id"] for row in each] for each in rows]


def put_copied(cursor: Cursor, copied: Copied) -> None:
    """Write a conversation from another store."""
    conversation, turns, quoted = copied
    values = _values(conversation, "id", "title", "owner", "created_at", "updated_at")
    cursor.run("put_conversation", **values, words=_fold(conversation.title))
    for turn, documents in zip(turns, quoted, strict=True):
        plain = _values(turn, "number", "question", "state", "text", "rating", "reason", "created_at", "updated_at")
        packed = {"request": Json(dict(turn.request)), "error": packed_error(turn.error)}
        packed["answer"] = Json(None if turn.answer is None else dict(turn.answer))
        words = _fold(f"{turn.question}\n{turn.text}")
        cursor.run("put_turn", conversation=conversation.id, **plain, **packed, words=words)
        place = {"conversation": conversation.id, "turn": turn.number}
        cursor.run("quote_documents", **place, documents=documents)


def _begin(cursor: Cursor, conversation: str, new: NewTurn, now: str) -> None:
    if int(cursor.value("count_conversations")) >= new.most:
        raise StorageQuota(f"{new.most:,} conversations are kept already", remedy="Delete some of them.")
    title = _title(new.question)
    values = {"id": conversation, "title": title, "words": _fold(title), "owner": new.owner, "now": now}
    if not cursor.run("make_conversation", **values):
        raise StorageQuota(f"there is a conversation {conversation!r} already", remedy="Choose another id.")


def _drop_gone(cursor: Cursor, conversation: str, number: int) -> None:
    """Remove quotes from documents that were deleted while the answer was made."""
    gone = [row["document_id"] for row in cursor.all("gone_documents", conversation=conversation, turn=number)]
    if gone:
        cursor.run("forget_quotes", documents=gone)
        cursor.run("drop_quotes", documents=gone)


def _find(cursor: Cursor, conversation: str) -> Conversation:
    row = cursor.one("conversation", id=conversation)
    if row is None:
        raise _missing(conversation)
    return _conversation(row)


def _missing(conversation: str) -> NotFound:
    return NotFound(f"there is no conversation {conversation[:60]!r}", remedy="List them to see the ids there are.")


def _missing_turn(number: int) -> NotFound:
    return NotFound(f"the conversation has no question {number}", remedy="Read the conversation again.")


def _conversation(row: Row) -> Conversation:
    return Conversation(**{name: row[name] for name in Conversation.__dataclass_fields__})


def _turn(row: Row) -> KeptTurn:
    plain = {name: row[name] for name in KeptTurn.__dataclass_fields__ if name not in ("request", "answer", "error")}
    error = json.loads(row["error"]) if row["error"] else None
    return KeptTurn(
        **plain,
        request=json.loads(row["request"]),
        answer=json.loads(row["answer"]) if row["answer"] else None,
        error=ErrorInfo(**error) if error else None,
    )


def _values(of: object, *names: str) -> Mapping[str, object]:
    return {name: getattr(of, name) for name in names}


def _title(text: str) -> str:
    """Return a title on one line, of bounded length."""
    line = " ".join(text.split())
    return line if len(line) <= _LONGEST_TITLE else f"{line[: _LONGEST_TITLE - 1].rstrip()}…"


def _fold(text: str) -> str:
    return text.casefold()


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="milliseconds")
