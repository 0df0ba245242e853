"""nginx in front of the replicas, with the configuration that `deploy/` ships."""

import shutil
import ssl
from collections.abc import Sequence
from pathlib import Path

from tests.cluster.parts import MissingProgram, Replica, Web
from tests.deploy.proxies import PACKAGES, PATH, certificate, nginx_arguments
from tests.serving import free_port


class Nginx(Web):
    """Takes TLS connections at `port`; finds out from its requests which replica is down."""

    ready_path = "/v1/health"

    def __init__(self, folder: Path, replicas: Sequence[Replica]) -> None:
        program = shutil.which("nginx", path=PATH)
        if program is None:
            raise MissingProgram("nginx", PACKAGES["nginx"])
        super().__init__("nginx", folder)
        self.certificate, key = certificate(self.folder)
        self.tls = ssl.create_default_context(cafile=self.certificate)
        addresses = [f"127.0.0.1:{replica.port}" for replica in replicas]
        pair = (self.certificate, key)
        arguments = nginx_arguments(self.folder, self.port, free_port(), addresses, pair)
        self._command = [program, *arguments]

    def command(self) -> Sequence[str]:
        return self._command
