"""`read` for people: tables and sentences instead of the JSON of `--json`; and its completion."""

import json
from pathlib import Path

import pytest

from location_context.sections import registry
from tests.web.commands import command

PARIS = ("--lat", "48.8566", "--lng", "2.3522")
STAY = ("--start", "2030-12-30", "--end", "2031-01-03")


@pytest.mark.parametrize(
    ("section", "shown"),
    [
        ("weather", ["2030-12-30", "°C", "mm", "climatology"]),
        ("astronomy", ["2030-12-30", "Sun", "Moon", "dark"]),
        ("guide", ["Three stars", "km", "min", "Sample guide"]),
        ("events", ["2031-01-01", "public_holiday", "holidays"]),
        ("all", ["climatology", "Three stars", "2031-01-01", "Moon"]),
    ],
)
def test_read_command_prints_a_text_table_unless_json_is_requested(
    data_dir: Path, section: str, shown: list[str]
) -> None:
    stay = () if section == "guide" else STAY
    said = command(data_dir, "read", section, *PARIS, *stay).stdout
    assert [word for word in shown if word not in said] == []
    assert "Europe/Paris" in said
    for sign in ("{", '"applicable"', "None", "null"):
        assert sign not in said
    with pytest.raises(ValueError, match="Expecting value"):
        json.loads(said)


def test_read_command_prints_the_reason_if_a_section_is_not_applicable(data_dir: Path) -> None:
    said = command(data_dir, "read", "guide", "--lat", "-60", "--lng", "-120").stdout
    assert "No restaurants from the guide are nearby." in said


@pytest.mark.parametrize(
    ("typed", "offered"),
    [
        ("read ", sorted(["all", *registry.names()])),
        ("read w", ["weather"]),
        ("read weather --units ", ["imperial", "metric"]),
        ("guide r", ["remove", "rollback"]),
    ],
)
def test_shell_completion_offers_sections_units_and_commands(
    tmp_path: Path, typed: str, offered: list[str]
) -> None:
    words = f"location-context {typed}"
    request = {
        "_LOCATION_CONTEXT_COMPLETE": "complete_bash",
        "COMP_WORDS": words,
        "COMP_CWORD": str(len(words.split(" ")) - 1),
    }
    done = command(tmp_path, more=request)
    assert sorted(done.stdout.split()) == offered
    assert list(tmp_path.iterdir()) == []


def test_read_command_accepts_a_named_guide_and_refuses_an_unknown_guide(tmp_path: Path) -> None:
    command(tmp_path, "guide", "import", "--sample", "--name", "house")
    assert "Three stars" in command(tmp_path, "read", "guide", *PARIS, "--guide", "house").stdout
    assert "No restaurant guide is available." in command(tmp_path, "read", "guide", *PARIS).stdout
    for section in ("guide", "events"):
        given = ("read", section, *PARIS, *STAY, "--guide", "annex")
        refused = command(tmp_path, *given, fails=True)
        assert "guide is 'annex'; accepted: house." in refused.stderr
