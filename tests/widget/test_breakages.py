"""What breaks the widget, by the table in docs/embedding.md: its symptom is seen, its mend helps.

Causes and mends are taken from the table as far as they are code.
"""

import re

import pytest

from tests.widget.embedding_page import Row, as_tall, breakages, code, quoted, snippet

BOX, VIDEO, TALLEST, IMPORTANT = "a box around", "for videos", "* { max-height", "!important"
SANDBOX, DELAYED, BLOCKED, SHADOW = "sandbox=", "optimiser", "content blocker", "shadow root"
MOVED, ACCORDION, FRAMES, SCRIPTS = "data-src", "measured", "frame-src", "script-src"
SHOWN_HERE = [
    BOX, VIDEO, TALLEST, IMPORTANT, SANDBOX, DELAYED, BLOCKED, SHADOW, MOVED, ACCORDION, FRAMES,
    SCRIPTS,
]  # fmt: skip
SHOWN_ELSEWHERE = [
    "lists who may embed",  # test_embed_hosts
    "parameter is missing",  # test_hosts
]
NOT_SHOWN = ["on `https:`"]  # needs a host with a certificate
FRAME = (
    "(document.querySelector('iframe') || document.querySelector('x-stay').shadowRoot.firstChild)"
)
MEASURE = f"""() => {{
  const frame = {FRAME}, box = frame.getBoundingClientRect();
  const around = document.querySelector(".box");
  return {{
    has: frame.clientHeight,
    cut: getComputedStyle(around).overflow === "hidden" &&
      around.getBoundingClientRect().bottom < box.bottom,
    lies_over: document.getElementById("after").getBoundingClientRect().top < box.bottom,
  }};
}}"""
INSIDE = """() => ({
  asks: document.getElementById("w")?.clientHeight || 0,
  bar: innerWidth > document.documentElement.clientWidth,
})"""


def row(part: str) -> Row:
    """The one row whose cause has this part."""
    (found,) = [one for one in breakages() if part in one.cause]
    return found


def in_box(body: str) -> str:
    """Put the widget into a box, with text after it."""
    return f'<div class="box">{body}</div><p id="after">After</p>'


def style(*rules: str) -> str:
    return f"<style>{' '.join(rules)}</style>"


@pytest.fixture
def opened(open_host):
    """Opens a host's page with a style and the widget in a box."""

    def open_one(head: str, body: str, policy: str = ""):
        headers = {"Content-Security-Policy": policy} if policy else {}
        return open_host(head + in_box(body), headers, viewport={"width": 900, "height": 700})

    return open_one


def seen(page) -> dict[str, bool]:
    """What a reader sees of the widget."""
    outside = page.evaluate(MEASURE)
    inside = {"asks": 0, "bar": False}
    if len(page.frames) > 1 and "/v1/pulse" in page.frames[-1].url:
        inside = page.frames[-1].evaluate(INSIDE)
    return {
        "empty": inside["asks"] == 0,
        "bar": inside["bar"],
        "low": outside["has"] < inside["asks"] - 1,
        "cut": outside["cut"],
        "lies_over": outside["lies_over"],
    }


def assert_symptoms(page, *symptoms: str) -> None:
    """Wait until a reader sees these symptoms and no others."""
    now: dict[str, bool] = {}
    for _ in range(3000):
        now = seen(page)
        if {name for name, present in now.items() if present} == {*symptoms}:
            return
        page.wait_for_timeout(20)
    pytest.fail(f"in vain: {symptoms}, but {now}")


def test_each_row_of_the_documented_breakage_table_has_a_test():
    for part in (*SHOWN_HERE, *SHOWN_ELSEWHERE, *NOT_SHOWN):
        assert row(part)
    assert len(breakages()) == len(SHOWN_HERE) + len(SHOWN_ELSEWHERE) + len(NOT_SHOWN)


STYLES = {  # part of the row: rule around its cause, rule around its fix, symptoms
    BOX: (".box {{ {0} }}", ".box {{ {0} }}", ["cut", "lies_over"]),
    VIDEO: (*[".box {{ {0} }} .box iframe {{ {1} }}"] * 2, ["lies_over"]),
    TALLEST: ("{0}", "{0}", ["bar", "low"]),
    IMPORTANT: ("{0}", "{0}", ["bar", "low"]),
}


