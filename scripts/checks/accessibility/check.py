"""Test every page of the service with three engines and two validators.

`./scripts/check accessibility` runs it. A row of the table is a kind of page: how many were judged,
and what each engine and validator found. Pages are served by the real application over samples of
data; all its layouts and languages are tested.
"""

import json
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import httpx2
from playwright.sync_api import sync_playwright
from rich.console import Console
from rich.table import Table

from location_context.settings import Settings
from scripts.checks.accessibility.answers import ANSWERED, Answer, Finding
from scripts.checks.accessibility.engines import ENGINES
from tests.moved_clock import MovedClock
from tests.sections.weather.accuracy.test_page import stored_scores
from tests.serving import free_port, serve
from tests.widget.browser import chromium_path
from tests.widget.samples.sections import sample_sections
from tests.widget.service import FORECAST, LANGUAGES, STAY, STRADDLING

HERE = Path(__file__).parent
ROOT = HERE.parents[2]
WORK = ROOT / ".accessibility"
TOOLS = WORK / "node_modules"
BROWSERS = 2  # at a time, one for a processor
LONG = {**STAY, "start": "2027-07-01", "end": "2027-07-28"}  # days in weeks, dates folded away
STAYS = (STRADDLING, FORECAST, STAY, LONG)  # in turn, so that each layout shows each
WIDTHS = {"full": (320, 1000)}  # px; the other layouts have one form
OTHER_WIDTHS = (500,)
HOST = """<!doctype html>
<html lang="{}"><head><title>A host</title></head><body><main><h1>A host</h1>
{}
</main></body></html>
"""


@dataclass(frozen=True)
class Case:
    """A page: its kind (a row of the table), address, and what it is looked at with."""

    kind: str
    address: str
    width: int = 1000
    scheme: str = "light"
    locale: str = "en-GB"

    @property
    def name(self) -> str:
        return f"{self.kind}, {self.width} px, {self.scheme}, {self.locale}: {self.address}"


@dataclass
class Judged:
    """What was found of a case, the HTML as it was sent, and the snippet that it shows."""

    case: Case
    findings: list[Finding]
    html: str
    snippet: str


@dataclass
class Results:
    """Everything found, and the answers that were needed, each with how often."""

    pages: Counter[str] = field(default_factory=Counter)
    files: Counter[str] = field(default_factory=Counter)
    found: Counter[tuple[str, str]] = field(default_factory=Counter)
    lines: Counter[str] = field(default_factory=Counter)
    answers: Counter[Answer] = field(default_factory=Counter)

    def add(self, kind: str, finding: Finding) -> None:
        if finding.answer:
            self.answers[finding.answer] += 1
            return
        self.found[kind, finding.engine] += 1
        line = f"{finding.engine}, {kind}: {finding.kind}, {finding.rule}: {finding.message}"
        self.lines[f"{line}\n    {finding.markup}"] += 1


def install() -> None:
    """Install the tools at the versions of the lock file, unless they are there."""
    wanted, stamp = (HERE / "package-lock.json").read_text(), WORK / "installed"
    if stamp.is_file() and stamp.read_text() == wanted:
        return
    say("Installing the engines …")
    shutil.rmtree(WORK, ignore_errors=True)
    WORK.mkdir()
    for name in ("package.json", "package-lock.json"):
        shutil.copy(HERE / name, WORK)
    run("npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund")
    stamp.write_text(wanted)


def run(*command: str, fine: Sequence[int] = (0,)) -> subprocess.CompletedProcess[str]:
    """Run a tool in its folder; an exit code that is not fine ends the check."""
    done = subprocess.run(command, cwd=WORK, capture_output=True, text=True, check=False)
    if done.returncode not in fine:
        sys.exit(f"{command[0]} failed:\n{done.stdout[-4000:]}{done.stderr[-4000:]}")
    return done


