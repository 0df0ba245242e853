"""What the files of `deploy/` name is there: settings, routes, commands, and times that fit."""

import json
import re
import shutil
import subprocess
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import yaml

from location_context.cli.main import COMMANDS
from location_context.cli.serve import ENDING_SECONDS
from location_context.settings import PREFIX, Settings
from location_context.settings.parsers import names_of, variable
from location_context.settings.settings import DRAIN_AT_MOST
from location_context.web.status import PROBES
from tests.conftest import ROOT
from tests.databases import missing

DEPLOY = ROOT / "deploy"
FILES = [path for path in sorted(DEPLOY.rglob("*")) if path.is_file()]
UNIT = DEPLOY / "systemd" / "location-context@.service"
COMPOSE = yaml.safe_load((DEPLOY / "compose.yaml").read_text())
MANIFESTS = [*yaml.safe_load_all((DEPLOY / "kubernetes.yaml").read_text())]
CONTAINERFILE = (DEPLOY / "container" / "Containerfile").read_text()
SERVICE_PORT = "8000"


def manifest(kind: str) -> dict[str, Any]:
    return next(one for one in MANIFESTS if one["kind"] == kind)


def pod() -> dict[str, Any]:
    """The pod of the Deployment."""
    return manifest("Deployment")["spec"]["template"]["spec"]


def values(node: Any, key: str) -> Iterator[Any]:
    """Every value under this key, at any depth."""
    if isinstance(node, dict):
        for name, value in node.items():
            if name == key:
                yield value
            yield from values(value, key)
    elif isinstance(node, list):
        for one in node:
            yield from values(one, key)


def containers() -> list[dict[str, Any]]:
    """The containers of the pod, the one that migrates first."""
    return [*pod()["initContainers"], *pod()["containers"]]


def environment_of_kubernetes() -> dict[str, str]:
    migrate, service = containers()
    assert migrate["env"] == service["env"]
    return {one["name"]: one["value"] for one in service["env"]}


def settings_of_kubernetes() -> Settings:
    given = environment_of_kubernetes()
    return Settings.read({k: v for k, v in given.items() if not k.endswith("_FILE")})


def seconds(text: str) -> float:
    return float(text.removesuffix("s"))


def test_deployment_files_name_only_existing_settings() -> None:
    known = {variable(name) for name in names_of(Settings)} | {PREFIX + "CONFIG"}
    named = {
        (path.name, found)
        for path in FILES
        for found in re.findall(rf"{PREFIX}[A-Z][A-Z_]*[A-Z]", path.read_text("utf-8"))
    }
    assert len({found for _, found in named}) >= 8
    assert {one for one in named if one[1] not in known} == set()


def test_health_probes_use_routes_that_are_never_refused_under_overload() -> None:
    """Paths in configuration, not in prose, where /v1 stands for any of them."""
    for path in FILES:
        found = set(re.findall(r"/v1/[a-z]+", path.read_text("utf-8")))
        if path.suffix not in {".md", ".json"} and path.name != "alerts.yml":
            assert found <= PROBES, path
    probes = [
        probe["httpGet"]
        for name in ("readinessProbe", "livenessProbe")
        for probe in values(pod(), name)
    ]
    assert [one["path"] for one in probes] == ["/v1/ready", "/v1/health"]


def test_containers_run_existing_commands_with_existing_options() -> None:
    shell = re.findall(r"^CMD (\[.*\])$", CONTAINERFILE, re.MULTILINE)
    run = [json.loads(shell[-1]), *(one["args"] for one in containers())]
    run.append(COMPOSE["services"]["migrate"]["command"])
    unit = re.search(r"^ExecStart=\S+/location-context (.*)$", UNIT.read_text(), re.MULTILINE)
    assert unit
    run.append(unit[1].split())
    for command, *options in run:
        assert command in COMMANDS
        assert set(options) <= {"--host", "0.0.0.0", "--port", SERVICE_PORT, "%i", "--check"}
    assert 'ENTRYPOINT ["location-context"]' in CONTAINERFILE


