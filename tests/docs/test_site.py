"""The documentation site is built without a broken link and asks no other host for anything."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.conftest import ROOT

LOADED = re.compile(
    r"""<(?:script|img|iframe|source|video|audio|embed|object)\b[^>]*?\s(?:src|data)=["']?([^"'\s>]+)
    |<link\b(?![^>]*rel=["']?canonical)[^>]*?\shref=["']?([^"'\s>]+)
    |url\(["']?([^)"']+)|@import\s+["']([^"']+)""",
    re.VERBOSE,
)


def build(project: Path, folder: Path) -> subprocess.CompletedProcess[str]:
    """As scripts/site builds it; `--quiet` would let broken links pass."""
    return subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", folder],
        cwd=project, capture_output=True, text=True, check=False,
        env={**os.environ, "NO_MKDOCS_2_WARNING": "1"},
    )  # fmt: skip


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("site")
    done = build(ROOT, folder)
    assert done.returncode == 0, done.stderr
    return folder


def test_docs_site_has_every_page_of_the_docs_folder(site: Path) -> None:
    pages = {path.relative_to(ROOT / "docs") for path in (ROOT / "docs").rglob("*.md")}
    missing = [page for page in pages if not (site / built(page)).is_file()]
    assert missing == []
    assert (site / "deploy" / "prometheus" / "alerts.yml").is_file()


def test_each_page_of_the_site_is_also_published_as_markdown(site: Path) -> None:
    pages = [path for path in site.rglob("*.html") if path.name != "404.html"]
    assert [page for page in pages if not page.with_suffix(".md").is_file()] == []
    assert (site / "embedding.md").read_text("utf-8").startswith("# Embedding the widget")
    listed = (site / "llms.txt").read_text("utf-8")
    assert "- [api](api.md)" in listed
    assert all((site / path).is_file() for path in re.findall(r"\((.*)\)", listed))


def built(page: Path) -> Path:
    return page.with_name("index.html") if page.name == "README.md" else page.with_suffix(".html")


def test_the_site_loads_nothing_from_another_host(site: Path) -> None:
    found = [
        f"{path.relative_to(site)}: {address}"
        for path in (*site.rglob("*.html"), *site.rglob("*.css"))
        for groups in LOADED.findall(path.read_text("utf-8"))
        for address in filter(None, groups)
        if re.match(r"(https?:)?//", address)
    ]
    assert found == []


def test_docs_site_contains_no_path_of_the_machine_that_built_it(site: Path) -> None:
    pages = [*site.rglob("*.html"), site / "search" / "search_index.json"]
    assert [page for page in pages if str(ROOT) in page.read_text("utf-8")] == []


def test_a_broken_link_stops_the_build(tmp_path: Path) -> None:
    broken = ["(no-page.md)", "(#no-anchor)", "(other.md#no-heading)", "(../no-file.txt)"]
    settings = (ROOT / "mkdocs.yml").read_text("utf-8").partition("\nnav:")[0]
    (tmp_path / "mkdocs.yml").write_text(re.sub("hooks:.*|extra_css:.*", "", settings))
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "other.md").write_text("# Other\n")
    (tmp_path / "docs" / "index.md").write_text(
        "# Title\n\n" + "\n".join(f"[x]{x}" for x in broken)
    )
    done = build(tmp_path, tmp_path / "site")
    assert done.returncode == 1
    assert [x for x in broken if x.strip("()") not in done.stderr] == []


def test_the_list_of_decisions_names_each_decision() -> None:
    folder = ROOT / "docs" / "decisions"
    listed = set(re.findall(r"\]\(([\w-]+\.md)\)", (folder / "README.md").read_text("utf-8")))
    assert listed == {path.name for path in folder.glob("*.md")} - {"README.md"}