def say(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


@contextmanager
def served() -> Iterator[tuple[str, str]]:
    """Serve samples, and another service with stored scores; yield both addresses."""
    clock, port = MovedClock(), free_port()
    with tempfile.TemporaryDirectory() as folder, tempfile.TemporaryDirectory() as scores:
        settings = Settings(
            data_dir=Path(folder), public_url=f"http://127.0.0.1:{port}", log_level="error",
            widget_per_minute=100_000,
        )  # fmt: skip
        sections = sample_sections(clock)
        with (
            serve(settings, clock=clock, sections=sections, port=port) as one,
            serve(stored_scores(Path(scores)), clock=MovedClock()) as other,
        ):
            yield one.url, other.url


def cases(base: str, scores: str) -> list[Case]:
    """Every page; the widget's layouts and the documents are those of the documentation."""
    references = [httpx2.get(f"{one}/v1/docs", trust_env=False).text for one in (base, scores)]
    pages = sorted({"/v1/docs", *re.findall(r'"(/v1/docs/[^"#]+)', "".join(references))})
    document = httpx2.get(f"{base}/v1/openapi.json", trust_env=False).json()
    parameter = document["components"]["parameters"].get("layout", {"schema": {"enum": ["full"]}})
    found = []
    for number, language in enumerate(LANGUAGES):
        for theme in ("light", "dark"):
            given = {**STAYS[number % len(STAYS)], "lang": language, "theme": theme}
            for layout in parameter["schema"]["enum"]:
                query = httpx2.QueryParams({**given, "layout": layout})
                for width in WIDTHS.get(layout, OTHER_WIDTHS):
                    kind = f"widget, {layout}, {width} px"
                    found.append(Case(kind, f"{base}/v1/pulse?{query}", width, theme, language))
            if "/v1/pulse.svg" in document["paths"]:
                query = httpx2.QueryParams(given)
                card = f"{base}/v1/pulse.svg?{query}"
                found.append(Case("widget, static card", card, 500, theme, language))
            wrong = httpx2.QueryParams({**given, "lat": "north"})
            found.append(Case("widget, error", f"{base}/v1/pulse?{wrong}", 500, theme, language))
            found.append(Case("builder", f"{base}/", 1000, theme, language))
    mail = httpx2.QueryParams({**STAYS[0], "code": "mail"})
    for scheme in ("light", "dark"):
        found += [
            Case("builder, wrong field", f"{base}/?lat=abc&lng=0&place=x", 500, scheme),
            Case("builder, e-mail", f"{base}/?{mail}", 500, scheme),
            Case("builder, other places", f"{base}/?place=springfield", 500, scheme),
        ]
        for page in pages:
            host = scores if page.endswith("/accuracy") else base
            kind = page.removeprefix("/v1/").replace("/", ", ")
            found += [Case(kind, f"{host}{page}", width, scheme) for width in (320, 1000)]
    return found


def judge(share: Sequence[Case]) -> list[Judged]:
    """Open each page in one browser and ask the engines; details are open."""
    judged = []
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=chromium_path(), args=["--no-sandbox", "--disable-dev-shm-usage"]
        )
        for case in share:
            context = browser.new_context(
                bypass_csp=True,
                locale=case.locale,
                color_scheme="dark" if case.scheme == "dark" else "light",
                viewport={"width": case.width, "height": 900},
            )
            page = context.new_page()
            response = page.goto(case.address)
            assert response is not None
            html = response.text()
            if "svg" in response.headers["content-type"]:  # as it stands in a page or a message
                html = HOST.format(case.locale, html)
                page.goto("about:blank")  # a page of HTML, whose content can be set
                page.set_content(html)
            page.eval_on_selector_all("details", "(all) => all.forEach((one) => one.open = true)")
            findings = [one for engine in ENGINES for one in engine.findings(page, TOOLS)]
            code = page.query_selector("#code code")
            judged.append(Judged(case, findings, html, (code and code.text_content()) or ""))
            context.close()
            bad = sum(1 for one in findings if not one.answer)
            say(f"{bad or 'no'} findings: {case.name}")
        browser.close()
    return judged


def validate(judged: Sequence[Judged], results: Results) -> None:
    """Both validators over every page as it was sent, and over the snippet on a bare host."""
    folder = WORK / "pages"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    texts = [(one.case.kind, one.html) for one in judged]
    texts += [("snippet", HOST.format("en", one.snippet)) for one in judged if one.snippet]
    kinds = dict[str, str]()
    for number, (kind, text) in enumerate(dict.fromkeys(texts)):
        path = folder / f"{number:03}.html"
        path.write_text(text, "utf-8")
        kinds[str(path)] = kind
    results.files = Counter(kinds.values())
    say(f"Validating {len(kinds)} files …")
    for validator, ask in (("html-validate", html_validate), ("Nu checker", nu_checker)):
        for path, rule, message, markup in ask():
            kind = kinds[path]
            results.add(kind, Finding(validator, "error", rule, message, markup, [kind]))


def html_validate() -> Iterator[tuple[str, str, str, str]]:
    """File, rule, message and place of what html-validate finds."""
    shutil.copy(HERE / "htmlvalidate.mjs", WORK)
    command = "npx html-validate --config htmlvalidate.mjs --formatter json pages"
    for file in json.loads(run(*command.split(), fine=(0, 1)).stdout):
        for one in file["messages"]:
            place = f"line {one['line']}, column {one['column']}"
            yield file["filePath"], one["ruleId"], one["message"], place


def nu_checker() -> Iterator[tuple[str, str, str, str]]:
    """File, message (the rules have no names) and markup of what the Nu checker finds."""
    jar = str(TOOLS / "vnu-jar/build/dist/vnu.jar")
    done = run("java", "-Xss2m", "-jar", jar, "--format", "json", "pages", fine=(0, 1))
    for one in json.loads(done.stderr)["messages"]:
        path = one["url"].removeprefix("file:")
        yield path, one["message"], one["type"], one.get("extract", "")


def main(*words: str) -> None:
    """Judge all pages, or those of the kinds that hold one of the words."""
    began = time.monotonic()
    install()
    results = Results()
    with served() as (base, scores):
        every = [
            one
            for one in cases(base, scores)
            if not words or any(word in one.kind for word in words)
        ]
        with ThreadPoolExecutor(BROWSERS) as pool:
            shares = pool.map(judge, [every[n::BROWSERS] for n in range(BROWSERS)])
            judged = [one for share in shares for one in share]
    for one in judged:
        results.pages[one.case.kind] += 1
        for finding in one.findings:
            results.add(one.case.kind, finding)
    validate(judged, results)
    unused = [] if words else [one for one in ANSWERED if one not in results.answers]
    for answer in unused:
        results.lines[f"{answer.engine}: no page needs the answer to {answer.rule}"] += 1
    for line, count in results.lines.most_common():
        print(f"{count} × {line}")
    table(results)
    print(f"{len(judged)} pages in {time.monotonic() - began:.0f} s")
    print(f"{results.answers.total()} questions answered by {len(results.answers)} reasons")
    sys.exit(1 if results.lines else 0)


def table(results: Results) -> None:
    judges = [*(one.name for one in ENGINES), "html-validate", "Nu checker"]
    shown = Table("page", "pages", "files", *judges)
    for kind, files in sorted(results.files.items()):
        counts = (results.pages[kind], files, *(results.found[kind, one] for one in judges))
        shown.add_row(kind, *map(str, counts))
    Console(width=130).print(shown)


if __name__ == "__main__":
    main(*sys.argv[1:])