def test_all_deployment_files_use_the_same_ports() -> None:
    assert f"EXPOSE {SERVICE_PORT}\n" in CONTAINERFILE
    assert COMPOSE["services"]["proxy"]["environment"]["REPLICAS"] == "one:8000 two:8000"
    ports = {port["name"]: port["containerPort"] for port in next(values(containers(), "ports"))}
    assert ports == {"http": int(SERVICE_PORT)}
    probes = [*values(containers(), "httpGet")]
    targets = [port["targetPort"] for port in manifest("Service")["spec"]["ports"]]
    assert {*targets, *(probe["port"] for probe in probes)} == set(ports)


def test_kubernetes_service_and_deployment_select_the_pods() -> None:
    deployment = manifest("Deployment")["spec"]
    labels = deployment["template"]["metadata"]["labels"]
    assert manifest("Service")["spec"]["selector"] == labels
    assert deployment["selector"]["matchLabels"] == labels


def test_prometheus_scrapes_the_metrics_address_that_the_docs_configure() -> None:
    text = (DEPLOY / "prometheus" / "scrape.yml").read_text()
    operate, production = (
        (ROOT / "docs" / name).read_text() for name in ("operate.md", "production.md")
    )
    assert f"`{PREFIX}METRICS_ADDRESS={_targets(text)[0]}`" in operate
    changed = re.search(
        r"^sed 's/(.+)/(.+)/' deploy/prometheus/scrape.yml", production, re.MULTILINE
    )
    assert changed
    replicas = _targets(text.replace(changed[1], changed[2]))
    assert replicas == ["127.0.0.1:18001", "127.0.0.1:18002"]


def _targets(text: str) -> list[str]:
    """The addresses that a configuration of Prometheus has scraped."""
    return next(values(yaml.safe_load(text), "targets"))


def test_replica_has_enough_time_to_drain_before_it_is_killed() -> None:
    usual = DRAIN_AT_MOST + ENDING_SECONDS
    assert "podman stop --time 25" in CONTAINERFILE
    for name in ("one", "two"):
        service = COMPOSE["services"][name]
        assert seconds(service["stop_grace_period"]) > usual
    stops = re.search(r"TimeoutStopSec=(\d+)", UNIT.read_text())
    assert stops
    assert float(stops[1]) > usual
    drained = settings_of_kubernetes()
    longest = max(drained.drain_at_least, DRAIN_AT_MOST)
    assert pod()["terminationGracePeriodSeconds"] > longest + ENDING_SECONDS
    probe = next(values(pod(), "readinessProbe"))
    noticed = probe["periodSeconds"] * probe["failureThreshold"]
    assert noticed < drained.drain_at_least


def test_every_secret_file_that_a_setting_names_is_mounted() -> None:
    mounted = {f"/run/secrets/{name}" for name in COMPOSE["secrets"]}
    for name, service in COMPOSE["services"].items():
        for variable_, value in (service.get("environment") or {}).items():
            if variable_.endswith("_FILE"):
                assert value in mounted, name
                assert value.removeprefix("/run/secrets/") in service["secrets"]
    page = (DEPLOY / "README.md").read_text()
    literals = set(re.findall(r"--from-literal=(\w+)=", page))
    secret = next(values(pod(), "secret"))
    assert f"kubectl create secret generic {secret['secretName']} " in page
    given = environment_of_kubernetes()
    files = {value for name, value in given.items() if name.endswith("_FILE")}
    mount = next(one["mountPath"] for one in next(values(containers(), "volumeMounts"))
                 if one["name"] == "secrets")  # fmt: skip
    assert files == {f"{mount}/{name}" for name in literals}
    unit = UNIT.read_text()
    loaded = set(re.findall(r"^LoadCredential=(\w+):", unit, re.MULTILINE))
    assert loaded == set(re.findall(r"_FILE=%d/(\w+)$", unit, re.MULTILINE)) != set()


def test_the_readme_creates_the_secrets_of_compose(tmp_path: Path) -> None:
    page = (DEPLOY / "README.md").read_text()
    block = page.partition("## Compose\n```sh\n")[2].partition("SITE=")[0]
    done = subprocess.run(["/bin/sh", "-euc", block], cwd=tmp_path, check=False, timeout=60)
    assert done.returncode == 0
    folder = tmp_path / "deploy" / "secrets"
    assert {file.name for file in folder.iterdir()} == set(COMPOSE["secrets"])
    environ = COMPOSE["services"]["one"]["environment"]
    given = {k: v.replace("/run/secrets", str(folder)) for k, v in environ.items() if v is not None}
    settings = Settings.read(given | {f"{PREFIX}PUBLIC_URL": "https://context.example.org"})
    database = urlsplit(settings.database_url.reveal())
    postgres = COMPOSE["services"]["postgres"]["environment"]
    assert database.hostname in COMPOSE["services"]
    assert database.password == (folder / "postgres_password").read_text()
    assert (database.username, database.path) == (
        postgres["POSTGRES_USER"],
        f"/{postgres['POSTGRES_DB']}",
    )
    assert len(settings.key_pepper.reveal()) == 64


