"""/v1/embed.js in Chromium, on hosts' pages and against widgets that misbehave on purpose."""

import gzip
import re
from importlib import resources

import pytest

SPEAKS = """<!doctype html><style>html,body{margin:0}</style><p>widget</p><script>
const title = new URLSearchParams(location.search).get("lang") === "de" ? "Wetter" : "Weather";
const say = (height) => parent.postMessage({type: "pulse:resize", version: 1, height, title}, "*");
const tall = +new URLSearchParams(location.search).get("tall") || 640;
addEventListener("message", ({data}) => {
  if (data && data.type === "pulse:measure") say(tall);
  else if (data && data.tell) for (const one of data.tell) parent.postMessage(one, "*");
});
"""
WIDGET = SPEAKS + "say(tall);</script>"
SILENT = SPEAKS + "</script>"
OSCILLATES = (
    SPEAKS
    + """let turns = 0;
addEventListener("resize", () => { if (turns++ < 2000) say(innerHeight === 300 ? 400 : 300); });
say(300);</script>"""
)
SWINGS = """<!doctype html><style>html,body{margin:0}</style><p>widget</p><script>
const say = (height) => parent.postMessage({type: "pulse:resize", version: 1, height}, "*");
const other = () => say(innerHeight === 302 ? 300 : 302);
addEventListener("resize", () => setTimeout(other, 100));
addEventListener("message", ({data}) => data && data.type === "pulse:measure" && say(300));
say(300);</script>"""
NO_HEIGHTS = [0, -1, 0.5, 20_001, 1e9, "500", None, [500], {"valueOf": 500}, True]
NO_MESSAGES = [
    *({"type": "pulse:resize", "version": 1, "height": height} for height in NO_HEIGHTS),
    {"type": "pulse:other", "version": 1, "height": 500},
    {"sentinel": "amp", "type": "embed-size", "height": 500},
    {"height": 500},
    "pulse:resize",
    500,
    None,
    [],
]
HEIGHT = "document.querySelector('iframe').offsetHeight"


@pytest.fixture
def embedded(service, open_page, serve_host):
    """Opens a host's page with a body; the widget's page is stood in for by `widget`."""

    def open_one(body: str, widget: str = WIDGET):
        watched = open_page("about:blank", viewport={"width": 900, "height": 700})
        watched.page.route(
            f"{service.url}/v1/pulse**",
            lambda route: route.fulfill(body=widget, content_type="text/html"),
        )
        watched.page.goto(serve_host(body))
        return watched

    return open_one


def frame(service, more: str = 'style="border:0"', query: str = "") -> str:
    return f'<iframe src="{service.url}/v1/pulse?{query}" sandbox="allow-scripts" {more}></iframe>'


def send(page, frame: int, messages: list[object]) -> None:
    """Let a widget send messages to the host, and wait until the last has arrived."""
    page.evaluate(
        """([frame, messages]) => new Promise((arrived) => {
            addEventListener("message", ({data}) => data === "the last" && arrived());
            frames[frame].postMessage({tell: [...messages, "the last"]}, "*");
        })""",
        [frame, messages],
    )


@pytest.mark.parametrize("script", ["embed.js", "resize.js"])
def test_served_script_has_the_same_code_lines_as_its_source_file(service, script):
    """A shortener that removes blanks around operators turns `a + +b` into `a++b`."""
    text = (resources.files("location_context.widget") / script).read_text("utf-8")
    written = [line.strip() for line in text.splitlines() if not line.strip().startswith("//")]
    sent = service.get(
        "/v1/embed.js" if script == "embed.js" else "/v1/pulse?lat=41.9&lng=12.5"
    ).text
    text = "\n".join(written)
    for part in re.split("HEIGHTS|SANDBOX", text):
        assert part in sent


