"""Health, status, the OpenAPI document and the documentation page."""

import html
import re

import pytest

from location_context.errors import PUBLIC_ERRORS, PublicError
from location_context.web.docs import from_markdown
from tests.parsed import Parsed
from tests.serving import serve
from tests.web.conftest import HTTP, STAY, Client
from tests.web.sections import FakeSection

PATHS = {"/", "/v1/openapi.json", "/v1/docs/embedding"}  # of ours, that pages link to


def subclasses(kind: type) -> set[type]:
    return {kind, *(found for below in kind.__subclasses__() for found in subclasses(below))}


def test_health_is_public_and_never_cached(client: Client) -> None:
    response = client.get("/v1/health", key=None)
    assert response.json() == {"status": "ok"}
    assert response.headers["cache-control"] == "no-store"
    assert response.headers["access-control-allow-origin"] == "*"
    assert "ratelimit" not in response.headers


class Late(FakeSection):
    """Has read what it answers from once the test says so."""

    name, loaded = "late", False

    @property
    def is_ready(self) -> bool:
        return self.loaded


def test_readiness_probe_answers_503_until_each_section_has_its_data(web_settings) -> None:
    late = Late()
    with serve(web_settings, sections=[FakeSection(), late]) as served:
        waiting = HTTP.get(f"{served.url}/v1/ready")
        assert HTTP.get(f"{served.url}/v1/health").status_code == 200
        late.loaded = True
        ready = HTTP.get(f"{served.url}/v1/ready")
    assert (waiting.status_code, waiting.json()) == (
        503, {"status": "waiting", "awaited": ["late"]}
    )  # fmt: skip
    assert (ready.status_code, ready.json()) == (200, {"status": "ready", "awaited": []})
    assert ready.headers["cache-control"] == "no-store"


def test_draining_server_fails_probes_and_answers_requests(client: Client) -> None:
    client.served.app.draining = True
    try:
        health = client.get("/v1/health", key=None)
        assert (health.status_code, health.json()) == (503, {"status": "draining"})
        ready = client.get("/v1/ready", key=None)
        assert (ready.status_code, ready.json()["status"]) == (503, "draining")
        section = client.get("/v1/pulse/tides", STAY)
        assert section.status_code == 200
        assert section.headers["connection"] == "close"
    finally:
        client.served.app.draining = False


def test_status_endpoint_lists_sections_datasets_and_notices(client: Client) -> None:
    response = client.get("/v1/status", key=None)
    body = response.json()
    assert set(body) == {
        "status", "version", "started_at", "notices", "sections", "datasets"
    }  # fmt: skip
    assert set(body["sections"]) == {"tides", "harbour", "broken", "empty"}
    assert body["datasets"] == {"harbours": None}
    assert "Tides are made up." in body["notices"]
    assert response.headers["cache-control"] == "no-store"
    assert response.headers["access-control-allow-origin"] == "*"


def test_failing_section_is_reported_as_an_outage_and_the_service_as_degraded(client) -> None:
    assert client.get("/v1/pulse/empty", STAY).status_code == 503
    body = client.get("/v1/status", key=None).json()
    assert body["sections"]["empty"]["status"] == "outage"
    assert body["status"] == "degraded"


@pytest.fixture(scope="module")
def document(client: Client) -> dict:
    return client.get("/v1/openapi.json", key=None).json()


def resolved(document: dict, value: dict) -> dict:
    while "$ref" in value:
        found = document
        for part in value["$ref"].removeprefix("#/").split("/"):
            found = found[part]
        value = found
    return value


def test_openapi_references_resolve(document) -> None:
    def walk(value) -> int:
        if isinstance(value, list):
            return sum(map(walk, value))
        if not isinstance(value, dict):
            return 0
        if "$ref" in value:
            assert resolved(document, value) is not None
        return 1 + sum(map(walk, value.values()))

    assert walk(document) > 200


def test_openapi_schemas_have_descriptions_and_no_defaults(document) -> None:
    for name, schema in document["components"]["schemas"].items():
        assert schema.get("description"), name
        assert "default" not in str(schema), name


def test_openapi_document_lists_each_public_error_with_its_type(document) -> None:
    codes = {c.code: c for c in subclasses(PublicError) if "code" in vars(c)}
    report = {one.code: (one.status, one.type) for one in PUBLIC_ERRORS}
    assert report == {code: (c.status, c.type) for code, c in codes.items()}
    text = str(document["components"]["responses"])
    for code, (status, _) in report.items():
        assert status in {404, 405, 501} or code in text


def test_openapi_document_lists_the_headers_of_each_status(document) -> None:
    responses = document["paths"]["/v1/pulse/tides"]["get"]["responses"]
    assert set(responses) == {"200", "304", "400", "401", "429", "500", "503"}
    for status, response in responses.items():
        headers = resolved(document, response)["headers"]
        assert "X-Request-Id" in headers
        assert ("Retry-After" in headers) == (status in {"429", "503"})


