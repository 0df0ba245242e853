"""The proxy in front of the replicas, with the configuration that `deploy/` has for it."""

import os
import pwd
import re
import shutil
import ssl
import subprocess
from collections.abc import Sequence
from pathlib import Path

from tests.cluster.parts import MissingProgram, Replica, Web
from tests.conftest import ROOT
from tests.serving import free_port


class Proxy(Web):
    """A proxy that takes TLS connections at `port`, those of `plain_port` are redirected there.

    `check_seconds` is the time between two of its checks of a replica, if it makes any.
    """

    ready_path = "/v1/health"

    def __init__(self, folder: Path, replicas: Sequence[Replica], check_seconds: int) -> None:
        name = type(self).__name__.lower()
        if shutil.which(name) is None:
            raise MissingProgram(name)
        super().__init__(name, folder)
        self.plain_port = free_port()
        self.certificate = _certificate(self.folder)
        self.tls = ssl.create_default_context(cafile=self.certificate)
        self.config = self.folder / "config"
        self.config.write_text(self.configured(replicas, check_seconds))

    def configured(self, replicas: Sequence[Replica], check_seconds: int) -> str:
        """The configuration of `deploy/`, with what is of this cluster in its place."""
        raise NotImplementedError


class HAProxy(Proxy):
    """Which asks each replica whether it is ready."""

    def configured(self, replicas: Sequence[Replica], check_seconds: int) -> str:
        one, two = replicas
        self.environ |= {
            "HTTP_ADDRESS": f"127.0.0.1:{self.plain_port}",
            "HTTPS_ADDRESS": f"127.0.0.1:{self.port}",
            "CERTIFICATE": str(self.certificate),
            "REPLICA_ONE": f"127.0.0.1:{one.port}",
            "REPLICA_TWO": f"127.0.0.1:{two.port}",
        }
        if os.geteuid():
            self.environ["HAPROXY_USER"] = pwd.getpwuid(os.geteuid()).pw_name
            self.environ["HAPROXY_GROUP"] = str(os.getegid())
        shipped = (ROOT / "deploy/haproxy/haproxy.cfg").read_text()
        return _changed(shipped, (r"check inter 1s", f"check inter {check_seconds}s"))

    def command(self) -> Sequence[str]:
        return ["haproxy", "-db", "-f", str(self.config)]


class Nginx(Proxy):
    """Which learns of a replica that is gone from its requests."""

    def configured(self, replicas: Sequence[Replica], check_seconds: int) -> str:
        del check_seconds
        one, two = replicas
        shipped = (ROOT / "deploy/nginx/location-context.conf").read_text()
        file = _changed(
            shipped,
            (r"listen 80;", f"listen 127.0.0.1:{self.plain_port};"),
            (r"listen 443 ", f"listen 127.0.0.1:{self.port} "),
            (r"listen \[::\].*", ""),
            (r"127\.0\.0\.1:8001", f"127.0.0.1:{one.port}"),
            (r"127\.0\.0\.1:8002", f"127.0.0.1:{two.port}"),
            (r"ssl_certificate /.*;", f"ssl_certificate {self.certificate};"),
            (r"ssl_certificate_key /.*;", f"ssl_certificate_key {self.certificate};"),
            (r"access_log /\S+", f"access_log {self.folder}/access"),
        )
        paths = "".join(
            f"{name}_temp_path {self.folder}/{name};\n"
            for name in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
        )
        return (
            f"pid {self.folder}/pid;\nerror_log stderr;\nworker_processes 1;\n"
            f"events {{ worker_connections 4000; }}\nhttp {{\n{paths}{file}}}\n"
        )

    def command(self) -> Sequence[str]:
        return ["nginx", "-c", str(self.config), "-p", str(self.folder), "-g", "daemon off;"]


PROXIES: dict[str, type[Proxy]] = {"haproxy": HAProxy, "nginx": Nginx}


def _changed(text: str, *changes: tuple[str, str]) -> str:
    for pattern, new in changes:
        text, count = re.subn(pattern, new, text)
        if not count:
            raise RuntimeError(f"There is no {pattern!r} any more in what deploy/ has")
    return text


def _certificate(folder: Path) -> Path:
    """A certificate of localhost and its key, in one file."""
    path = folder / "certificate.pem"
    named = ["-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1"]
    kind = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2"]
    subprocess.run(
        ["openssl", "req", "-x509", *kind, *named, "-keyout", str(path), "-out", f"{path}.part"],
        check=True,
        capture_output=True,
    )
    path.write_text(path.read_text() + Path(f"{path}.part").read_text())
    return path