def test_embed_script_is_small_and_names_its_licence(service):
    answer = service.get("/v1/embed.js", headers={"Accept-Encoding": "identity"})
    assert answer.headers["content-type"] == "text/javascript; charset=utf-8"
    assert "MIT License" in answer.text.splitlines()[0]
    assert len(gzip.compress(answer.content, 6)) < 3000
    for coding in ("gzip", "br"):
        packed = service.get("/v1/embed.js", headers={"Accept-Encoding": coding})
        assert packed.headers["content-encoding"] == coding
        assert int(packed.headers["content-length"]) < 3000


def test_embed_script_may_be_loaded_and_cached_by_any_host_page(service):
    headers = service.get("/v1/embed.js").headers
    assert headers["cross-origin-resource-policy"] == "cross-origin"
    assert headers["referrer-policy"] == "no-referrer"
    assert headers["x-robots-tag"] == "noindex"
    assert "frame-ancestors *" in headers["content-security-policy"]
    assert "x-frame-options" not in headers
    assert headers["cache-control"].startswith("public, max-age=")
    stored = service.get("/v1/embed.js", headers={"If-None-Match": headers["etag"]})
    assert (stored.status_code, stored.content) == (304, b"")


@pytest.mark.parametrize(
    "style",
    [
        "border:0",
        "box-sizing:border-box;border:7px solid",
        *(f"box-sizing:{box};padding:10.3px 7px 9px;border:1.5px solid"
          for box in ("content-box", "border-box")),
    ],
)  # fmt: skip
def test_iframe_content_box_is_as_high_as_its_widget_in_each_box_sizing_mode(
    service, embedded, style
):
    watched = embedded(frame(service, f'style="{style}"') + service.script)
    watched.page.wait_for_function("document.querySelector('iframe').style.height")
    inner = watched.page.frames[1]  # another process, which is laid out a moment later
    inner.wait_for_function("innerHeight >= 640")
    assert inner.evaluate("innerHeight") <= 641
    assert watched.complaints == []


def test_widget_added_after_the_embed_script_ran_is_sized(service, embedded):
    watched = embedded(service.script)
    watched.page.wait_for_load_state("networkidle")
    watched.page.evaluate(
        "(html) => document.body.insertAdjacentHTML('beforeend', html)", frame(service)
    )
    watched.page.wait_for_function("document.querySelector('iframe').clientHeight === 640")


def test_embed_script_requests_the_height_of_a_widget_that_loaded_before_the_script(
    service, embedded
):
    watched = embedded(frame(service), widget=SILENT)
    watched.page.wait_for_load_state("networkidle")
    watched.page.add_script_tag(url=f"{service.url}/v1/embed.js")
    watched.page.wait_for_function("document.querySelector('iframe').clientHeight === 640")


def test_embed_script_ignores_messages_without_a_valid_height(service, embedded):
    watched = embedded(frame(service) + service.script)
    watched.page.wait_for_function(f"{HEIGHT} === 640")
    send(watched.page, 0, NO_MESSAGES)
    assert watched.page.evaluate(HEIGHT) == 640
    assert watched.complaints == []


def test_embed_script_sizes_only_iframes_of_the_widget(service, embedded):
    other = f'<iframe src="{service.url}/v1/status"></iframe><iframe src="http://["></iframe>'
    watched = embedded(other + '<iframe srcdoc="x"></iframe>' + frame(service) + service.script)
    page = watched.page
    page.wait_for_function("document.querySelectorAll('iframe')[3].clientHeight === 640")
    page.evaluate(
        """() => {
            const lie = {type: "pulse:resize", version: 1, height: 999};
            postMessage(lie, "*");
            frames[2].eval(`parent.postMessage(${JSON.stringify(lie)}, "*")`);
        }"""
    )
    send(page, 3, [])
    heights = "[...document.querySelectorAll('iframe')].map((one) => one.clientHeight)"
    assert page.evaluate(heights) == [150, 150, 150, 640]


