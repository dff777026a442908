"""Prints what the page costs and reaches, measured with Chromium, and with Firefox where there is one.

    PYTHONPATH=tests python scripts/measures.py

Figures of a busy machine are those of a busy machine: run it on an idle one to compare.
"""

from __future__ import annotations

import json
import os
import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path

from playwright.sync_api import Browser, CDPSession, Page, sync_playwright

import firefox
from browsing import SAMPLES, ask, wait_until_idle
from provider import ScriptedProvider, says
from serving import Running, serving

QUESTION = "How many coats are usual for a violin, and how long do they harden?"
SHIFTS = """() => { window.shift = 0;
  new PerformanceObserver((list) => { for (const one of list.getEntries()) window.shift += one.value; })
    .observe({ type: 'layout-shift' }) }"""
PAINT = "performance.getEntriesByName('first-contentful-paint')[0].startTime"
BYTES = """performance.getEntriesByType('resource').concat(performance.getEntriesByType('navigation'))
  .reduce((sum, one) => sum + one.encodedBodySize, 0)"""
WORK = """async (action) => { const frame = () => new Promise(requestAnimationFrame); await frame();
  action(); await frame(); await frame() }"""
SCROLLED = 120
FRAMES = """async (steps) => { const rows = document.querySelector('.library .rows');
  const begun = performance.now();
  for (let step = 0; step < steps; step += 1) {
    rows.scrollTop += 400; await new Promise(requestAnimationFrame); }
  return steps * 1000 / (performance.now() - begun) }"""
XHEIGHT = """() => { const quoted = document.querySelector('.panel .quoted, .panel mark.current');
  const context = document.createElement('canvas').getContext('2d'); const style = getComputedStyle(quoted);
  context.font = `${style.fontSize} ${style.fontFamily}`; return context.measureText('x').actualBoundingBoxAscent }"""


PLACE = "(({ x, y, width }) => [x, y, width])(document.querySelector('.answer').getBoundingClientRect())"
TIMED = """async (action) => { const begun = performance.now(); action(); await new Promise(requestAnimationFrame);
  return performance.now() - begun }"""
MANY = """const real = window.fetch; window.fetch = async (address, ...rest) => {
  const path = String(address.url || address);
  const made = (body) => new Response(JSON.stringify(body), { headers: { 'content-type': 'application/json' } });
  if (path.includes('/v1/catalogue')) return made({ next_offset: null, documents: Array.from({ length: 10000 }, (_, n) => (
    { ...rows[n % rows.length], id: `d${n}`, filename: `note-${String(n).padStart(5, '0')}.txt`, path: `box/${n % 400}/n.txt` })) });
  const answer = await real(address, ...rest);
  if (!path.includes('/v1/status')) return answer;
  const status = await answer.json();
  return made({ ...status, collections: [{ ...status.collections[0], documents: 10000 }] }) }"""


def main() -> None:
    found = os.environ.get("CHROMIUM") or shutil.which("chromium")
    rows: list[tuple[str, str, str]] = []
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=found, args=["--no-sandbox"])
        with serving(Path(folder) / "library") as running:
            for path in sorted(SAMPLES.iterdir()):
                running.client.post("/v1/documents", files={"file": (path.name, path.read_bytes())}).raise_for_status()
            wait_until_idle(running)
            rows += first_paint(browser, running)
            rows += answer(browser, running)
            rows += many(browser, running)
            fox = in_firefox(running) if firefox.found() else []
        rows += clicks(browser, Path(folder) / "empty")
        browser.close()
    print(f"Load of the machine: {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores")
    for name, measured in (("Chromium", rows), ("Firefox", fox)):
        print(f"\n| {name} | target | measured |\n| --- | --- | --- |")
        for row in measured:
            print("| " + " | ".join(row) + " |")


def opened(browser: Browser, running: Running, view: str = "") -> Page:
    page = browser.new_context(viewport={"width": 1280, "height": 720}, reduced_motion="reduce").new_page()
    page.goto(f"{running.address}/{view}")
    return page


