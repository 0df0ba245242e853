"""Add to the documentation site what is not in docs/, for mkdocs.yml.

api.md is built from the OpenAPI document. Pages link to other files of the repository by path.
Files of `PUBLISHED` are part of the site, at the same place; any other link becomes its text.
"""

import os
import re
from pathlib import Path
from typing import Any

from mkdocs.structure.files import File

from scripts import site_api

ROOT = Path(__file__).resolve().parents[1]
PUBLISHED = ("CHANGELOG.md", "CONTRIBUTING.md", "LICENSE", "SECURITY.md", "deploy/**/*")
_LINK = re.compile(r"(!?\[[^\]]*\])\(([^)\s#]+)(#[^)\s]*)?\)")


def on_config(config: Any) -> Any:
    """Write out the pages that the navigation names as `folder/*`."""
    pages = {f"decisions/{path.name}" for path in Path(config.docs_dir, "decisions").glob("*.md")}
    pages |= {path for path in published() if path.endswith(".md")}
    for _, listed in (pair for one in config.nav for pair in one.items()):
        for pattern in [one for one in listed if str(one).endswith("/*")]:
            place = listed.index(pattern)
            listed[place : place + 1] = sorted(
                page for page in pages - set(listed) if page.startswith(pattern[:-1])
            )
    return config


def on_files(files: Any, *, config: Any) -> Any:
    """Add the API page, and what is published from outside docs/."""
    files.append(File.generated(config, "api.md", content=site_api.page()))
    for path in published():
        files.append(File.generated(config, path, abs_src_path=str(ROOT / path)))
    return files


def on_post_page(output: str, *, page: Any, config: Any) -> str:
    """Write the page's Markdown beside it, for agents."""
    text = Path(config.site_dir, page.file.dest_uri).with_suffix(".md")
    text.parent.mkdir(parents=True, exist_ok=True)
    text.write_text(page.markdown, "utf-8")
    return output


def on_post_build(*, config: Any) -> None:
    """Write llms.txt, which lists the pages of the site as Markdown."""
    folder = Path(config.site_dir)
    pages = sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*.md"))
    links = "\n".join(f"- [{path.removesuffix('.md')}]({path})" for path in pages)
    text = f"# {config.site_name}\n\n> {config.site_description}\n\n## Docs\n{links}\n"
    (folder / "llms.txt").write_text(text, "utf-8")


def published() -> list[str]:
    """Return the files of `PUBLISHED`, from the root of the repository."""
    paths = (path for pattern in PUBLISHED for path in ROOT.glob(pattern) if path.is_file())
    return sorted(path.relative_to(ROOT).as_posix() for path in paths)


def on_page_markdown(markdown: str, *, page: Any, config: Any, files: Any) -> str:
    """Write links as they are on the site; leave code as it is."""
    del config
    source = page.file.abs_src_path or ROOT / "docs" / page.file.src_uri
    here, shown = Path(source).parent, files.src_uris

    def moved(link: re.Match[str]) -> str:
        text, target, anchor = link[1], link[2], link[3] or ""
        path = Path(os.path.normpath(here / target))
        if "://" in target or not path.exists():
            return link[0]
        place = path.relative_to(ROOT).as_posix().removeprefix("docs/")
        if place not in shown:
            return text[1:-1] if text.startswith("[") else ""
        return f"{text}({os.path.relpath(place, Path(page.file.src_uri).parent)}{anchor})"

    parts = re.split(r"(^```.*?^```$)", markdown, flags=re.DOTALL | re.MULTILINE)
    return "".join(part if part.startswith("```") else _LINK.sub(moved, part) for part in parts)
