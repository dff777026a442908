"""What each kind of source makes of what it finds."""

from __future__ import annotations

import json
import mailbox
import sqlite3
import zipfile
from contextlib import closing
from pathlib import Path

import pytest

import source_files as files
from footnotes.errors import FootnotesError, OptionError
from footnotes.library import Library
from footnotes.types import Document
from web_site import Page, Site


def documents(library: Library) -> dict[str, Document]:
    """Documents by what comes last in their sources."""
    return {document.source.rpartition("/")[2]: document for document in library.documents()}


def text_of(library: Library, document: Document) -> str:
    return library.text(document.id)


def test_mail_keeps_threads_together_and_attachments_apart(library: Library, tmp_path: Path) -> None:
    first = files.message("plans", "The hive moves in May.", attached={"map.txt": b"North of the lime trees."})
    second = files.message("re-plans", "In June rather.", answers="plans")
    with closing(mailbox.mbox(tmp_path / "post.mbox")) as box:
        for each in (first, second):
            box.add(mailbox.mboxMessage(each))
    library.sync(f"mbox:{tmp_path / 'post.mbox'}")
    found = {document.filename: document for document in library.documents()}
    assert len(found) == 3
    assert {document.metadata["thread"] for document in found.values()} == {"<plans@example.org>"}
    attached = found["map.txt"]
    assert attached.metadata["attached_to"] == "plans" and attached.source.endswith(".eml!/map.txt")
    opening = next(each for each in found.values() if each.metadata.get("attachments"))
    assert opening.metadata["attachments"] == ["map.txt"] and "lime trees" not in text_of(library, opening)
    assert len(library.search("hive", where={"thread": "<plans@example.org>"}).hits) > 0


def test_a_message_that_goes_takes_its_attachments_along(library: Library, tmp_path: Path) -> None:
    place = files.MaildirPlace(tmp_path)
    place.put("stays", "Another letter.")
    raw = files.message("plans", "The hive moves.", attached={"map.txt": b"North of the lime trees."}).as_bytes()
    (place.path / "cur" / "1.x.host:2,").write_bytes(raw)
    assert library.sync(place.address).counts["added"] == 3
    (place.path / "cur" / "1.x.host:2,").rename(place.path / "cur" / "1.x.host:2,S")  # it was read
    assert library.sync(place.address).counts["unchanged"] == 3
    (place.path / "cur" / "1.x.host:2,S").unlink()
    assert library.sync(place.address).counts["deleted"] == 2
    assert len(library.documents()) == 1


def test_a_vault(library: Library, tmp_path: Path) -> None:
    vault = tmp_path / "vault"
    (vault / "people").mkdir(parents=True)
    front = "---\ntags: [garden, bees]\naliases: Hive\nrating: 5\n---\n"
    (vault / "Bees.md").write_text(
        front
        + "# Bees\n\nSee [[Ann Lee|Ann]] and [[people/Ann Lee#Work]]. #summer\n\n![[Honey#Yield]]\n\n`[[not this]]`\n"
    )
    (vault / "people" / "Ann Lee.md").write_text("Keeps bees.\n")
    (vault / "Honey.md").write_text("# Honey\n\nSweet.\n\n## Yield\n\nTwenty pounds a hive.\n\n## Price\n\nDear.\n")
    library.sync(f"obsidian:{vault}")
    bees = documents(library)["Bees.md"]
    text = text_of(library, bees)
    assert "See Ann and" in text and "Twenty pounds a hive." in text
    assert "Dear." not in text and "[[not this]]" in text
    assert bees.metadata["tags"] == ["garden", "bees", "summer"] and bees.metadata["rating"] == 5
    assert bees.metadata["links"] == ["people/Ann Lee.md", "Honey.md"]
    assert documents(library)["Ann Lee.md"].metadata["backlinks"] == ["Bees.md"]
    (vault / "Honey.md").write_text("# Honey\n\n## Yield\n\nThirty pounds a hive.\n")
    done = library.sync(f"obsidian:{vault}")  # what embeds it changed with it
    assert done.counts["changed"] == 2


