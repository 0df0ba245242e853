"""Test /mcp with the conformance suite of the Model Context Protocol.

`./scripts/check mcp` runs it. A row of the table is a scenario for servers and its result. Most of
them call features of a server made for them; `OTHERS` says why they do not concern this one. The
suite sends no key, so a proxy adds it.
"""

import re
import shutil
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.client import HTTPConnection
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from rich.console import Console
from rich.table import Table

from tests.serving import free_port
from tests.web.full_app import full_app

HERE = Path(__file__).parent
WORK = HERE.parents[2] / ".mcp"
BIN = WORK / "node_modules" / ".bin"
TOOL = "calls a tool that the suite defines, test_…; ours are stay, year and places"
STREAM = "needs events while a call runs; answers come whole, as one JSON document"
RESOURCE = "resources are not offered: the tools give all data"
PROMPT = "prompts are not offered"
OTHERS = {
    "completion-complete": "completes arguments of prompts, which are not offered",
    "elicitation-sep1034-defaults": STREAM,
    "elicitation-sep1330-enums": STREAM,
    "json-schema-2020-12": TOOL,
    "logging-set-level": "logs are not sent to clients; the protocol retires this in 2026-07-28",
    "prompts-get-embedded-resource": PROMPT,
    "prompts-get-simple": PROMPT,
    "prompts-get-with-args": PROMPT,
    "prompts-get-with-image": PROMPT,
    "prompts-list": PROMPT,
    "resources-list": RESOURCE,
    "resources-read-binary": RESOURCE,
    "resources-read-text": RESOURCE,
    "resources-subscribe": RESOURCE,
    "resources-templates-read": RESOURCE,
    "resources-unsubscribe": RESOURCE,
    "server-sse-multiple-streams": "needs a session id; each request stands alone",
    "server-sse-polling": STREAM,
    "tools-call-audio": TOOL,
    "tools-call-elicitation": STREAM,
    "tools-call-embedded-resource": TOOL,
    "tools-call-error": TOOL,
    "tools-call-image": TOOL,
    "tools-call-mixed-content": TOOL,
    "tools-call-sampling": STREAM,
    "tools-call-simple-text": TOOL,
    "tools-call-with-logging": STREAM,
    "tools-call-with-progress": STREAM,
}


def install() -> None:
    """Install the suite at its locked version, unless it is there."""
    lock = WORK / "package-lock.json"
    wanted = (HERE / "package-lock.json").read_bytes()
    if (BIN / "conformance").exists() and lock.is_file() and lock.read_bytes() == wanted:
        return
    print("Installing the conformance suite …", file=sys.stderr)
    shutil.rmtree(WORK, ignore_errors=True)
    WORK.mkdir()
    for name in ("package.json", "package-lock.json"):
        shutil.copy(HERE / name, WORK)
    done = subprocess.run(
        ["npm", "ci", "--no-audit", "--no-fund"],
        cwd=WORK, capture_output=True, text=True, check=False,
    )  # fmt: skip
    if done.returncode:
        sys.exit(done.stdout + done.stderr)


def conformance(*arguments: str) -> str:
    """Return what the suite prints."""
    program = WORK / "node_modules" / "@modelcontextprotocol" / "conformance" / "dist" / "index.js"
    done = subprocess.run(
        [BIN / "node", program, *arguments],
        cwd=WORK, capture_output=True, text=True, timeout=120, check=False,
    )  # fmt: skip
    return done.stdout + done.stderr


@contextmanager
def proxy(port: int, to: int, key: str) -> Iterator[None]:
    """Pass requests on with the API key, as a client that is set up with it."""

    class Handler(BaseHTTPRequestHandler):
        def handle_one(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            headers = dict(self.headers.items()) | {"Authorization": f"Bearer {key}"}
            connection = HTTPConnection("127.0.0.1", to, timeout=30)
            connection.request(self.command, self.path, body, headers)
            answer = connection.getresponse()
            content = answer.read()
            connection.close()
            self.send_response(answer.status)
            for name, value in answer.getheaders():
                if name.lower() not in {"content-length", "transfer-encoding", "date", "server"}:
                    self.send_header(name, value)
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        do_GET = do_POST = do_DELETE = handle_one  # noqa: N815  names of the library

        def log_message(self, *_: object) -> None:
            """Print nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", port), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield
    finally:
        server.shutdown()
        server.server_close()


def main() -> None:
    install()
    scenarios = re.findall(r"^ +- (\S+)", conformance("list", "--server"), re.MULTILINE)
    port, good = free_port(), len(scenarios) > len(OTHERS)
    table = Table("scenario", "result")
    url = f"http://127.0.0.1:{port}"
    with (
        tempfile.TemporaryDirectory() as folder,
        full_app(Path(folder), public_url=url) as client,
        proxy(port, client.served.port, client.key),
    ):
        for name in scenarios:
            if name in OTHERS:
                table.add_row(name, f"not offered: {OTHERS[name]}")
                continue
            printed = conformance("server", "--url", f"{url}/mcp", "--scenario", name)
            found = re.search(r"Passed: (\d+)/(\d+), (\d+) failed", printed)
            passed = found is not None and found[1] == found[2] != "0" and found[3] == "0"
            good = good and passed
            table.add_row(name, "passed" if passed else "FAILED")
            if not passed:
                print(printed)
    if unknown := set(OTHERS) - set(scenarios):
        print(f"Not in the suite: {', '.join(sorted(unknown))}")
    Console().print(table)
    sys.exit(0 if good and not unknown else 1)


if __name__ == "__main__":
    main()