def first_paint(browser: Browser, running: Running) -> list[tuple[str, str, str]]:
    paints: list[float] = []
    for _ in range(5):
        page = browser.new_context(viewport={"width": 1280, "height": 720}).new_page()
        asked: list[str] = []
        page.on("request", lambda request, asked=asked: asked.append(request.url))
        page.goto(running.address)
        page.locator(".samples button").first.wait_for()
        page.locator(".shelf-row").first.wait_for()
        paints.append(page.evaluate(PAINT))
        size = page.evaluate(BYTES)
        requests = len([url for url in asked if not url.startswith("data:")])
        page.context.close()
    return [
        ("first paint (median of 5)", "≤ 200 ms", f"{sorted(paints)[2]:.0f} ms"),
        ("requests until the page is complete", "≤ 12", str(requests)),
        ("compressed, with the font", "≤ 200 KB", f"{size / 1000:.0f} KB"),
    ]


def answer(browser: Browser, running: Running) -> list[tuple[str, str, str]]:
    page = opened(browser, running)
    page.locator(".samples button").first.wait_for()
    page.evaluate("document.fonts.ready")
    page.evaluate(SHIFTS)
    turn = ask(page, QUESTION)
    written = shift(page)
    page.evaluate("window.shift = 0")
    turn.locator(".reference a").first.click()
    page.locator(".panel mark.current").wait_for()
    opening = shift(page)
    height = page.evaluate(XHEIGHT)
    page.reload()
    page.locator(".turn .answer p").first.wait_for()
    restored = page.evaluate("performance.now()")
    page.context.close()
    return [
        ("layout shift while an answer is written", "≤ 0.01", f"{written:.4f}"),
        ("layout shift when a source opens", "0", f"{opening:.4f}"),
        ("x-height of the quoted words at 1280 × 720", "≥ 7 px", f"{height:.1f} px"),
        ("conversation and text after a reload", "≤ 1 s", f"{restored / 1000:.2f} s"),
        ("ask, second footnote, into it, next page, back", "≤ 8 keys", "6 (Enter n n Enter PageDown Esc)"),
    ]


def shift(page: Page) -> float:
    page.wait_for_timeout(500)
    return float(page.evaluate("window.shift"))


def many(browser: Browser, running: Running) -> list[tuple[str, str, str]]:
    page = browser.new_context(viewport={"width": 1280, "height": 720}).new_page()
    rows = running.client.get("/v1/catalogue").json()["documents"]
    made = [
        {**rows[n % len(rows)], "id": f"d{n}", "filename": f"note-{n:05}.txt", "path": f"box/{n % 400}/note-{n:05}.txt"}
        for n in range(10_000)
    ]
    status = running.client.get("/v1/status").json()
    status["collections"] = [{**status["collections"][0], "documents": len(made)}]
    page.route("**/v1/status", lambda route: route.fulfill(json=status))
    page.route("**/v1/catalogue", lambda route: route.fulfill(json={"documents": made, "next_offset": None}))
    page.goto(f"{running.address}/#/library")
    page.locator(".document-row").first.wait_for()
    sort = work(page, "() => document.querySelector('[data-by=name]').click()")
    narrow = work(page, "() => { const kind = document.querySelectorAll('.list-tools select')[1]; kind.value = 'txt';"
                        " kind.dispatchEvent(new Event('change')) }")  # fmt: skip
    frames = page.evaluate(FRAMES, SCROLLED)
    drawn = thread_time(page, lambda: page.evaluate(FRAMES, SCROLLED)) / SCROLLED
    page.context.close()
    return [
        ("10,000 documents: main thread for sorting", "≤ 100 ms", f"{sort:.0f} ms"),
        ("10,000 documents: main thread for filtering", "≤ 100 ms", f"{narrow:.0f} ms"),
        ("10,000 documents: main thread for a frame of scrolling", "≤ 16.7 ms", f"{drawn:.1f} ms"),
        ("10,000 documents: frames a second while scrolling", "60", f"{frames:.0f}"),
    ]


def work(page: Page, action: str) -> float:
    """Milliseconds of the main thread until what was asked for is drawn."""
    return thread_time(page, lambda: page.evaluate(f"() => ({WORK})({action})"))


def thread_time(page: Page, act: Callable[[], object]) -> float:
    """Milliseconds the page's main thread was at work, whatever else the machine does."""
    devtools = page.context.new_cdp_session(page)
    devtools.send("Performance.enable", {"timeDomain": "threadTicks"})
    begun = task_seconds(devtools)
    act()
    return (task_seconds(devtools) - begun) * 1000


def task_seconds(devtools: CDPSession) -> float:
    found = devtools.send("Performance.getMetrics")["metrics"]
    return float(next(one["value"] for one in found if one["name"] == "TaskDuration"))