def test_zotero_says_what_it_knows_of_a_file(library: Library, tmp_path: Path) -> None:
    place = files.ZoteroPlace(tmp_path)
    place.put("paper", "Honey is stored in wax.")
    with closing(sqlite3.connect(place.path / "zotero.sqlite")) as database, database:
        database.executescript(
            """
            INSERT INTO items VALUES (10, 1, '2026-01-01', 'ARTICLE1'), (11, 3, '2026-01-01', 'NOTE1'),
                (12, 1, '2026-01-01', 'TRASHED'), (13, 1, '2026-01-01', 'ALONE');
            INSERT INTO deletedItems VALUES (12);
            UPDATE itemAttachments SET parentItemID = 10;
            INSERT INTO itemDataValues VALUES (1, 'On Wax'), (2, '1999-05-00'), (3, 'Gone');
            INSERT INTO itemDataValues VALUES (4, 'Alone'), (5, 'Of combs.');
            INSERT INTO itemData VALUES (10, 1, 1), (10, 3, 2), (12, 1, 3), (12, 2, 5), (13, 1, 4), (13, 2, 5);
            INSERT INTO creators VALUES (1, 'Ann', 'Lee');
            INSERT INTO itemCreators VALUES (10, 1, 1, 0);
            INSERT INTO tags VALUES (1, 'bees');
            INSERT INTO itemTags VALUES (10, 1);
            INSERT INTO itemNotes VALUES (11, 10, '<p>Read again.</p>', 'My note');
            """
        )
    library.sync(place.address)
    found = documents(library)
    assert set(found) == {"paper.txt", "NOTE1.html", "ALONE.md"}
    said = found["paper.txt"].metadata
    assert (said["title"], said["author"], said["year"], said["tags"]) == ("On Wax", "Ann Lee", "1999", ["bees"])
    assert "Of combs." in text_of(library, found["ALONE.md"])


def test_slack_puts_answers_below_what_they_answer(library: Library, tmp_path: Path) -> None:
    users = [{"id": "U1", "real_name": "Ann Lee"}, {"id": "U2", "name": "bo"}]
    day = [
        {"ts": "1772359200.0", "user": "U1", "text": "Who has the <https://x.org|map>?", "thread_ts": "1772359200.0"},
        {"ts": "1772359260.0", "user": "U2", "text": "Lunch &amp; rest"},
        {"ts": "1772359270.0", "user": "U2", "subtype": "channel_join", "text": "joined"},
    ]
    later = [{"ts": "1772445600.0", "user": "U2", "text": "<@U1> I have.", "thread_ts": "1772359200.0"}]
    with zipfile.ZipFile(tmp_path / "slack.zip", "w") as packed:
        packed.writestr("users.json", json.dumps(users))
        packed.writestr("general/2026-03-01.json", json.dumps(day))
        packed.writestr("general/2026-03-02.json", json.dumps(later))
    library.sync(f"slack:{tmp_path / 'slack.zip'}")
    (document,) = library.documents()
    text = text_of(library, document)
    assert text.index("Who has the map?") < text.index("@Ann Lee I have.") < text.index("Lunch & rest")
    assert "joined" not in text and document.metadata["channel"] == "general"


def test_confluence_gives_attachments_their_names_back(library: Library, tmp_path: Path) -> None:
    inner = "Moved in May.<a href='attachments/7/9.txt'>plan.txt</a>"
    with zipfile.ZipFile(tmp_path / "space.zip", "w") as packed:
        packed.writestr("TEAM/Hive_7.html", files.confluence_page("Hive", inner))
        packed.writestr("TEAM/index.html", "<html><body>Space details</body></html>")
        packed.writestr("TEAM/attachments/7/9.txt", "To the lime trees.")
    library.sync(f"confluence:{tmp_path / 'space.zip'}")
    found = {document.filename: document for document in library.documents()}
    assert found["plan.txt"].metadata["attached_to"] == "Hive"
    page = found["Hive_7.html"]
    assert page.title == "Hive" and page.metadata["space"] == "Team" and page.metadata["breadcrumbs"] == ["Team"]
    assert "generated by Confluence" not in text_of(library, page)


def test_takeout_reads_mail_notes_and_drive(library: Library, tmp_path: Path) -> None:
    note = {"title": "Jars", "textContent": "Twelve.", "listContent": [{"text": "lids", "isChecked": True}]}
    letter = files.message("greeting", "Hello from the hive.").as_string()
    with zipfile.ZipFile(tmp_path / "takeout.zip", "w") as packed:
        packed.writestr(
            "Takeout/Mail/All.mbox", f"From a Mon Mar  2 10:00:00 2026\nX-Gmail-Labels: Inbox,Bees\n{letter}\n"
        )
        packed.writestr("Takeout/Keep/Jars.json", json.dumps(note))
        packed.writestr("Takeout/Keep/Old.json", json.dumps({**note, "isTrashed": True}))
        packed.writestr("Takeout/Drive/plan.txt", "Move in May.")
        packed.writestr("Takeout/Photos/a.json", "{}")
    library.sync(f"takeout:{tmp_path / 'takeout.zip'}")
    services = sorted(str(document.metadata["service"]) for document in library.documents())
    assert services == ["Drive", "Keep", "Mail"]
    mail = next(document for document in library.documents() if document.metadata["service"] == "Mail")
    assert mail.metadata["labels"] == ["Inbox", "Bees"]


