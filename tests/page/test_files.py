"""The files of the page."""

from __future__ import annotations

import json

from footnotes.server.pages import load_page


def test_nothing_outside_is_named_in_our_files() -> None:
    """No address of another host in anything the browser loads, but for the names of XML."""
    page = load_page()
    for name, file in page.files.items():
        if name.startswith("vendor/") or name.endswith(".woff2"):
            continue
        text = file.body.decode().replace(page.files["vendor/marked.js"].body.decode().rpartition("export{")[0], "")
        assert "http://" not in text.replace("http://www.w3.org/2000/svg", ""), name
        assert json.dumps("https://") in text or "https://" not in text, name
