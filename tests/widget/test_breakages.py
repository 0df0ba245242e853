"""What breaks the widget, by the table in docs/embedding.md: its symptom is seen, its mend helps.

Causes and mends are taken from the table as far as they are code.
"""

import re
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from tests.widget.browser import Watched, host
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


def text(head: str, body: str) -> str:
    """A host's page, with text after a box that has the widget."""
    return (
        f"<!doctype html><html lang=en><title>A host</title>{head}<body>"
        f'<div class="box">{body}</div><p id="after">After</p>'
    )


def style(*rules: str) -> str:
    return f"<style>{' '.join(rules)}</style>"


@pytest.fixture
def opened(open_page):
    """Opens a host's page; each has a server of its own."""

    @contextmanager
    def open_one(head: str, body: str, policy: str = "") -> Iterator[Watched]:
        headers = {"Content-Security-Policy": policy} if policy else {}
        with host({"/": text(head, body)}, headers) as origin:
            yield open_page(origin, viewport={"width": 900, "height": 700})

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


def sees(page, *symptoms: str) -> None:
    """Wait until a reader sees these symptoms and no others."""
    now: dict[str, bool] = {}
    for _ in range(500):
        now = seen(page)
        if {name for name, present in now.items() if present} == {*symptoms}:
            return
        page.wait_for_timeout(20)
    pytest.fail(f"in vain: {symptoms}, but {now}")


def test_each_row_of_the_table_has_a_test():
    for part in (*SHOWN_HERE, *SHOWN_ELSEWHERE, *NOT_SHOWN):
        assert row(part)
    assert len(breakages()) == len(SHOWN_HERE) + len(SHOWN_ELSEWHERE) + len(NOT_SHOWN)


def test_box_with_a_fixed_height_cuts_the_widget(full, opened):
    cause, mend = quoted(row(BOX).cause)[0], quoted(row(BOX).mend)[0]
    widget = "".join(snippet(full.url))
    with opened(style(f".box {{ {cause} }}"), widget) as watched:
        sees(watched.page, "cut", "lies_over")
    with opened(style(f".box {{ {cause} }} .box {{ {mend} }}"), widget) as watched:
        sees(watched.page)


def test_video_wrapper_overlaps_the_widget(full, opened):
    wrapper, frame = quoted(row(VIDEO).cause)
    natural, static = quoted(row(VIDEO).mend)
    widget = "".join(snippet(full.url))
    broken = f".box {{ {wrapper} }} .box iframe {{ {frame} }}"
    with opened(style(broken), widget) as watched:
        sees(watched.page, "lies_over")
    mended = f".box {{ {natural} }} .box iframe {{ {static} }}"
    with opened(style(broken, mended), widget) as watched:
        sees(watched.page)


@pytest.mark.parametrize("selector", ["*", "iframe"])
def test_max_height_limits_the_widget(full, opened, selector):
    cause, mend = quoted(row(TALLEST).cause)[0], quoted(row(TALLEST).mend)[0]
    widget = "".join(snippet(full.url))
    broken = cause.replace("*", selector)
    with opened(style(broken), widget) as watched:
        sees(watched.page, "bar", "low")
    with opened(style(broken, mend), widget) as watched:
        sees(watched.page)


def test_important_height_limits_the_widget(full, opened):
    cause, mend = quoted(row(IMPORTANT).cause)[0], quoted(row(IMPORTANT).mend)[0]
    widget = "".join(snippet(full.url))
    with opened(style(cause), widget) as watched:
        sees(watched.page, "bar", "low")
    with opened(style(mend), widget) as watched:
        sees(watched.page)


def test_sandbox_without_scripts_stops_sizing(full, opened):
    cause, mend = quoted(row(SANDBOX).cause)[0], quoted(row(SANDBOX).mend)[0]
    low = as_tall(snippet(full.url)[0], 700)
    script = snippet(full.url)[1]
    with opened("", re.sub(r'sandbox="[^"]*"', cause, low) + script) as watched:
        sees(watched.page, "bar", "low")
    with opened("", re.sub(r'sandbox="[^"]*"', mend, low) + script) as watched:
        sees(watched.page)


def test_delayed_script_sizes_late(full, opened):
    frame, script = snippet(full.url)
    low = as_tall(frame, 700)
    with opened("", low + script.replace("<script", '<script type="text/delayed"')) as watched:
        sees(watched.page, "bar", "low")
        watched.page.evaluate("""() => {
          const script = document.createElement("script");
          script.src = document.querySelector("script").src;
          document.body.append(script);
        }""")
        sees(watched.page)


@pytest.mark.parametrize("mended", [False, True])
def test_blocked_script_stops_sizing(full, open_page, mended):
    frame, script = snippet(full.url)
    body = as_tall(frame, 700) + script
    watched = open_page("about:blank", viewport={"width": 900, "height": 700})
    watched.page.route("**/v1/embed.js", lambda route: route.abort())
    listener = code("Without our script", full.url) if mended else ""
    with host({"/": text("", body + listener)}) as origin:
        watched.page.goto(origin)
        sees(watched.page, *([] if mended else ["bar", "low"]))


def test_shadow_root_stops_sizing(full, opened):
    """The mend is run by test_embedding_page."""
    frame, script = snippet(full.url)
    low = as_tall(frame, 700)
    body = f'<x-stay><template shadowrootmode="open">{low}</template></x-stay>{script}'
    with opened("", body) as watched:
        sees(watched.page, "bar", "low")


def test_moved_address_leaves_the_widget_empty(full, opened):
    frame, script = snippet(full.url)
    with opened("", frame.replace(" src=", " data-src=") + script) as watched:
        sees(watched.page, "empty")
        watched.page.evaluate(f"{FRAME}.src = {FRAME}.dataset.src")
        sees(watched.page)


def test_accordion_cuts_the_widget(full, opened):
    cause, mend = quoted(row(ACCORDION).cause)[0], quoted(row(ACCORDION).mend)[0]
    frame, script = snippet(full.url)
    body = as_tall(frame, 300) + script
    with opened(style(".box { display: none }"), body) as watched:
        box = "document.querySelector('.box').style"
        watched.page.evaluate(f"{box} = 'display: block; {cause}'")
        sees(watched.page, "cut", "lies_over")
        watched.page.evaluate(f"{box}.cssText += '; {mend}'")
        sees(watched.page)


@pytest.mark.parametrize("directive", [FRAMES, SCRIPTS])
def test_policy_of_the_host_blocks_frame_or_script(full, opened, directive):
    cause, mend = quoted(row(directive).cause)[0], quoted(row(directive).mend)[0]
    frame, script = snippet(full.url)
    body = as_tall(frame, 700) + script
    with opened("", body, cause) as watched:
        sees(watched.page, *(["empty"] if directive == FRAMES else ["bar", "low"]))
        assert watched.complains(directive)
    with opened("", body, mend.replace("https://your.host", full.url)) as watched:
        sees(watched.page)
        assert watched.complaints == []


def test_console_snippet_prints_requested_and_actual_height(full, opened):
    body = "".join(snippet(full.url))
    with opened(style(quoted(row(TALLEST).cause)[0]), body) as watched:
        sees(watched.page, "bar", "low")
        said: list[str] = []
        watched.page.on("console", lambda message: said.append(message.text))
        with watched.page.expect_console_message():
            watched.page.add_script_tag(content=code("What breaks it", full.url))
        asks = watched.page.frames[-1].evaluate("document.getElementById('w').clientHeight")
        assert said[0].startswith("asks for ")
        assert said[0].endswith("has 600 px")
        assert asks > 600
