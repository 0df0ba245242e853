"""The documents are true: settings, dependencies, versions and links."""

import re
import subprocess
import tomllib

import location_context
from location_context.sections import registry
from location_context.sections.contract import DEGRADED
from location_context.sections.section import Section
from scripts.generators import picture
from tests.conftest import ROOT

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]


def test_each_dependency_is_explained_in_a_decision():
    decisions = "\n".join(p.read_text() for p in (ROOT / "docs" / "decisions").glob("*.md")).lower()
    names = [re.split(r"[\[<>=~! ]", wanted)[0] for wanted in PROJECT["dependencies"]]
    missing = [n for n in names if n not in decisions and n.replace("-", "_") not in decisions]
    assert missing == []


def test_changelog_has_this_version():
    assert f"## {location_context.__version__}" in (ROOT / "CHANGELOG.md").read_text()


def test_page_about_calling_the_api_explains_each_section_and_each_degraded_reason():
    page = (ROOT / "docs" / "calling.md").read_text()
    rows = set(re.findall(r"^\| `(\w+)` \|", page, re.MULTILINE))
    assert rows == {one.name for one in registry.load(registry.SECTIONS, Section)}
    assert [reason for reason in DEGRADED if f"`{reason}`" not in page] == []


def test_links_between_documentation_files_resolve():
    pages = [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")]
    broken = [
        f"{page.relative_to(ROOT)}: {target}"
        for page in pages
        for target in re.findall(r"\]\(([^)#\s]+)", page.read_text())
        if "://" not in target and not (page.parent / target).exists()
    ]
    assert broken == []


def test_committed_files_name_no_machine_and_no_registry_host():
    listed = subprocess.run(
        ["git", "-C", ROOT, "ls-files", "-z"], capture_output=True, text=True, check=True
    ).stdout.split("\0")
    forbidden = re.compile(
        "/" + r"work/(main|shared|\.library)|files\.python" + "hosted|pypi" + r"\.org/simple"
    )
    found = []
    for name in filter(None, listed):
        try:
            text = (ROOT / name).read_text()
        except (UnicodeDecodeError, FileNotFoundError):
            continue
        if forbidden.search(text):
            found.append(name)
    assert found == []


def test_performance_chart_shows_each_row_of_its_tables():
    page = picture.PAGE.read_text("utf-8")
    assert len(picture.parts(page)) == len(picture.HUES)
    assert len(picture.reached(page)) == page.count("✓ |") + page.count("✗ |")
