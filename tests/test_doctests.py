"""The examples in docstrings do what they show."""

import doctest
import importlib

import pytest

from tests.test_house import SOURCES, name_of

WITH_EXAMPLES = [path for path in SOURCES if ">>> " in path.read_text(encoding="utf-8")]


@pytest.mark.parametrize("path", WITH_EXAMPLES, ids=name_of)
def test_docstring_examples_of_a_module_work(path) -> None:
    module = importlib.import_module(name_of(path))
    outcome = doctest.testmod(module, optionflags=doctest.ELLIPSIS)
    assert outcome.attempted
    assert not outcome.failed
