"""docs/accessibility.md is made of its sources, is whole, and names tests that exist and pass."""

import ast
import re

from scripts.generators import accessibility as document

ROOT = document.SCRIPTS.parent
# How many criteria of level A and AA each guideline of WCAG 2.2 has, with 4.1.1 of EN 301 549.
GUIDELINES = {
    "1.1": 1, "1.2": 5, "1.3": 5, "1.4": 9, "2.1": 3, "2.2": 2, "2.3": 1, "2.4": 8, "2.5": 6,
    "3.1": 2, "3.2": 5, "3.3": 6, "4.1": 3,
}  # fmt: skip


def defined(file: str) -> set[str]:
    tree = ast.parse((ROOT / "tests" / file).read_text("utf-8"))
    return {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}


def test_each_accessibility_criterion_names_tests_or_a_reason_for_having_none():
    found = document.criteria()
    numbers = [one.number for one in found]
    assert len(set(numbers)) == len(numbers) == 56
    of = [number.rpartition(".")[0] for number in numbers]
    assert {guideline: of.count(guideline) for guideline in of} == GUIDELINES
    for one in found:
        assert one.level in {"A", "AA"}, one
        assert bool(one.met) == bool(one.tests) != bool(one.absent), one


def test_tests_named_by_the_page_exist():
    named = {test.partition("::")[::2] for test in document.tests()}
    assert [f"{file}::{name}" for file, name in sorted(named) if name not in defined(file)] == []


def test_accessibility_page_links_to_existing_files():
    for path in re.findall(r"\]\(\.\./([^)#]+)\)", document.page()):
        assert (ROOT / path).is_file()