def test_api_reference_page_loads_no_other_file_and_may_not_be_framed(client: Client) -> None:
    response = client.get("/v1/docs", key=None)
    page, policy = Parsed(response.text), response.headers["content-security-policy"]
    assert not {"script", "link", "img", "iframe", "object", "form"} & {tag for tag, _ in page.tags}
    assert policy.startswith("default-src 'none'; style-src 'sha256-")
    assert "frame-ancestors 'none'" in policy
    assert "unsafe" not in policy
    assert " style=" not in response.text
    assert len(response.content) < 200_000


def test_links_of_the_api_reference_page_resolve(client) -> None:
    page = Parsed(client.get("/v1/docs", key=None).text)
    assert len(set(page.ids)) == len(page.ids)
    for link in page.links:
        assert link.removeprefix("#") in page.ids or link in PATHS, link


def test_reference_and_accuracy_page_link_to_each_other(whole: Client) -> None:
    reference = whole.get("/v1/docs", key=None)
    score = whole.get("/v1/docs/accuracy", key=None)
    assert (reference.status_code, score.status_code) == (200, 200)
    assert "/v1/docs/accuracy" in Parsed(reference.text).links
    assert {"/v1/docs", "/v1/docs/accuracy"} <= set(Parsed(score.text).links)
    for name in ("x-frame-options", "referrer-policy"):
        assert score.headers[name] == reference.headers[name]
    assert score.headers["cache-control"] == "public, max-age=600"
    assert "Nothing is known yet" in score.text


def test_embedding_page_names_this_service_and_its_links_resolve(
    whole: Client,
) -> None:
    page = whole.get("/v1/docs/embedding", key=None)
    assert page.headers["cache-control"] == "public, max-age=600"
    assert "your.host" not in page.text.replace("<em>your.host</em>", "")
    service = whole.get("/v1/openapi.json", key=None).json()["servers"][0]["url"]
    assert f"&lt;script src=&#34;{service}/v1/embed.js&#34;" in page.text
    inside = {link for link in Parsed(page.text).links if link.startswith("#")}
    assert len(inside) > 15
    assert {link for link in inside if f'id="{link[1:]}"' not in page.text} == set()
    assert "/v1/docs/embedding" in Parsed(whole.get("/v1/docs", key=None).text).links


@pytest.mark.parametrize("path", ["/v1/docs", "/v1/docs/embedding", "/v1/docs/accuracy"])
def test_documentation_page_is_served_as_markdown_with_md_after_its_path(
    whole: Client, path: str
) -> None:
    page, text = whole.get(path, key=None), whole.get(f"{path}.md", key=None)
    assert text.headers["content-type"] == "text/markdown; charset=utf-8"
    assert text.headers["cache-control"] == page.headers["cache-control"]
    headings = [html.unescape(one) for one in re.findall(r"<h[12][^>]*>([^<]+)</h[12]>", page.text)]
    assert headings
    assert [one for one in headings if f"# {one}\n" not in text.text] == []
    assert "<td" not in text.text
    assert len(text.content) < len(page.content)


def test_markdown_of_the_reference_has_its_tables(whole: Client) -> None:
    text = whole.get("/v1/docs.md", key=None).text
    assert "| `units` | metric · imperial default `metric` | Units of every number" in text
    assert '"message": "lat is \'91\'; accepted' in text
    assert "[builder](/)" in text


def test_llms_txt_lists_pages_that_exist(whole: Client) -> None:
    answer = whole.get("/llms.txt", key=None)
    assert answer.headers["cache-control"] == "public, max-age=3600"
    assert answer.text.startswith("# Location Context Service\n\n> Sections for a geographic point")
    service = whole.get("/v1/openapi.json", key=None).json()["servers"][0]["url"]
    links = re.findall(r"\((http\S+)\)", answer.text)
    assert f"{service}/mcp" in links
    for link in set(links) - {f"{service}/mcp"}:
        assert whole.get(link.removeprefix(service), key=None).status_code == 200, link


def test_openapi_example_has_the_title_of_the_accuracy_page(whole: Client) -> None:
    document = whole.get("/v1/openapi.json", key=None).json()
    operation = document["paths"]["/v1/docs/accuracy"]["get"]
    content = operation["responses"]["200"]["content"]["text/html"]
    head = re.search("<title>.*</title>", content["examples"]["head"]["value"])
    assert head is not None
    assert head[0] in whole.get("/v1/docs/accuracy", key=None).text


def test_reference_page_names_each_endpoint_and_parameter_and_error_code_and_schema(
    client, document
) -> None:
    text = client.get("/v1/docs", key=None).text
    wanted = [
        *document["paths"],
        *document["components"]["parameters"],
        *(one.code for one in PUBLIC_ERRORS),
    ]
    wanted += document["components"]["schemas"]
    missing = [word for word in wanted if not re.search(rf"\b{re.escape(word.strip('/'))}\b", text)]
    assert not missing


def test_table_at_the_end_of_a_markdown_page_has_closed_tags_and_a_caption() -> None:
    made = from_markdown("## What breaks it\n\n| You see | Cause |\n|---|---|\n| a | b |\n")
    assert made.count("<div") == made.count("</div>") == 1
    assert "<caption>What breaks it</caption>" in made