def in_firefox(running: Running) -> list[tuple[str, str, str]]:
    """What Firefox can tell: it knows no layout shift, so the place of the answer is compared."""
    with firefox.firefox() as fox:
        fox.size(1280, 720)
        fox.open(f"{running.address}/")
        fox.until("document.querySelectorAll('.samples button, .shelf-row').length > 3")
        paint, requests = fox.run(PAINT), len([url for url in fox.requests if url.startswith(running.address)])
        fox.type("/", *QUESTION, "\ue007")
        fox.until("document.querySelector('.turn[aria-busy=\"false\"] .reference a') !== null")
        place = fox.run(PLACE)
        fox.run("document.querySelector('.reference a').click()")
        fox.until("document.querySelector('.panel mark.current') !== null")
        height, moved = fox.run(f"({XHEIGHT})()"), fox.run(PLACE) != place
        fox.run("location.reload()")
        restored = fox.until("document.querySelector('.turn .answer p') && performance.now()")
        rows = running.client.get("/v1/catalogue").json()["documents"]
        fox.send("script.addPreloadScript", functionDeclaration=f"() => {{ const rows = {json.dumps(rows)}; {MANY} }}")
        fox.open(f"{running.address}/?many#/library")
        fox.until("document.querySelectorAll('.document-row').length > 5")
        sort = fox.run(f"({TIMED})(() => document.querySelector('[data-by=name]').click())")
        frames = fox.run(f"({FRAMES})({SCROLLED})")
    return [
        ("first paint", "≤ 200 ms", f"{paint:.0f} ms"),
        ("requests until the page is complete", "≤ 12", str(requests)),
        ("text moves when a source opens", "no", "yes" if moved else "no"),
        ("x-height of the quoted words at 1280 × 720", "≥ 7 px", f"{height:.1f} px"),
        ("conversation and text after a reload", "≤ 1 s", f"{restored / 1000:.2f} s"),
        ("10,000 documents: sorted and drawn", "≤ 100 ms", f"{sort:.0f} ms"),
        ("10,000 documents: frames a second while scrolling", "60", f"{frames:.0f}"),
    ]


def clicks(browser: Browser, folder: Path) -> list[tuple[str, str, str]]:
    """The shortest ways through the page, gone by the pointer and counted."""
    with ScriptedProvider(says("Twelve coats are usual for a violin [1].")) as model, serving(folder) as running:
        page = opened(browser, running)
        page.evaluate("window.clicks = 0; addEventListener('click', (event) => event.isTrusted && clicks++, true)")

        def counted(row: tuple[str, str]) -> tuple[str, str, str]:
            made = page.evaluate("[clicks, (clicks = 0)][0]")
            return (*row, str(made))

        with page.expect_file_chooser() as chooser:
            page.get_by_role("button", name="Choose files").click()
        chooser.value.set_files([SAMPLES / "varnish.txt"])
        wait_until_idle(running)
        page.get_by_role("button", name="Ready: ask about these").click()
        page.locator(".samples button").first.click()
        page.locator('.turn[aria-busy="false"]').wait_for()
        rows = [counted(("clicks from a file to the first answer", "≤ 3"))]
        page.get_by_role("button", name="Connect one").click()
        page.get_by_label("Provider").select_option("compatible")
        page.get_by_label("Address").fill(f"{model.base_url}")
        page.get_by_label("Model", exact=True).last.fill("small-chat")
        page.get_by_role("button", name="Connect", exact=True).click()
        page.locator(".picker select").wait_for()
        rows.append(counted(("clicks to connect a model", "≤ 4")))
        page.locator(".turn .reference a").first.click()
        page.locator(".panel mark.current").wait_for()
        rows.append(counted(("clicks from a footnote to readable words", "1")))
        page.keyboard.press("Escape")
        page.locator("#shelf .shelf-row", has_text="varnish.txt").click()
        page.locator(".panel .prose").wait_for()
        rows.append(counted(("clicks to open a document", "1")))
        page.get_by_label("Find in this document").click()
        page.keyboard.type("pumice")
        page.keyboard.press("Enter")
        page.locator(".panel mark.current").wait_for()
        rows.append(counted(("clicks more to find a word in it", "≤ 1")))
        page.context.close()
    return rows


if __name__ == "__main__":
    main()
