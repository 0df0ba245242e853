"""The widget in hosts' frames of every width, where scrollbars take room: none inside, no swinging.

Several frames of one page take their widths side by side, so that one wait serves them all.
"""

from html import escape

import pytest

from tests.widget.browser import assert_becomes, host
from tests.widget.service import FORECAST, STAY, STRADDLING

WIDTHS = range(280, 1401, 5)
LANES = 15
LOOKS = 60
MOST = 1  # message for each change of width
HOST = """<!doctype html><html lang=en><title>A host</title>
<style>body {{ height: 9000px; margin: 0 }} div {{ position: absolute; top: 0; left: 0 }}
iframe {{ display: block; width: 100%; border: 0 }}</style>
{frames}
<script>
const boxes = [...document.querySelectorAll("div")];
const frames_ = boxes.map((box) => box.firstElementChild);
let messages;
addEventListener("message", ({{ source, data }}) => {{
  const at = frames_.findIndex((frame) => frame.contentWindow === source);
  if (messages && data.type === "pulse:resize") messages[at]++;
}});
const widen = (widths) => {{
  messages = widths.map(() => 0);
  widths.forEach((width, at) => boxes[at].style.width = width + "px");
}};
</script>
<script src="{url}/v1/embed.js"></script>"""
TURN = """() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))"""
INSIDE = """() => {
  const root = document.documentElement;
  const height = document.getElementById("w").getBoundingClientRect().height;
  return {width: innerWidth, bar: innerWidth - root.clientWidth, room: innerHeight - height,
    hidden: root.scrollHeight - innerHeight};
}"""


def at_rest(page, widths):
    """What stands in the frames once two looks see the same and it fits, or after the last look.

    A busy machine delivers the messages late, so what does not fit yet is looked at again.
    """
    before = None
    for _ in range(LOOKS):
        for frame in (page.frames[-1], page.main_frame):  # the widgets draw, then the host
            frame.evaluate(TURN)
        now = [frame.evaluate(INSIDE) for frame in page.frames[1:]]
        fits = all(0 <= one["room"] < 2 for one in now)
        if now == before and fits and [one["width"] for one in now] == list(widths):
            break
        before = now
    return now


@pytest.mark.parametrize(
    ("stay", "all_widths"),
    # the stay of both kinds takes the widths between those of the others
    [(FORECAST, WIDTHS[::2]), (STRADDLING, WIDTHS[1::2]), (STAY, WIDTHS[::2])],
    ids=["forecast", "both kinds of days", "typical"],
)
def test_widget_has_no_scrollbar_and_a_settled_height_at_each_width_from_280_to_1400_px(
    service, open_page, stay, all_widths
):
    address = escape(service.address(stay, lang="en"))
    frame = f'<div><iframe title="x" src="{address}" sandbox="allow-scripts"></iframe></div>'
    with host({"/": HOST.format(frames=frame * LANES, url=service.url)}) as origin:
        page = open_page(origin, viewport={"width": 1420, "height": 120}).page  # less to paint
        assert_becomes(page, "frames_.every((one) => one.style.height)")
        barred, swinging, loose = [], [], []
        for first in range(0, len(all_widths), LANES):
            last = len(all_widths) - 1  # which the lanes that are left over take
            widths = [all_widths[min(first + lane, last)] for lane in range(LANES)]
            page.evaluate("(widths) => widen(widths)", widths)
            seen = at_rest(page, widths)
            for one, count in zip(seen, page.evaluate("messages"), strict=True):
                barred += [one["width"]] if one["bar"] or one["hidden"] > 0 else []
                loose += [one] if not 0 <= one["room"] < 2 else []
                swinging += [(one["width"], count)] if count > MOST else []
    assert (barred, swinging, loose) == ([], [], [])


def test_widget_has_a_scrollbar_until_the_host_page_sets_its_height(service, open_page):
    address = escape(service.address(STAY))
    frame = f'<iframe title="x" width="700" height="400" src="{address}"></iframe>'
    with host({"/": f"<!doctype html><html lang=en><title>A host</title>{frame}"}) as origin:
        watched = open_page(origin)
        page, widget = watched.page, watched.page.frames[1]
        assert_becomes(widget, "innerWidth > document.documentElement.clientWidth")
        page.evaluate("document.querySelector('iframe').height = 6000")
        assert_becomes(widget, "innerWidth === document.documentElement.clientWidth")
        assert watched.complaints == []
