"""What is found in source: definitions, imports, and the ways in."""

from __future__ import annotations

import pytest

from footnotes.analyse import grammar
from footnotes.analyse.source import analyse
from footnotes.errors import MissingExtra
from repositories import ROUTES, TOKENS


def names(text: str, language: str = "python") -> list[str]:
    return [name for symbol in analyse(text, language).outline.symbols for name in symbol.names]


def entries(text: str, language: str = "python") -> list[str]:
    return [entry.name for entry in analyse(text, language).entry_points]


def test_definitions_have_their_names_kinds_and_places() -> None:
    found = analyse(TOKENS, "python").outline.symbols
    assert {(symbol.name, symbol.kind) for symbol in found} == {
        ("LIFETIME", "constant"),
        ("TokenError", "class"),
        ("TokenService", "class"),
        ("TokenService.refresh", "method"),
        ("validate_token", "function"),
    }
    place = next(symbol for symbol in found if symbol.name == "validate_token")
    assert TOKENS[place.start : place.end].startswith("def validate_token(")
    assert TOKENS[place.start : place.end].endswith("return token")
    assert "refresh" in names(TOKENS)


def test_definitions_under_a_condition_are_found() -> None:
    source = "try:\n    import fast\n    def a(): ...\nexcept ImportError:\n    def b(): ...\nif X:\n    class C: ...\n"
    assert {"a", "b", "C"} <= set(names(source))


@pytest.mark.parametrize(
    ("language", "source", "expected"),
    [
        ("go", "package a\nfunc (s *Service[T]) Refresh() {}\nconst Limit = 3\n", {"Service.Refresh", "Limit"}),
        ("rust", "impl Foo { fn bar(&self) {} }\n", {"Foo.bar", "bar"}),
        ("typescript", "export const LIMIT = 3;\nexport const f = () => 1;\n", {"LIMIT", "f"}),
        ("kotlin", "class Foo(val x: Int) {\n    fun bar(): Int {\n        return 1\n    }\n}\n", {"Foo.bar"}),
        ("elixir", "defmodule Shop.Cart do\n  def add(item) do\n  end\nend\n", {"add"}),
        ("sql", "CREATE TABLE IF NOT EXISTS users (\n  id int\n);\n", {"users"}),
    ],
)
def test_other_languages(language: str, source: str, expected: set[str]) -> None:
    assert expected <= set(names(source, language))


@pytest.mark.parametrize(
    ("language", "source", "expected"),
    [
        ("python", TOKENS, ["bcrypt", "datetime"]),
        ("python", "from .near import x\nimport os.path as p, json\n", [".near", "os.path", "os", "json"]),
        ("python", 'X = """\nimport nothing\n"""\n# import neither\n', []),
        ("typescript", 'import a from "lodash/fp";\nimport "./b";\n', ["lodash/fp", "lodash", "./b"]),
        ("javascript", "const a = require('@scope/pkg/deep');\n", ["@scope/pkg/deep", "@scope/pkg"]),
        ("go", 'import (\n\t"fmt"\n\tg "github.com/gin-gonic/gin"\n)\n', ["fmt", "github.com/gin-gonic/gin", "gin"]),
        ("rust", "use std::collections::HashMap;\n", ["std::collections::HashMap", "std"]),
        ("java", "import java.util.List;\n", ["java.util.List", "java.util", "java"]),
        ("c", "#include <sys/stat.h>\n", ["sys/stat.h", "sys", "stat"]),
        ("csharp", "using System.Text;\n", ["System.Text", "System"]),
        ("ruby", 'require "json"\n', ["json"]),
        ("php", "<?php\nuse App\\Models\\User;\n", ["App\\Models\\User", "App"]),
    ],
)
def test_imports_are_named_in_full_and_by_their_package(language: str, source: str, expected: list[str]) -> None:
    assert analyse(source, language).imports == expected


@pytest.mark.parametrize(
    ("language", "source", "expected"),
    [
        ("python", ROUTES, ["GET /users/{id}", "main"]),
        ("python", '@app.route("/f", methods=["GET", "POST"])\ndef f(): ...\n', ["GET /f", "POST /f"]),
        ("python", '@app.get(\n    "/long",\n)\nasync def f(): ...\n', ["GET /long"]),
        ("python", '@mock.patch("a.b")\ndef test(): ...\n', []),
        ("python", 'def f():\n    """@app.get("/no")"""\n', []),
        ("python", 'urlpatterns = [path("users/<int:id>/", view)]\n', ["ANY /users/<int:id>/"]),
        ("python", 'routes = [Route("/a", f, methods=["PUT"])]\n', ["PUT /a"]),
        ("python", "@main.command()\n@click.option('--x')\ndef add_all(): ...\n", ["cli:add-all"]),
        ("python", 'sub.add_parser("list")\n', ["cli:list"]),
        ("javascript", "app.get('/a', h);\naxios.get('/b', {});\n", ["GET /a"]),
        ("typescript", "@Controller('users')\nclass U { @Get(':id') one() {} }\n", ["GET /users/:id"]),
        (
            "java",
            '@RequestMapping("/api")\npublic class U {\n  @GetMapping("/{id}") X a() {}\n  @PostMapping X b() {}\n'
            "  public static void main(String[] a) {}\n}\n",
            ["GET /api/{id}", "POST /api", "main"],
        ),
        ("java", '@Path("/r") class R { @GET @Path("/x") X x() {} @DELETE X d() {} }\n', ["GET /r/x", "DELETE /r"]),
        ("go", 'func main() {\n v := r.Group("/v1")\n v.GET("/ping", h)\n}\n', ["main", "GET /v1/ping"]),
        ("go", 'func f() { mux.HandleFunc("GET /y", h) }\n', ["GET /y"]),
        ("rust", 'fn main() { Router::new().route("/a", get(x).post(y)); }\n', ["main", "GET /a", "POST /a"]),
        ("rust", '#[get("/hi")]\nfn hi() {}\n', ["GET /hi"]),
        ("csharp", '[Route("api/x")]\nclass C { [HttpGet("{id}")] int G() { return 1; } }\n', ["GET /api/x/{id}"]),
        ("php", '<?php\nRoute::get("users/{id}", f);\n', ["GET /users/{id}"]),
        ("ruby", 'get "/hi" do\nend\n', ["GET /hi"]),
        ("c", "int main(int argc) { return 0; }\n", ["main"]),
    ],
)
def test_entry_points(language: str, source: str, expected: list[str]) -> None:
    assert entries(source, language) == expected


def test_without_a_grammar_regular_expressions_find_what_they_can(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(language: str) -> None:
        raise MissingExtra(f"no grammar of {language}")

    monkeypatch.setattr("footnotes.analyse.outline.parser_of", missing)
    found = analyse(TOKENS, "python")
    assert not found.exact and found.missing is not None
    assert {"TokenError", "TokenService.refresh", "validate_token"} <= {each.name for each in found.outline.symbols}
    assert "bcrypt" in found.imports
    assert [entry.name for entry in analyse(ROUTES, "python").entry_points] == ["GET /users/{id}", "main"]
    assert grammar.has_grammar("python") and not grammar.has_grammar("kotlin")