def test_containers_run_unprivileged_with_a_read_only_root() -> None:
    user = re.search(r"^USER (\d+):\d+$", CONTAINERFILE, re.MULTILINE)
    assert user
    assert pod()["securityContext"]["runAsNonRoot"]
    assert pod()["securityContext"]["runAsUser"] == int(user[1])
    for one in containers():
        assert one["securityContext"] == {
            "allowPrivilegeEscalation": False,
            "readOnlyRootFilesystem": True,
            "capabilities": {"drop": ["ALL"]},
        }
        assert one["resources"]["limits"]["memory"]
    for name, service in COMPOSE["services"].items():
        assert service["read_only"], name
        assert service["cap_drop"] == ["ALL"]
        assert service["security_opt"] == ["no-new-privileges:true"]
        assert "healthcheck" in service or service["image"] == "location-context"


def test_compose_and_kubernetes_trust_their_proxies() -> None:
    trusted = COMPOSE["services"]["one"]["environment"][f"{PREFIX}TRUSTED_PROXIES"]
    proxy = COMPOSE["services"]["proxy"]["networks"]["front"]["ipv4_address"]
    assert trusted == f"{proxy}/32"
    assert settings_of_kubernetes().trusted_proxies


def test_the_image_copies_exactly_what_its_ignore_file_lets_in() -> None:
    copied = re.findall(r"^COPY (?!--from)(.+) \S+$", CONTAINERFILE, re.MULTILINE)
    sources = {source for line in copied for source in line.split()}
    assert all((ROOT / source).exists() for source in sources)
    ignores = (DEPLOY / "container" / ".containerignore").read_text()
    included = {line[1:] for line in ignores.splitlines() if line.startswith("!")}
    assert included == sources
    assert ignores == (DEPLOY / "container" / "Containerfile.dockerignore").read_text()


def test_the_readme_lists_every_file_of_deploy() -> None:
    page = (DEPLOY / "README.md").read_text()
    linked = {(DEPLOY / target).resolve() for target in re.findall(r"\]\(([^)#:]+)\)", page)}
    assert all(target.exists() for target in linked)
    left_out = [
        path.relative_to(DEPLOY)
        for path in FILES
        if path.name != "README.md"
        and path not in linked
        and not any(parent in linked for parent in path.parents)
    ]
    assert left_out == []


def test_servers_and_commands_share_one_data_directory_in_every_deployment() -> None:
    texts = [
        ROOT / "docs" / "production.md",
        *(path for path in DEPLOY.rglob("*") if path.is_file()),
    ]
    named = re.compile(r"(?:DATA_DIR(?:: |=)|name: data, mountPath: |\[data:|VOLUME )([%/][\w/-]+)")
    found = [folder for path in texts for folder in named.findall(path.read_text())]
    assert {folder.replace("%S", "/var/lib") for folder in found} == {"/var/lib/location-context"}
    assert len(found) == 7  # two in the Containerfile, compose, mount, unit, two pages


def test_systemd_verifies_the_unit_and_rates_its_exposure_low(tmp_path: Path) -> None:
    program = shutil.which("systemd-analyze") or missing(
        "There is no systemd-analyze (apt-get install systemd)"
    )
    unit = tmp_path / "location-context@8001.service"
    text = re.sub(r"ExecStart=\S+", "ExecStart=/bin/true", UNIT.read_text())
    for name in (unit.name, UNIT.name):
        (tmp_path / name).write_text(text)
    run = partial(subprocess.run, capture_output=True, text=True, check=False, timeout=60)
    verified = run([program, "verify", str(unit)])
    assert (verified.returncode, verified.stderr) == (0, "")
    rated = run([program, "security", "--offline=yes", "--threshold=20", str(unit)])
    assert rated.returncode == 0, rated.stdout  # an exposure of at most 2.0 of 10
