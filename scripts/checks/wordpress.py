"""Try the widget in a real, untouched WordPress: Debian's, with PHP and MariaDB, on loopback.

It installs a blog in a temporary folder, publishes posts with the address of a widget on a line of
its own, and measures in Chromium what a reader sees; it fails if a widget is too low.
WordPress connects to its own machine only on ports 80, 443 and 8080, so the service is on 8080.
Needs the test requirements, Chromium, and `apt-get install --no-install-recommends wordpress
wordpress-theme-twentytwentythree php-cli php-mysql mariadb-server`.
Usage: ./scripts/check wordpress
"""

import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import urlencode

from playwright.sync_api import Page, sync_playwright

from location_context.settings import Settings
from tests.moved_clock import MovedClock
from tests.serving import free_port, serve
from tests.widget.browser import chromium_path
from tests.widget.samples.sections import sample_sections
from tests.widget.service import FORECAST, STAY

WORDPRESS = Path("/usr/share/wordpress")
PORT = 8080
SERVICE = f"http://localhost:{PORT}"
PATIENCE = 60  # seconds for a server to start
POSTS = {
    "the weather of a week": {**FORECAST, "sections": "weather"},
    "the whole of a week": STAY,
    "the full layout of a week": {**STAY, "layout": "full"},
}
CONFIG = """<?php
define('DB_NAME', 'wordpress'); define('DB_USER', 'root'); define('DB_PASSWORD', '');
define('DB_HOST', 'localhost:{socket}'); define('DB_CHARSET', 'utf8mb4'); define('DB_COLLATE', '');
define('WP_HOME', '{home}'); define('WP_SITEURL', '{home}');
define('WP_HTTP_BLOCK_EXTERNAL', true); define('WP_ACCESSIBLE_HOSTS', 'localhost');
define('DISABLE_WP_CRON', true);
$table_prefix = 'wp_';
if (!defined('ABSPATH')) define('ABSPATH', __DIR__ . '/');
require_once ABSPATH . 'wp-settings.php';
"""
PUBLISH = """require 'wp-load.php';
echo wp_insert_post(['post_title' => 'A place', 'post_status' => 'publish', 'post_author' => 1,
  'post_content' => "Before.\\n\\n" . $argv[1] . "\\n\\nAfter."]);"""
TALLEST = 1000  # px that WordPress allows
FITS = """() => ({width: innerWidth, frame: innerHeight,
  content: document.getElementById("w").clientHeight,
  bar: innerWidth - document.documentElement.clientWidth})"""


def main() -> None:
    """Try each post and print what a reader sees."""
    for needed in ("mariadbd", "php"):
        if not shutil.which(needed) or not WORDPRESS.exists():
            sys.exit(f"Missing: {needed} or WordPress; see the beginning of this file.")
    clock = MovedClock()
    with tempfile.TemporaryDirectory() as name, sync_playwright() as playwright:
        folder = Path(name)
        folder.chmod(0o755)
        settings = Settings(data_dir=folder / "data", public_url=SERVICE, log_level="error")
        browser = playwright.chromium.launch(
            executable_path=chromium_path(),
            args=["--no-sandbox", "--disable-dev-shm-usage"],
            ignore_default_args=["--hide-scrollbars"],
        )
        sections = sample_sections(clock)
        with serve(settings, clock=clock, sections=sections, port=PORT), blog(folder) as home:
            for title, given in POSTS.items():
                number = publish(folder, f"{SERVICE}/v1/pulse?{urlencode(given)}")
                page = browser.new_page(viewport={"width": 1100, "height": 800})
                page.goto(f"{home}/?p={number}")
                found = page_fits(page)
                page.close()
                said = "{frame} px for {content} px at a width of {width} px, scrollbar {bar} px"
                print(f"{title}: {said.format(**found)}")
                assert found["frame"] == min(found["content"], TALLEST)
                assert (found["bar"] > 0) == (given.get("layout") == "full"), "only that may scroll"
        browser.close()


def page_fits(page: Page) -> dict[str, int]:
    """Measure the frame of a post once its widget has sent its height."""
    page.wait_for_function("document.querySelector('iframe.wp-embedded-content').style.clip === ''")
    page.wait_for_timeout(1500)  # scrollbars come half a second late
    found: dict[str, int] = page.frames[1].evaluate(FITS)
    return found


@contextmanager
def blog(folder: Path) -> Iterator[str]:
    """Run a new WordPress and yield its address."""
    site, socket = folder / "site", folder / "mysql.sock"
    home = f"http://localhost:{free_port()}"
    shutil.copytree(WORDPRESS, site, ignore_dangling_symlinks=True)
    (site / "wp-config.php").unlink(missing_ok=True)
    (site / "wp-config.php").write_text(CONFIG.format(socket=socket, home=home))
    with database(folder, socket):
        server = subprocess.Popen(
            ["php", "-S", home.removeprefix("http://"), "-t", site],
            env={"PATH": "/usr/bin:/bin", "PHP_CLI_SERVER_WORKERS": "4"},
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,  # its workers outlive it: all end together
        )
        try:
            until_answered(home)
            install(home)
            yield home
        finally:
            os.killpg(server.pid, signal.SIGTERM)
            server.wait(20)


@contextmanager
def database(folder: Path, socket: Path) -> Iterator[None]:
    """Run a MariaDB that listens on a socket only."""
    data = folder / "mysql"
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    common = [f"--datadir={data}", "--user=root"]
    made = [
        "mariadb-install-db",
        "--no-defaults",
        *common,
        "--auth-root-authentication-method=normal",
    ]
    subprocess.run(made, check=True, **quiet)
    server = subprocess.Popen(
        ["mariadbd", "--no-defaults", *common, f"--socket={socket}", "--skip-networking"], **quiet
    )
    try:
        ask = [
            "mariadb",
            "--no-defaults",
            f"--socket={socket}",
            "-uroot",
            "-e",
            "create database wordpress",
        ]
        patience = time.monotonic() + PATIENCE
        while subprocess.run(ask, check=False, **quiet).returncode:
            assert time.monotonic() < patience, "MariaDB does not start"
            time.sleep(0.2)
        yield
    finally:
        server.terminate()
        server.wait(30)


def until_answered(home: str) -> None:
    patience = time.monotonic() + PATIENCE
    while True:
        try:
            urllib.request.urlopen(f"{home}/wp-admin/install.php", timeout=20).close()
        except OSError:
            assert time.monotonic() < patience, "WordPress does not start"
            time.sleep(0.2)
        else:
            return


def install(home: str) -> None:
    """Send the installer's form."""
    fields = {
        "weblog_title": "A blog", "user_name": "owner", "admin_password": "not-a-secret-9",
        "admin_password2": "not-a-secret-9", "pw_weak": "1", "admin_email": "a@example.org",
        "blog_public": "0", "language": "",
    }  # fmt: skip
    sent = urlencode(fields).encode()
    urllib.request.urlopen(f"{home}/wp-admin/install.php?step=2", sent, timeout=120).close()


def publish(folder: Path, address: str) -> int:
    """Publish a post with the address on a line of its own, and return its number."""
    php = ["php", "-r", PUBLISH, "--", address]
    made = subprocess.run(php, cwd=folder / "site", check=True, capture_output=True, text=True)
    return int(made.stdout)


if __name__ == "__main__":
    main()
