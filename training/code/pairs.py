"""Functions of permissively licensed packages, with what somebody might ask for them.

    pip download --no-deps --only-binary :all: -d wheels NAME …
    python training/code/pairs.py --wheels wheels --data ../shared/data --out pairs.jsonl

Of each wheel whose own metadata names a permissive licence, the functions with a docstring are read (`ast`; nothing is
run). Tests are left out, and so is every function that stands in a set that is measured on: the same name with the same
first line, or the same body. The last lines say which packages gave how many.
"""

from __future__ import annotations

import argparse
import ast
import hashlib
import json
import re
import textwrap
import warnings
import zipfile
from collections import Counter
from collections.abc import Iterator
from email.parser import Parser
from pathlib import Path
from random import Random

PERMISSIVE = re.compile(r"\b(MIT|BSD|Apache|ISC|PSF|Python Software Foundation|HPND|Unlicense|Zlib|CC0)", re.I)
OTHERS = re.compile(r"GPL|GNU|Mozilla|MPL|EUPL|CDDL|Proprietary|Non-?Commercial|Commons Clause|SSPL|BUSL", re.I)
MOST_OF_A_PACKAGE = 900
SKIPPED = re.compile(r"(^|/)(tests?|testing|_?vendor(ed)?|third_party|migrations|examples|locale)(/|_|$)|_pb2|test_")
MEASURED = (
    "retrieval/cosqa/corpus.jsonl",
    "training/python_docstrings/corpus.jsonl.gz",
    "training/cosqa_dev_pairs/corpus.jsonl.gz",
)


def licence_of(wheel: zipfile.ZipFile) -> str:
    """What the metadata says of the licence; empty where it is not plainly permissive."""
    name = next(each for each in wheel.namelist() if each.endswith(".dist-info/METADATA"))
    said = Parser().parsestr(wheel.read(name).decode("utf-8", "replace"), headersonly=True)
    classes = [each for each in said.get_all("Classifier", []) if each.startswith("License ::")]
    first_line = (said.get("License") or "").split("\n")[0][:80]
    stated = said.get("License-Expression") or " | ".join([*classes, first_line])
    return stated if PERMISSIVE.search(stated) and not OTHERS.search(stated) else ""


def functions(source: str) -> Iterator[tuple[str, str, str, str]]:
    """Name, docstring, the function with it and without it."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            tree = ast.parse(source)
    except (SyntaxError, ValueError, RecursionError):
        return
    lines = source.splitlines()
    for node in ast.walk(tree):
        if not isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)) or len(node.body) < 2:
            continue
        said, first = ast.get_docstring(node), node.body[0]
        if not said or node.name.startswith("__"):
            continue
        end = node.end_lineno or node.lineno
        whole = textwrap.dedent("\n".join(lines[node.lineno - 1 : end]))
        bare = textwrap.dedent(
            "\n".join([*lines[node.lineno - 1 : first.lineno - 1], *lines[first.end_lineno or 0 : end]])
        )
        if 60 < len(bare) < 2_500 and bare.count("\n") >= 2:
            yield node.name, said, whole, bare


def asked(docstring: str) -> str:
    """The first sentence of a docstring, if somebody could ask it."""
    paragraph = " ".join(docstring.split("\n\n")[0].split())
    sentence = re.split(r"(?<=[.!?])\s+(?=[A-Z])", paragraph)[0]
    sentence = re.sub(r":\w+:`~?([^`]*)`", r"\1", sentence).replace("`", "").replace("*", "")
    words = sentence.split()
    ok = (
        3 <= len(words) <= 30 and sentence.isascii() and not re.match(r"(todo|see|deprecated|:|@|\.\.)", sentence, re.I)
    )
    return sentence.rstrip(".: ") if ok and "http" not in sentence else ""


def body_of(code: str) -> str:
    """A function without its docstring, names of parameters and spaces aside: what two copies share."""
    code = re.sub(r'("""|\'\'\')(.|\n)*?\1', "", code)
    return hashlib.sha256(re.sub(r"\W+", "", code.partition(":")[2]).encode()).hexdigest()


def key_of(name: str, docstring: str) -> str:
    return name + "/" + re.sub(r"\W+", "", docstring.strip().split("\n")[0].lower())[:60]


def known(data: Path) -> set[str]:
    """Names with first lines, and bodies, of the functions in the sets that are measured on."""
    import gzip

    found: set[str] = set()
    for each in MEASURED:
        content = (data / each).read_bytes()
        for line in (gzip.decompress(content) if each.endswith(".gz") else content).decode().split("\n"):
            if line:
                code = json.loads(line)["text"]
                name = re.search(r"def\s+(\w+)", code)
                said = re.search(r'("""|\'\'\')\s*((.|\n)*?)\1', code)
                found |= {body_of(code), key_of(name[1] if name else "", said[2] if said else "")}
    return found


def of_package(path: Path, seen: set[str]) -> tuple[str, list[dict[str, str]]]:
    with zipfile.ZipFile(path) as wheel:
        licence = licence_of(wheel)
        if not licence:
            return "", []
        rows = []
        files = [each for each in wheel.namelist() if each.endswith(".py") and not SKIPPED.search(each)]
        Random(path.name).shuffle(files)
        for file in files:
            for name, said, whole, bare in functions(wheel.read(file).decode("utf-8", "replace")):
                question = asked(said)
                marks = {body_of(bare), key_of(name, said), re.sub(r"\W+", "", question.lower())}
                if question and not marks & seen:
                    seen |= marks
                    rows.append({"question": question, "name": name, "path": file, "code": whole, "bare": bare})
            if len(rows) >= MOST_OF_A_PACKAGE:
                break
    return licence, rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--wheels", type=Path, required=True)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True)
    options = parser.parse_args()
    seen, counts = known(options.data), Counter[str]()
    with options.out.open("w", encoding="utf-8") as file:
        for path in sorted(options.wheels.glob("*.whl")):
            licence, rows = of_package(path, seen)
            package = "-".join(path.name.split("-")[:2])
            for row in rows:
                file.write(json.dumps({"package": package, **row}) + "\n")
            counts[f"{package} ({licence.split(' :: ')[-1][:40]})"] += len(rows)
    for package, count in counts.most_common():
        if count:
            print(f"{count:5} {package}")
    print(f"{counts.total():,} functions")


if __name__ == "__main__":
    main()
