"""The node types of definitions, names and imports in the grammars of tree-sitter."""

from __future__ import annotations

import importlib
from collections.abc import Sequence
from functools import cache
from typing import TYPE_CHECKING, Protocol

from footnotes.errors import MissingExtra

if TYPE_CHECKING:
    from tree_sitter import Parser

_MODULES = {
    "python": ("tree_sitter_python", "language"),
    "javascript": ("tree_sitter_javascript", "language"),
    "typescript": ("tree_sitter_typescript", "language_typescript"),
    "tsx": ("tree_sitter_typescript", "language_tsx"),
    "go": ("tree_sitter_go", "language"),
    "rust": ("tree_sitter_rust", "language"),
    "java": ("tree_sitter_java", "language"),
    "c": ("tree_sitter_c", "language"),
    "cpp": ("tree_sitter_cpp", "language"),
    "ruby": ("tree_sitter_ruby", "language"),
    "csharp": ("tree_sitter_c_sharp", "language"),
    "php": ("tree_sitter_php", "language_php"),
    "bash": ("tree_sitter_bash", "language"),
}

DEFINITIONS = frozenset(
    """
    function_definition class_definition decorated_definition
    function_declaration generator_function_declaration class_declaration abstract_class_declaration
    method_definition interface_declaration type_alias_declaration enum_declaration internal_module module
    method_declaration type_declaration constructor_declaration record_declaration annotation_type_declaration
    function_item struct_item enum_item trait_item impl_item mod_item macro_definition union_item
    struct_specifier union_specifier enum_specifier class_specifier type_definition preproc_function_def
    namespace_definition namespace_declaration file_scoped_namespace_declaration template_declaration
    method singleton_method class struct_declaration property_declaration trait_declaration
    """.split()  # noqa: SIM905
)
"""Nodes that define a name."""

IMPORTS = frozenset(
    """
    import_statement import_from_statement future_import_statement import_declaration use_declaration
    preproc_include using_directive namespace_use_declaration extern_crate_declaration
    """.split()  # noqa: SIM905
)

WRAPPERS = {"decorated_definition": "definition", "export_statement": "declaration", "template_declaration": ""}
"""Nodes that only wrap a definition, and the field that holds it."""

_NAME_FIELDS = ("name", "declarator", "type")
_FUNCTION_VALUES = frozenset(["arrow_function", "function_expression", "function", "class"])


class Node(Protocol):
    """The parts of a tree-sitter node that we use."""

    type: str
    text: bytes
    start_byte: int
    end_byte: int
    is_named: bool
    child_count: int
    named_child_count: int
    children: Sequence[Node]
    named_children: Sequence[Node]
    prev_sibling: Node | None
    parent: Node | None

    def child_by_field_name(self, name: str, /) -> Node | None: ...

    def descendant_for_byte_range(self, start: int, end: int, /) -> Node | None: ...


def has_grammar(language: str) -> bool:
    """Return whether a grammar exists for a language; it may not be installed."""
    return language in _MODULES


@cache
def parser_of(language: str) -> Parser:
    """Return the tree-sitter parser of a language."""
    try:
        from tree_sitter import Language, Parser

        module_name, function = _MODULES[language]
        module = importlib.import_module(module_name)
    except ModuleNotFoundError as error:
        raise MissingExtra(
            f"reading {language} needs the package {error.name}, which is not installed",
            remedy='pip install "footnotes[code]"',
        ) from error
    return Parser(Language(getattr(module, function)()))


def definition(node: Node) -> Node | None:
    """Return the definition that a node is or wraps."""
    for _ in range(4):
        if node.type in WRAPPERS:
            inner = node.child_by_field_name(WRAPPERS[node.type]) if WRAPPERS[node.type] else None
            inner = inner or next((child for child in node.named_children if definition_type(child)), None)
            if inner is None:
                return None
            node = inner
        else:
            break
    return node if definition_type(node) else None


def definition_type(node: Node) -> bool:
    """Return whether a node itself defines something."""
    if node.type in DEFINITIONS or node.type in WRAPPERS:
        return bool(node.is_named)
    return node.type in ("lexical_declaration", "variable_declaration") and _declared_function(node) is not None


def _declared_function(node: Node) -> Node | None:
    """Return the declarator whose value is a function: `const f = () => …`."""
    for child in node.named_children:
        value = child.child_by_field_name("value") if child.type == "variable_declarator" else None
        if value is not None and value.type in _FUNCTION_VALUES:
            return child
    return None


def name_of(node: Node) -> str:
    """The name of a definition; empty if it has none."""
    if node.type in ("lexical_declaration", "variable_declaration"):
        node = _declared_function(node) or node
    if node.type == "type_declaration" and node.named_children:
        node = node.named_children[0]
    for _ in range(8):
        inner = next((found for field in _NAME_FIELDS if (found := node.child_by_field_name(field))), None)
        if inner is None:
            break
        node = inner
    text = node.text.decode("utf-8", "replace") if node.child_count == 0 or len(node.text) < 80 else ""
    return " ".join(text.split())[:80]


def body_of(node: Node) -> Node | None:
    """The body of a definition."""
    if node.type in ("lexical_declaration", "variable_declaration"):
        declared = _declared_function(node)
        value = declared.child_by_field_name("value") if declared is not None else None
        return value.child_by_field_name("body") if value is not None else None
    body = node.child_by_field_name("body")
    if body is None and node.type in ("class", "module", "singleton_method", "method"):
        return next((child for child in node.named_children if child.type == "body_statement"), None)
    return body
