"""The client's address behind proxies, and its pseudonym."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from location_context.access.address import ClientPseudonymiser, TrustedProxies
from location_context.access.quota import MemoryCounter
from tests.logs import captured_logs
from tests.moved_clock import MovedClock

PROXIES = TrustedProxies(["10.0.0.0/8", "fd00::/8"])


@pytest.mark.parametrize(
    ("peer", "forwarded", "client"),
    [
        ("203.0.113.7", [], "203.0.113.7"),
        ("203.0.113.7", ["1.1.1.1"], "203.0.113.7"),
        ("10.0.0.1", [], "10.0.0.1"),
        ("10.0.0.1", ["203.0.113.7"], "203.0.113.7"),
        ("10.0.0.1", ["6.6.6.6, 203.0.113.7, 10.0.0.2"], "203.0.113.7"),
        ("10.0.0.1", ["6.6.6.6", "203.0.113.7"], "203.0.113.7"),
        ("10.0.0.1", ["10.0.0.9, 10.0.0.2"], "10.0.0.9"),
        ("10.0.0.1", ["203.0.113.7, junk"], "10.0.0.1"),
        ("10.0.0.1", ["junk, 203.0.113.7"], "203.0.113.7"),
        ("10.0.0.1", ["203.0.113.7:8080"], "203.0.113.7"),
        ("fd00::1", ["[2001:db8::5]:443"], "2001:db8::5"),
        ("::ffff:10.0.0.1", ["203.0.113.7"], "203.0.113.7"),
        ("::ffff:203.0.113.7", ["1.1.1.1"], "203.0.113.7"),
        ("10.0.0.1", [""], "10.0.0.1"),
        ("", ["1.1.1.1"], ""),
    ],
)
def test_client_address_is_the_right_most_address_that_is_not_a_trusted_proxy(
    peer: str, forwarded: list[str], client: str
) -> None:
    assert PROXIES.client(peer, forwarded) == client


@given(st.lists(st.text(max_size=30), max_size=5))
def test_forged_forwarded_header_never_changes_the_client_address(forged: list[str]) -> None:
    assert PROXIES.client("203.0.113.7", forged) == "203.0.113.7"
    assert PROXIES.client("10.0.0.1", [*forged, "203.0.113.7"]) == "203.0.113.7"


def test_forwarded_header_of_an_untrusted_peer_is_logged_once() -> None:
    proxies = TrustedProxies([])
    with captured_logs() as logs:
        for _ in range(3):
            proxies.client("203.0.113.7", ["1.1.1.1"])
    assert [line["event"] for line in logs] == ["forwarded_header_ignored"]
    assert "203.0.113.7" not in str(logs) + str(proxies.warning)
    assert "1.1.1.1" not in str(logs) + str(proxies.warning)


def test_warning_names_the_setting_that_trusts_a_private_proxy() -> None:
    proxies = TrustedProxies(["10.0.0.0/8"])
    assert proxies.warning is None
    proxies.client("10.0.0.1", ["1.1.1.1"])
    proxies.client("203.0.113.7", [])
    assert proxies.warning is None
    with captured_logs() as logs:
        for peer in ("203.0.113.7", "203.0.113.8", "::ffff:172.18.0.5", "192.168.1.1"):
            proxies.client(peer, ["1.1.1.1\nLOCATION_CONTEXT_KEY_PEPPER=x"])
    line = "LOCATION_CONTEXT_TRUSTED_PROXIES=10.0.0.0/8,172.18.0.5/32"
    assert proxies.warning is not None
    assert proxies.warning.endswith(line)
    assert [entry["set"] for entry in logs][1:] == [line]
    assert "PEPPER" not in str(logs) + proxies.warning


def pseudonymiser(clock: MovedClock) -> ClientPseudonymiser:
    return ClientPseudonymiser(MemoryCounter(clock), clock)


async def test_ipv6_addresses_of_one_64_bit_network_count_as_one_client() -> None:
    names = pseudonymiser(MovedClock())
    assert await names.pseudonym("2001:db8::1") == await names.pseudonym("2001:db8::ffff:2")
    assert await names.pseudonym("2001:db8::1") != await names.pseudonym("2001:db8:0:1::1")
    assert await names.pseudonym("203.0.113.7") != await names.pseudonym("203.0.113.8")
    assert await names.pseudonym("::ffff:203.0.113.7") == await names.pseudonym("203.0.113.7")


async def test_client_pseudonym_lasts_until_midnight_and_depends_on_the_secret() -> None:
    clock = MovedClock()
    names = pseudonymiser(clock)
    today = await names.pseudonym("203.0.113.7")
    assert "203.0.113" not in today
    clock.advance(11 * 3600)
    assert await names.pseudonym("203.0.113.7") == today
    clock.advance(3600)
    assert await names.pseudonym("203.0.113.7") != today
    assert await pseudonymiser(MovedClock()).pseudonym("203.0.113.7") != today


async def test_pseudonymiser_stores_no_ip_address_and_no_pseudonym() -> None:
    names = pseudonymiser(MovedClock())
    one = await names.pseudonym("203.0.113.7")
    assert one not in str(vars(names))
    assert "203.0.113.7" not in str(vars(names))
