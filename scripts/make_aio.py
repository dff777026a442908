"""Writes src/footnotes/aio.py, the async twin, from the façade. A test fails when it differs from it.

python scripts/make_aio.py
"""

from __future__ import annotations

import ast
import subprocess
import sys
import textwrap
from pathlib import Path

SOURCE = Path(__file__).parent.parent / "src" / "footnotes"
FACADE = SOURCE / "library.py"
LEFT_OUT = {"close", "embedder", "connect_model", "conversations", "at_generation", "build_source", "adding_files"}
"""What needs no waiting, or is the server's own: `AsyncLibrary.library` has it."""
READ_AT_ONCE = {"index_failure"}
LISTED = {"blocks"}

HEAD = '''"""The async twin of `Library`, run in threads so that an event loop never waits for it.

Written by scripts/make_aio.py; change the façade, then run it.
"""

from __future__ import annotations

import asyncio
@@IMPORTS@@

T = TypeVar("T")
_END = object()


class AsyncLibrary:
    """Every method of `Library`, awaited; what it gives one by one is an async iterator. Use it with `async with`."""

    def __init__(self, folder: str | Path | None = None, *, settings: Settings | None = None) -> None:
        self._folder = folder
        self._settings = settings
        self._library: Library | None = None

    async def __aenter__(self) -> AsyncLibrary:
        self._library = await asyncio.to_thread(Library, self._folder, settings=self._settings)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    async def close(self) -> None:
        """Let go of the folder."""
        if self._library is not None:
            await asyncio.to_thread(self._library.close)
            self._library = None

    @property
    def library(self) -> Library:
        """The library itself, for what needs no waiting."""
        if self._library is None:
            raise RuntimeError("the library is not open: use `async with footnotes.connect(...)`")
        return self._library
'''
TAIL = '''

async def _each(items: Iterator[T], stop: threading.Event | None = None) -> AsyncIterator[T]:
    """The items, each waited for in one thread, which holds what they lock. Leaving the loop ends what makes them."""
    context, loop = copy_context(), asyncio.get_running_loop()
    thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="footnotes-stream")
    try:
        while (item := await loop.run_in_executor(thread, lambda: context.run(next, items, _END))) is not _END:
            yield cast(T, item)
    finally:
        if stop is not None:
            stop.set()
        if callable(close := getattr(items, "close", None)):
            await loop.run_in_executor(thread, lambda: context.run(close))
        thread.shutdown(wait=False)
'''


def main() -> None:
    (SOURCE / "aio.py").write_text(written(), encoding="utf-8")


def written() -> str:
    """The async twin as it should be."""
    tree = ast.parse(FACADE.read_text(encoding="utf-8"))
    library = next(node for node in tree.body if isinstance(node, ast.ClassDef) and node.name == "Library")
    methods = [node for node in library.body if isinstance(node, ast.FunctionDef)]
    twins = [_twin(node) for node in methods if not node.name.startswith("_") and node.name not in LEFT_OUT]
    text = HEAD.replace("@@IMPORTS@@", _imports(tree)) + "\n" + "\n\n".join(twins) + "\n" + TAIL
    for command in (["check", "--fix-only", "--quiet", "--select", "F401,I"], ["format"]):
        arguments = [sys.executable, "-m", "ruff", *command, "--stdin-filename", str(SOURCE / "aio.py"), "-"]
        text = subprocess.run(arguments, input=text, capture_output=True, text=True, check=True).stdout
    return text


def _imports(tree: ast.Module) -> str:
    """What the façade imports, for its annotations; ruff drops what is not used."""
    own = [node for node in tree.body if isinstance(node, (ast.Import, ast.ImportFrom))]
    checked = next(node for node in tree.body if isinstance(node, ast.If)).body
    lines = [ast.unparse(node) for node in [*own, *checked] if "__future__" not in ast.unparse(node)]
    lines += ["from collections.abc import AsyncIterator", "from contextvars import copy_context"]
    lines += ["from concurrent.futures import ThreadPoolExecutor"]
    return "\n".join([*lines, "from typing import TypeVar, cast", "from footnotes.library import Library"])


def _twin(node: ast.FunctionDef) -> str:
    kind = ast.unparse(node.returns) if node.returns else "None"
    call, passed = f"self.library.{node.name}", _passed(node.args)
    head = f"{node.name}({ast.unparse(node.args)})"
    if node.name in READ_AT_ONCE:
        return _method(f"@property\ndef {head} -> {kind}", node, f"return {call}")
    if any(ast.unparse(decorator) == "property" for decorator in node.decorator_list):
        return _method(f"async def {head} -> {kind}", node, f"return await asyncio.to_thread(lambda: {call})")
    if node.name in LISTED:
        listed = kind.replace("Iterator[", "list[")
        return _method(
            f"async def {head} -> {listed}", node, f"return await asyncio.to_thread(lambda: list({call}({passed})))"
        )
    if kind.startswith("Iterator["):
        body = f"return _each({call}({passed}))"
        if any(each.arg == "stop" for each in node.args.kwonlyargs):
            body = f"stop = stop or threading.Event()\nreturn _each({call}({passed}), stop)"
        return _method(f"def {head} -> Async{kind}", node, body)
    return _method(
        f"async def {head} -> {kind}",
        node,
        f"return await asyncio.to_thread({', '.join(filter(None, (call, passed)))})",
    )


def _method(head: str, node: ast.FunctionDef, body: str) -> str:
    doc = ast.get_docstring(node)
    lines = f'"""{doc}\n"""\n{body}' if doc and "\n" in doc else f'"""{doc}"""\n{body}' if doc else body
    return textwrap.indent(f"{head}:\n{textwrap.indent(lines, '    ')}", "    ")


def _passed(arguments: ast.arguments) -> str:
    """The arguments of a function, handed on."""
    passed = [each.arg for each in arguments.args if each.arg != "self"]
    passed += [f"*{arguments.vararg.arg}"] if arguments.vararg else []
    passed += [f"{each.arg}={each.arg}" for each in arguments.kwonlyargs]
    passed += [f"**{arguments.kwarg.arg}"] if arguments.kwarg else []
    return ", ".join(passed)


if __name__ == "__main__":
    main()
