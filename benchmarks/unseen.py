"""Questions about documentation from Debian packages, as people ask them: every answer beside what it must say.

    python benchmarks/unseen.py --documents FOLDER [--sets handbook git sqlite python apache gimp] [--json]

The questions and what right answers say were written before any answer was seen. The rules for answers were changed
while reading those of the first four sets; apache and gimp were asked once, at the end. The documents are not here:
the script downloads the packages with `apt-get download` into the folder and unpacks them there with `dpkg-deb`.
Nothing but the kinds of the results is counted: whether an answer is right must be read.
"""

from __future__ import annotations

import argparse
import json
import shutil
import subprocess
from collections import Counter
from pathlib import Path
from typing import Any

from footnotes.library import Library
from footnotes.settings import Settings

HERE = Path(__file__).resolve().parent / "unseen"


def load_pages(name: str, described: dict[str, Any], documents: Path) -> Path:
    """The folder with the pages of a set, from its package."""
    pages = documents / "pages" / name
    if pages.is_dir():
        return pages
    package = str(described["package"])
    unpacked = documents / "packages" / package
    if not unpacked.is_dir():
        unpacked.parent.mkdir(parents=True, exist_ok=True)
        subprocess.run(["apt-get", "download", package], cwd=unpacked.parent, check=True)
        (file,) = unpacked.parent.glob(f"{package}_*.deb")
        subprocess.run(["dpkg-deb", "-x", str(file), str(unpacked)], check=True)
    pages.mkdir(parents=True)
    for page in described["pages"]:
        shutil.copy(unpacked / described["folder"] / page, pages / page.replace("/", "-"))
    return pages


def ask(library: Library, line: dict[str, Any]) -> dict[str, Any]:
    answer = library.ask(str(line["question"]))
    return {**line, "kind": answer.kind, "answer": answer.answer, "from": [each.filename for each in answer.citations]}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--documents", type=Path, required=True, help="where packages, pages and libraries are kept")
    parser.add_argument("--sets", nargs="*", help="all where none is named")
    parser.add_argument("--json", action="store_true", help="one line of JSON a question")
    options = parser.parse_args()
    described = json.loads((HERE / "sets.json").read_text())
    questions = [json.loads(line) for line in (HERE / "questions.jsonl").read_text().splitlines()]
    for name in options.sets or described:
        pages = load_pages(name, described[name], options.documents)
        with Library(options.documents / "libraries" / name, settings=Settings()) as library:
            if not library.documents():
                library.add(pages)
                library.settle()
            results = [ask(library, line) for line in questions if line["set"] == name]
        for result in results:
            if options.json:
                print(json.dumps(result, ensure_ascii=False))
            else:
                print(
                    f"## {result['question']} ({result['kind']})\nmust say: {result['must_say']}\n{result['answer']}\n"
                )
        for there in (True, False):
            kinds = Counter(str(each["kind"]) for each in results if each["answerable"] is there)
            print(f"{name}, {'there' if there else 'not there'}: {dict(kinds)}")


if __name__ == "__main__":
    main()
