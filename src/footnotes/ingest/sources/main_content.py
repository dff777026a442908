"""Extracts the main content of a page, without menus, banners and footers."""

from __future__ import annotations

from lxml import etree, html

_ASIDE = ("nav", "header", "footer", "aside", "form", "button", "dialog", "script", "style", "noscript", "template")
_ASIDE_ROLES = ("navigation", "banner", "contentinfo", "search", "complementary", "menu", "menubar", "dialog")
_MAIN = ("//main", "//*[@role='main']", "//article", "//*[@itemprop='articleBody']")
_LEAST = 0.25
"""The least share of the text that an element marked as the main one must hold."""
_SHORTEST = 200
"""A guess with fewer characters is not used."""


def page_tree(raw: bytes, charset: str = "") -> html.HtmlElement | None:
    """Parse a page, without network access; None if it cannot be parsed."""
    parser = html.HTMLParser(encoding=charset or None, no_network=True, huge_tree=False, recover=True)
    try:
        return html.document_fromstring(raw, parser=parser)
    except (etree.ParserError, ValueError):
        return None


def main_content(tree: html.HtmlElement) -> bytes:
    """Return a page with only its head and its main content.

    Uses the part that the page marks as main; otherwise trafilatura guesses, if it is installed.
    benchmarks/main_content.py has the figures.
    """
    body = tree.find("body")
    if body is None:
        return bytes(html.tostring(tree, encoding="utf-8"))
    marked = _find_marked(tree, _length(body))
    if marked is None and (guessed := _guess_main(tree)) is not None:
        marked = guessed
    main = body if marked is None else marked
    for element in list(main.iter()):
        if element is not main and element.getparent() is not None and _is_aside(element):
            element.drop_tree()
    page, head = html.Element("html"), tree.find("head")
    if head is not None:
        page.append(head)
    (page if main.tag == "body" else etree.SubElement(page, "body")).append(main)
    return bytes(html.tostring(page, encoding="utf-8", doctype="<!DOCTYPE html>"))


def _find_marked(tree: html.HtmlElement, whole: int) -> html.HtmlElement | None:
    """Return the only element that is marked as the main one, if it holds enough of the text."""
    for path in _MAIN:
        found = tree.xpath(path)
        if len(found) == 1 and _length(found[0]) >= _LEAST * whole:
            return found[0]
    return None


def _guess_main(tree: html.HtmlElement) -> html.HtmlElement | None:
    try:
        import trafilatura
    except ImportError:  # or one of its own dependencies is missing
        return None
    raw = html.tostring(tree, encoding="unicode")
    found = trafilatura.extract(
        raw, output_format="html", include_comments=False, include_tables=True, favor_recall=True
    )
    if not found or len(found) < _SHORTEST:
        return None
    return html.document_fromstring(found).find("body")


def _is_aside(element: html.HtmlElement) -> bool:
    if not isinstance(element.tag, str):
        return False
    if element.tag == "header":  # an article's header holds its title
        return not element.xpath(".//h1")
    return element.tag in _ASIDE or element.get("role") in _ASIDE_ROLES


def _length(element: html.HtmlElement) -> int:
    return len(" ".join(element.itertext()))
