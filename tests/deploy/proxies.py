"""The proxies of `deploy/` as programs: each runs the file that is shipped, on ports of a test."""

import getpass
import os
import shutil
import socket
import ssl
import subprocess
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.conftest import ROOT
from tests.databases import missing
from tests.serving import free_port

DEPLOY = ROOT / "deploy"
PACKAGES = {"nginx": "nginx-light", "caddy": "caddy"}
PATH = os.pathsep.join((os.environ.get("PATH", ""), "/usr/sbin"))


@dataclass(frozen=True)
class Proxy:
    """A running proxy, and the certificate that a client trusts."""

    port: int
    plain_port: int
    trust: ssl.SSLContext

    @property
    def url(self) -> str:
        return f"https://127.0.0.1:{self.port}"


def program(name: str) -> str:
    """Its path; a test that needs it is skipped, or fails where CI is true."""
    if found := shutil.which(name, path=PATH):
        return found
    return missing(f"There is no {name} (apt-get install {PACKAGES.get(name, name)})")


@contextmanager
def proxy(name: str, folder: Path, replicas: Sequence[int]) -> Iterator[Proxy]:
    """The proxy with the shipped file, in front of services at these ports."""
    folder.mkdir(parents=True, exist_ok=True)
    https, http = free_port(), free_port()
    addresses = [f"127.0.0.1:{port}" for port in replicas]
    start = {"nginx": _nginx, "caddy": _caddy}[name]
    arguments, environ, trusted = start(folder, https, http, addresses)
    with (folder / "printed").open("w") as printed:
        process = subprocess.Popen(
            [program(name), *arguments],
            env={"PATH": PATH, "HOME": str(folder), **environ},
            stdout=printed,
            stderr=subprocess.STDOUT,
        )
        try:
            yield Proxy(https, http, _speaking(process, https, folder / "printed", trusted))
        finally:
            process.terminate()
            process.wait(30)


def _speaking(
    process: subprocess.Popen[bytes], port: int, printed: Path, trusted: Path
) -> ssl.SSLContext:
    """What a client trusts, once the proxy speaks TLS."""
    patience = time.monotonic() + 60
    while process.poll() is None and time.monotonic() < patience:
        try:
            trust = ssl.create_default_context(cafile=str(trusted))
            with (
                socket.create_connection(("127.0.0.1", port), 5) as raw,
                trust.wrap_socket(raw, server_hostname="127.0.0.1"),
            ):
                return trust
        except OSError:  # of TLS too, while Caddy makes its certificate
            time.sleep(0.05)
    raise AssertionError(printed.read_text())


def certificate(folder: Path) -> tuple[Path, Path]:
    """Make a certificate for localhost and 127.0.0.1, and its key."""
    whole, key = folder / "certificate.pem", folder / "certificate.pem.key"
    made = ["req", "-x509", "-nodes", "-days", "2", "-newkey", "ec"]
    made += ["-pkeyopt", "ec_paramgen_curve:prime256v1"]
    named = ["-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1"]
    written = ["-out", str(whole), "-keyout", str(key)]
    subprocess.run([program("openssl"), *made, *named, *written], check=True, capture_output=True)
    return whole, key


Started = tuple[list[str], Mapping[str, str], Path]  # arguments, environment, what to trust


def nginx_arguments(
    folder: Path, https: int, http: int, replicas: Sequence[str], pair: tuple[Path, Path]
) -> list[str]:
    """Write the shipped file for these ports, replicas and certificate; how nginx is started."""
    whole, key = pair
    one, two = replicas
    site = (DEPLOY / "nginx" / "location-context.conf").read_text()
    for shipped, ours in {
        "    listen [::]:80;\n": "",
        "    listen [::]:443 ssl http2;\n": "",
        "listen 80;": f"listen 127.0.0.1:{http};",
        "listen 443 ssl http2;": f"listen 127.0.0.1:{https} ssl http2;",
        "127.0.0.1:8001": one,
        "127.0.0.1:8002": two,
        "/etc/nginx/certs/context.example.org.pem": str(whole),
        "/etc/nginx/certs/context.example.org.key": str(key),
        "/var/log/nginx": str(folder),
    }.items():
        assert shipped in site
        site = site.replace(shipped, ours)
    (folder / "site.conf").write_text(site)
    paths = "".join(
        f"{name}_temp_path {folder}/{name};\n"
        for name in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
    )
    (folder / "nginx.conf").write_text(
        f"user {getpass.getuser()}; daemon off; pid {folder}/pid; error_log stderr;\n"
        f"events {{ worker_connections 4000; }}\n"
        f"http {{\n{paths}include {folder}/site.conf;\n}}\n"
    )
    return ["-p", str(folder), "-c", str(folder / "nginx.conf"), "-e", "stderr"]


def _nginx(folder: Path, https: int, http: int, replicas: Sequence[str]) -> Started:
    pair = certificate(folder)
    return nginx_arguments(folder, https, http, replicas, pair), {}, pair[0]


def _caddy(folder: Path, https: int, http: int, replicas: Sequence[str]) -> Started:
    environ = {  # for an address Caddy makes an authority of its own
        "SITE": "https://127.0.0.1",
        "HTTPS_PORT": str(https),
        "HTTP_PORT": str(http),
        "ADMIN": f"localhost:{free_port()}",
        "REPLICAS": " ".join(replicas),
        "XDG_DATA_HOME": str(folder),
        "XDG_CONFIG_HOME": str(folder),
    }
    arguments = ["run", "--adapter", "caddyfile", "--config", str(DEPLOY / "caddy" / "Caddyfile")]
    return arguments, environ, folder / "caddy" / "pki" / "authorities" / "local" / "root.crt"