def test_embed_script_gives_untitled_iframes_the_title_of_their_widget(service, embedded):
    named = frame(service, 'title="My own"') + frame(service, "", "lang=de")
    holder = '<div data-location-context data-lang="de" data-place="Río"></div>'
    watched = embedded(named + holder + service.script)
    titles = "[...document.querySelectorAll('iframe')].map((one) => one.title).join()"
    watched.page.wait_for_function(f"{titles} === 'My own,Wetter,Wetter'")
    changed = "document.querySelector('[data-location-context]').dataset.lang = 'en'"
    watched.page.evaluate(changed)
    watched.page.wait_for_function(f"{titles} === 'My own,Wetter,Weather'")


def test_embed_script_titles_an_iframe_that_has_not_loaded_by_its_place_name(service, embedded):
    holders = [f"<div data-location-context {more}></div>" for more in ("data-place=Río", "")]
    page = embedded('<p style="height:9000px"></p>' + "".join(holders) + service.script).page
    page.wait_for_function("document.querySelectorAll('iframe').length === 2")
    titles = "[...document.querySelectorAll('iframe')].map((one) => one.title)"
    assert page.evaluate(titles) == ["Río", "Location Context"]


def test_iframe_with_an_oscillating_height_settles(service, embedded):
    counter = """<script>let spoken = 0; addEventListener("message", () => spoken++)</script>"""
    watched = embedded(counter + frame(service) + service.script, widget=OSCILLATES)
    page = watched.page
    page.wait_for_function("spoken >= 6")
    page.wait_for_function(
        """() => new Promise((done) => {
            const before = spoken;
            setTimeout(() => done(spoken === before), 150);
        })"""
    )
    assert page.evaluate("spoken") < 60
    assert page.evaluate(HEIGHT) == 400


def test_slowly_oscillating_widget_height_settles_at_the_taller_value(service, embedded):
    """As where the host's scrollbar comes with one height of the widget and goes with the other."""
    counter = """<script>let spoken = 0, last; addEventListener("message", () => {
        spoken++; last = performance.now(); });</script>"""
    watched = embedded(counter + frame(service) + service.script, widget=SWINGS)
    page = watched.page
    page.wait_for_function("spoken >= 4")
    page.wait_for_function("performance.now() - last > 2000")
    assert page.evaluate("spoken") < 30
    assert page.evaluate(HEIGHT) == 302


@pytest.mark.parametrize("late", ["display:none", "width:0"])
def test_embed_script_ignores_the_height_of_a_frame_without_a_width(service, embedded, late):
    watched = embedded(frame(service, f'style="border:0;{late}"', "tall=16270") + service.script)
    page = watched.page
    page.wait_for_load_state("networkidle")
    send(page, 0, [{"type": "pulse:resize", "version": 1, "height": 16270}])
    assert page.evaluate("document.querySelector('iframe').style.height") == ""
    page.evaluate("document.querySelector('iframe').style = 'border:0;width:400px'")
    page.wait_for_function(f"{HEIGHT} === 16270")


def test_often_resized_widget_settles_at_its_content_height(service, embedded):
    watched = embedded(frame(service) + service.script)
    page = watched.page
    page.wait_for_function(f"{HEIGHT} === 640")
    many = [{"type": "pulse:resize", "version": 1, "height": 1000 - n} for n in range(60)]
    send(page, 0, many)
    assert page.evaluate(HEIGHT) > 940
    page.wait_for_function(f"{HEIGHT} === 640")


@pytest.mark.parametrize("name", ["guide", "place"])
def test_changed_guide_or_place_attribute_reloads_the_widget(service, embedded, name):
    page = embedded(
        f'<div data-location-context data-lat="43.3" data-lng="-2" data-{name}="mira"></div>'
        + service.script
    ).page
    page.evaluate(f"document.querySelector('div').dataset.{name} = 'sol'")
    page.wait_for_function(f"document.querySelector('iframe').src.includes('{name}=sol')")
