"""The proxy in front of the replicas: HAProxy or nginx."""

import shutil
from collections.abc import Sequence
from pathlib import Path

from tests.cluster.parts import Replica, Web

_HAPROXY = """
global
    maxconn 4000
defaults
    mode http
    timeout connect 2s
    timeout client 30s
    timeout server 15s
    timeout http-keep-alive 30s
    retries 3
    option redispatch 1
    retry-on conn-failure empty-response response-timeout 502 503 504
    option forwardfor
frontend guests
    bind 127.0.0.1:{port}
    default_backend service
backend service
    balance roundrobin
    option httpchk GET /v1/ready
    http-check expect status 200
    default-server check inter 5s fall 1 rise 1
{servers}
"""


class HAProxy(Web):
    """HAProxy with the replicas behind it, which it checks every 5 s."""

    def __init__(self, folder: Path, replicas: Sequence[Replica]) -> None:
        super().__init__("haproxy", folder)
        if shutil.which("haproxy") is None:
            raise RuntimeError("There is no haproxy here (apt-get install haproxy)")
        servers = "\n".join(f"    server {one.name} 127.0.0.1:{one.port}" for one in replicas)
        self._config = self.folder / "haproxy.cfg"
        self._config.write_text(_HAPROXY.format(port=self.port, servers=servers))

    def command(self) -> Sequence[str]:
        return ["haproxy", "-db", "-f", str(self._config)]