@pytest.mark.parametrize("part", STYLES)
def test_host_page_style_that_breaks_the_widget_is_cured_by_the_documented_fix(
    service, opened, part
):
    around_cause, around_fix, symptoms = STYLES[part]
    cause = around_cause.format(*quoted(row(part).cause))
    fix = around_fix.format(*quoted(row(part).mend))
    widget = "".join(snippet(service.url))
    causes = [cause, cause.replace("*", "iframe")] if part == TALLEST else [cause]
    for broken in causes:
        assert_symptoms(opened(style(broken), widget).page, *symptoms)
        assert_symptoms(opened(style(*([] if part == IMPORTANT else [broken]), fix), widget).page)


@pytest.fixture
def low(service) -> str:
    """The iframe with a height of 700 px at any width."""
    return as_tall(snippet(service.url)[0], 700)


def test_iframe_sandbox_without_scripts_prevents_sizing_of_the_widget(service, opened, low):
    for column, symptoms in (("cause", ["bar", "low"]), ("mend", [])):
        sandbox = quoted(getattr(row(SANDBOX), column))[0]
        frame = re.sub(r'sandbox="[^"]*"', sandbox, low)
        assert_symptoms(opened("", frame + service.script).page, *symptoms)


def test_delayed_embed_script_sizes_the_widget_only_after_the_script_has_run(service, opened, low):
    script = service.script.replace("<script", '<script type="text/delayed"')
    page = opened("", low + script).page
    assert_symptoms(page, "bar", "low")
    page.evaluate("""() => {
      const script = document.createElement("script");
      script.src = document.querySelector("script").src;
      document.body.append(script);
    }""")
    assert_symptoms(page)


@pytest.mark.parametrize("fixed", [False, True])
def test_blocked_embed_script_prevents_sizing_of_the_widget(
    service, open_page, serve_host, low, fixed
):
    page = open_page("about:blank", viewport={"width": 900, "height": 700}).page
    page.route("**/v1/embed.js", lambda route: route.abort())
    listener = code("Without our script", service.url) if fixed else ""
    page.goto(serve_host(in_box(low + service.script + listener)))
    assert_symptoms(page, *([] if fixed else ["bar", "low"]))


def test_shadow_root_prevents_sizing_of_the_widget(service, opened, low):
    """The fix is run by test_embedding_page."""
    body = f'<x-stay><template shadowrootmode="open">{low}</template></x-stay>{service.script}'
    assert_symptoms(opened("", body).page, "bar", "low")


def test_lazy_loader_that_renames_src_leaves_the_widget_empty(service, opened):
    frame, script = snippet(service.url)
    page = opened("", frame.replace(" src=", " data-src=") + script).page
    assert_symptoms(page, "empty")
    page.evaluate(f"{FRAME}.src = {FRAME}.dataset.src")
    assert_symptoms(page)


def test_accordion_with_a_fixed_height_cuts_off_part_of_the_widget(service, opened):
    cause, mend = quoted(row(ACCORDION).cause)[0], quoted(row(ACCORDION).mend)[0]
    frame, script = snippet(service.url)
    page = opened(style(".box { display: none }"), as_tall(frame, 300) + script).page
    box = "document.querySelector('.box').style"
    page.evaluate(f"{box} = 'display: block; {cause}'")
    assert_symptoms(page, "cut", "lies_over")
    page.evaluate(f"{box}.cssText += '; {mend}'")
    assert_symptoms(page)


@pytest.mark.parametrize("directive", [FRAMES, SCRIPTS])
def test_csp_of_the_hosts_page_blocks_frame_or_script_until_it_names_the_service(
    service, opened, low, directive
):
    cause, mend = quoted(row(directive).cause)[0], quoted(row(directive).mend)[0]
    blocked = opened("", low + service.script, cause)
    assert_symptoms(blocked.page, *(["empty"] if directive == FRAMES else ["bar", "low"]))
    assert blocked.complains(directive)
    allowed = opened("", low + service.script, mend.replace("https://your.host", service.url))
    assert_symptoms(allowed.page)
    assert allowed.complaints == []


def test_console_snippet_prints_requested_and_actual_height(service, opened):
    body = "".join(snippet(service.url))
    page = opened(style(quoted(row(TALLEST).cause)[0]), body).page
    assert_symptoms(page, "bar", "low")
    lines: list[str] = []
    page.on("console", lambda message: lines.append(message.text))
    with page.expect_console_message():
        page.add_script_tag(content=code("What breaks it", service.url))
    height = page.frames[-1].evaluate("document.getElementById('w').clientHeight")
    assert lines[0].startswith("asks for ")
    assert lines[0].endswith("has 600 px")
    assert height > 600