def test_rows_are_cited_by_row_and_column(library: Library, tmp_path: Path) -> None:
    with closing(sqlite3.connect(tmp_path / "shop.db")) as database, database:
        database.execute("CREATE TABLE hives (id INTEGER, place TEXT, pounds REAL)")
        database.executemany("INSERT INTO hives VALUES (?, ?, ?)", [(1, "Orchard", 21.5), (2, "Meadow", 18.0)])
    address = f"sql+sqlite:///{tmp_path / 'shop.db'}"
    library.sync(f"{address}?table=hives&as=table", collection="table")
    (table,) = library.documents(collection="table")
    block = next(block for block in library.blocks(table.id) if block.kind == "table")
    assert "Meadow" in text_of(library, table) and table.metadata["rows"] == 2 and block.attributes
    rows = library.sync(address, options={"query": "SELECT * FROM hives WHERE pounds > 20"}, collection="rows")
    assert rows.counts["added"] == 1
    (row,) = library.documents(collection="rows")
    assert row.metadata["place"] == "Orchard" and row.metadata["pounds"] == 21.5
    with pytest.raises(FootnotesError):
        library.sync(address, options={"query": "DELETE FROM hives"})
    with closing(sqlite3.connect(tmp_path / "shop.db")) as database:
        assert database.execute("SELECT count(*) FROM hives").fetchone() == (2,)


def page(body: str, head: str = "") -> Page:
    return Page(f"<html><head>{head}</head><body><nav>Menu of the site</nav><main>{body}</main></body></html>")


def test_a_crawl_stays_within_its_bounds(tmp_path: Path) -> None:
    from libraries import quick_library

    with Site() as site, quick_library(tmp_path / "web", fetch_private=True, fetch_delay=0.0) as library:
        site.pages["/robots.txt"] = Page("User-agent: *\nDisallow: /docs/secret", mime="text/plain")
        links = "<a href='a.html'>a</a><a href='/other/'>o</a><a href='secret.html'>s</a><a href='old/x.html'>x</a>"
        site.pages["/docs/"] = page(f"Start here. {links}")
        site.pages["/docs/a.html"] = page("Page a. <a href='b.html?x=1'>b</a>")
        site.pages["/docs/b.html?x=1"] = page("Page b. <a href='c.html'>c</a>", "<link rel='canonical' href='b.html'>")
        site.pages["/docs/c.html"] = page("Page c, too deep.")
        site.pages["/docs/old/x.html"] = page("Old page.")
        site.pages["/other/"] = page("Elsewhere.")
        done = library.sync(site.url("/docs/"), options={"depth": "2", "exclude": "/docs/old/*"})
        found = {document.source.removeprefix(site.url("")): document for document in library.documents()}
        assert set(found) == {"/docs/", "/docs/a.html", "/docs/b.html"} and done.counts["failed"] == 0
        assert "Menu of the site" not in text_of(library, found["/docs/"])
        assert not {"/other/", "/docs/secret.html", "/docs/c.html"} & set(site.asked)
        site.pages["/docs/a.html"] = Page("busy", status=503)  # away is not gone: nothing below it is deleted
        library.sync(site.url("/docs/"), options={"depth": "2", "exclude": "/docs/old/*"})
        assert "/docs/a.html" in {document.source.removeprefix(site.url("")) for document in library.documents()}


@pytest.mark.parametrize(
    ("address", "options", "said"),
    [
        ("imaps://ann:hunter22@host/INBOX", {}, "contains a password"),
        ("imaps://ann@host/INBOX", {"password": "hunter22"}, "plain secret"),
        ("s3://bucket?secret_access_key=hunter22", {}, "plain secret"),
        ("imaps://ann@127.0.0.1:1/INBOX", {"password": "env:NOT_SET_ANYWHERE"}, ""),
        ("sql+sqlite:///x.db", {}, "needs a query or a table"),
        ("gopher://host/x", {}, "unknown source 'gopher'"),
        ("obsidian:/nowhere", {"depth": "1"}, "have no option 'depth'"),
    ],
)
def test_mistakes_are_told_without_secrets(library: Library, address: str, options: dict[str, str], said: str) -> None:
    with pytest.raises(FootnotesError) as failure:
        library.sync(address, options=options)
    assert said in failure.value.message and "hunter22" not in failure.value.message + failure.value.remedy
    if said:
        assert isinstance(failure.value, OptionError)
