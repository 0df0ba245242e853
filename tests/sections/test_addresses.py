"""A field of format `uri` holds an absolute address, whatever the source sent."""

import jsonschema_rs
import pytest

from location_context.sections.addresses import web_address

URI = jsonschema_rs.validator_for({"type": "string", "format": "uri"}, validate_formats=True)


@pytest.mark.parametrize(
    ("came", "sent"),
    [
        ("https://a.example/b?c=d&e#f", "https://a.example/b?c=d&e#f"),
        ("https://münchen.example:8443/fête", "https://xn--mnchen-3ya.example:8443/f%C3%AAte"),
        ("http://a.example/{b}|c?d=[e]&f=ü#ö", "http://a.example/%7Bb%7D%7Cc?d=%5Be%5D&f=%C3%BC#%C3%B6"),
        ("https://a.example/100%/caf%C3%A9", "https://a.example/100%25/caf%C3%A9"),
        ("http://[2001:db8::1]/a", "http://[2001:db8::1]/a"),
        (" https://a.example ", "https://a.example"),
        (" https://a.example/?q=ö#x ", "https://a.example/?q=%C3%B6#x"),
    ],
)  # fmt: skip
def test_web_address_becomes_a_valid_uri_and_a_valid_uri_is_not_changed(came, sent):
    assert web_address(came) == sent
    assert URI.is_valid(sent)
    assert web_address(sent) == sent


@pytest.mark.parametrize(
    "text",
    [None, "", "a.example", "javascript:alert(1)", "data:text/html,x", "//a.example", "http://",
     "ftp://a.example", "https://a.example/\nx", "x" * 3000, "https://", "https://a b.example/",
     "http://[", "http://[::1",
     "https://a.example/" + 2000 * "a", "https://" + 70 * "ü" + ".example/", 'https://a".example/',
     "https://a.example:port/", "https://ü.example:99999/"],
)  # fmt: skip
def test_invalid_web_address_is_read_as_none(text):
    assert web_address(text) is None
