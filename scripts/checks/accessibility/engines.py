"""The engines: what each finds on a page.

A finding is everything that an engine says besides "passed", also what it recommends and what it
cannot decide; only HTML_CodeSniffer's notices, one for each criterion on every page, are left to
docs/accessibility.md.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from playwright.sync_api import Page

from scripts.checks.accessibility.answers import ANSWERED, Finding

# Each script returns kind, rule, message, markup and which of the selectors hold the element.
_TELL = """const tell = (kind, rule, message, one) => ({
  kind, rule, message, markup: (one?.outerHTML || "").slice(0, 160),
  held: selectors.filter((selector) => one && one.closest && one.closest(selector)),
});"""
AXE = f"""async (selectors) => {{ {_TELL}
  const found = await axe.run(document, {{iframes: false}});
  const report = (kind) => (rule) => rule.nodes.map((node) =>
    tell(kind, rule.id, rule.help, document.querySelector(node.target[0])));
  return [...found.violations.flatMap(report("violation")),
    ...found.incomplete.flatMap(report("question"))];
}}"""
IBM = f"""async (selectors) => {{ {_TELL}
  const at = (path) => document.evaluate(path, document, null, 9, null).singleNodeValue;
  const report = await new ace.Checker().check(document, ["IBM_Accessibility", "WCAG_2_2"]);
  return report.results.filter((one) => one.value[1] !== "PASS").map((one) =>
    tell(one.value.join(" ").toLowerCase(), one.ruleId, one.message, at(one.path.dom)));
}}"""
CODE_SNIFFER = f"""(selectors) => new Promise((done) => {{ {_TELL}
  const kinds = {{1: "error", 2: "warning"}};
  HTMLCS.process("WCAG2AA", document, () => done(HTMLCS.getMessages()
    .filter((one) => kinds[one.type])
    .map((one) => tell(kinds[one.type], one.code, one.msg, one.element))));
}})"""


@dataclass(frozen=True)
class Engine:
    """An engine: its file below node_modules, and the script that asks it."""

    name: str
    file: str
    ask: str

    def findings(self, page: Page, tools: Path) -> list[Finding]:
        """Return the findings of an open page, in a context that bypasses the page's policy."""
        page.evaluate((tools / self.file).read_text("utf-8"))
        selectors = [one.where for one in ANSWERED if one.where]
        found: list[dict[str, Any]] = page.evaluate(self.ask, selectors)
        return [Finding(self.name, **one) for one in found]


ENGINES = (
    Engine("axe", "axe-core/axe.min.js", AXE),
    Engine("IBM", "accessibility-checker-engine/ace.js", IBM),
    Engine("HTML_CodeSniffer", "html_codesniffer/build/HTMLCS.js", CODE_SNIFFER),
)
