from __future__ import annotations

import pytest

SOURCES = {
    "a.py": """
import os

@dec
def first(x: int) -> int:
    return os.x

class Second(Base):
    def third(self): ...
""",
    "a.js": """
import {a} from "b";
export function first(x) { return a }
class Second extends L { third(z) {} }
""",
    "a.ts": """
interface First { a: number }
export class Second implements First { third(x: T): void {} }
""",
    "a.tsx": """
export const First = () => <div>hi</div>;
class Second { third() {} }
""",
    "a.go": """
package p
import "fmt"
// First does
func First(a int) int { return a }
type Second struct { A int }
""",
    "a.rs": """
use std::fmt;
#[derive(Debug)]
struct Second { x: i32 }
pub fn first() -> i32 { 1 }
""",
    "a.java": """
import java.util.List;
/** doc */
public class Second { int third(List<String> l) { return 1; } }
""",
    "a.c": """
#include <stdio.h>
struct Second { int x; };
int *first(int argc) { return 0; }
""",
    "a.cpp": """
#include <vector>
class Second { int third() { return 1; } };
template <class T> T first(T t) { return t; }
""",
    "a.rb": """
module Second
  def third(x)
    x
  end
end
def first; end
""",
    "a.cs": """
using System;
public class Second { public void Third(int x) {} }
""",
    "a.php": """<?php
use A\\B;
function first($x) { return 1; }
class Second extends D { public function third() {} }
""",
    "a.sh": """#!/bin/bash
# doc
first() {
 echo 1
}
function second { echo 2; }
""",
}


@pytest.mark.parametrize("name", SOURCES)
def test_definitions_become_blocks_under_their_names(parse, name: str) -> None:
    parsed = parse(name, SOURCES[name].encode())
    assert parsed.text == SOURCES[name]
    names = {path.lower() for block in parsed.blocks for path in block.headings}
    assert "second" in names
    symbols = {str(each).lower() for block in parsed.blocks for each in block.attributes.get("symbols", [])}
    assert symbols & {"first", "second.third"}


def test_imports_and_signatures_are_known(parse) -> None:
    parsed = parse("a.py", SOURCES["a.py"].encode())
    assert parsed.report.metadata["imports"] == ["os"]
    first = next(block for block in parsed.blocks if block.headings == ("first",))
    assert first.attributes["signature"] == "@dec def first(x: int) -> int:"


def test_offsets_are_right_beyond_ascii(parse) -> None:
    source = '# Größe 🙂\nx = "日本語"\n\n\ndef grüße():\n    return "é"\n'
    parsed = parse("a.py", source.encode())
    block = next(block for block in parsed.blocks if block.headings)
    assert parsed.text[block.start : block.end] == 'def grüße():\n    return "é"'


def test_broken_source_is_still_read(parse) -> None:
    source = "def broken(:\n  return ((((\nclass {{{\n" * 20
    assert parse("a.py", source.encode()).text == source
