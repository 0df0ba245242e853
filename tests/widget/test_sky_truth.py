"""What the sky card says of points and dates drawn at random is true of Sun and Moon.

Both are computed anew by the low-precision formulas of the Astronomical Almanac (Sun within 0.02°,
Moon within 0.5°); the sky itself comes from the service.
"""

import asyncio
import math
import random
import re
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from zoneinfo import ZoneInfo

import pytest

from location_context.localisation.formatter import Formatter
from location_context.sections.astronomy import card as sky
from location_context.sections.astronomy.response import AstronomyBody
from location_context.sections.astronomy.section import Astronomy
from location_context.sections.astronomy.sky.ephemeris import Ephemeris
from location_context.sections.contract import Query
from location_context.stay import Stay
from location_context.upstream.deadline import Deadline
from tests.widget.queries import LANGUAGES, NOW, WORDS
from tests.widget.test_truth import FORMATTERS, said_alike

STAYS = 200
EPHEMERIS = Ephemeris()
EVENTS = ("2026-08-11", "2026-12-12", "2027-08-01", "2026-10-23", "2027-03-26", "2028-12-30",
          "2027-01-01", "2026-03-18", "2029-01-13", "2028-07-05")  # fmt: skip
CITIES = ((43.3, -1.98), (40.7, -74.0), (-33.87, 151.2), (69.65, 18.96), (64.15, -21.9),
          (30.0, 31.2), (33.9, 35.5), (35.68, 139.76), (78.2, 15.6), (-54.8, -68.3))  # fmt: skip
STEP = timedelta(minutes=10)


def _place(moment: datetime, lat: float, lng: float, lam: float, beta: float) -> float:
    """The altitude of what has this ecliptic longitude and latitude, in degrees."""
    n = moment.timestamp() / 86400 - 10957.5
    eps = math.radians(23.439 - 4e-7 * n)
    lam, beta = math.radians(lam), math.radians(beta)
    x = math.cos(beta) * math.cos(lam)
    y = math.cos(eps) * math.cos(beta) * math.sin(lam) - math.sin(eps) * math.sin(beta)
    z = math.sin(eps) * math.cos(beta) * math.sin(lam) + math.cos(eps) * math.sin(beta)
    hour = math.radians(280.46061837 + 360.98564736629 * n + lng) - math.atan2(y, x)
    phi, dec = math.radians(lat), math.asin(z)
    sine = math.sin(phi) * math.sin(dec) + math.cos(phi) * math.cos(dec) * math.cos(hour)
    return math.degrees(math.asin(max(-1.0, min(1.0, sine))))


def _sun_longitude(moment: datetime) -> float:
    n = moment.timestamp() / 86400 - 10957.5
    g = math.radians(357.528 + 0.9856003 * n)
    return 280.46 + 0.9856474 * n + 1.915 * math.sin(g) + 0.02 * math.sin(2 * g)


def _moon(moment: datetime) -> tuple[float, float]:
    """Longitude and latitude."""
    t = (moment.timestamp() / 86400 - 10957.5) / 36525
    terms = (
        (6.29, 135.0, 477198.87), (-1.27, 259.3, -413335.36), (0.66, 235.7, 890534.22),
        (0.21, 269.9, 954397.74), (-0.19, 357.5, 35999.05), (-0.11, 186.5, 966404.03),
    )  # fmt: skip
    lam = 218.32 + 481267.881 * t
    lam += sum(size * math.sin(math.radians(at + by * t)) for size, at, by in terms)
    north = ((5.13, 93.3, 483202.02), (0.28, 228.2, 960400.89), (-0.28, 318.3, 6003.15))
    return lam, sum(size * math.sin(math.radians(at + by * t)) for size, at, by in north)


def sun(moment: datetime, lat: float, lng: float) -> float:
    return _place(moment, lat, lng, _sun_longitude(moment), 0.0)


def moon(moment: datetime, lat: float, lng: float) -> float:
    return _place(moment, lat, lng, *_moon(moment))


def lit(moment: datetime) -> float:
    """The share of the Moon's disc that is lit."""
    lam, beta = _moon(moment)
    away = math.radians(lam - _sun_longitude(moment))
    return (1 - math.cos(away) * math.cos(math.radians(beta))) / 2


@dataclass(frozen=True)
class Drawn:
    """A sky, the date from which it is read, and another language."""

    body: AstronomyBody
    today: date
    fmt: Formatter

    @property
    def zone(self) -> ZoneInfo:
        return ZoneInfo(self.body.point.timezone)

    @property
    def first(self) -> date:
        return max(self.today, self.body.stay.start)

    def sun(self, moment: datetime) -> float:
        return sun(moment, self.body.point.lat, self.body.point.lng)

    def moon(self, moment: datetime) -> float:
        return moon(moment, self.body.point.lat, self.body.point.lng)

    def at(self, day: date, clock: str, after: datetime | None = None) -> datetime:
        """The time of a clock, on the next date where that is before another time."""
        moment = datetime.combine(day, time.fromisoformat(clock), self.zone)
        return moment + timedelta(1) if after and moment < after else moment

    def heights(self, day: date, *, noon: bool = False) -> list[float]:
        """The Sun's altitudes on a date, or from its noon to the next."""
        start = datetime.combine(day, time(12 if noon else 0), self.zone).astimezone(UTC)
        return [self.sun(start + n * STEP) for n in range(145)]


@pytest.fixture(scope="module")
def skies(gazetteer) -> list[Drawn]:
    chance, section = random.Random(27), Astronomy(EPHEMERIS, lambda: NOW)
    request = []
    for number in range(STAYS):
        far = chance.uniform(60, 80) * chance.choice([1, -1])
        lat, lng = chance.choice([chance.uniform(-58, 62), far]), chance.uniform(-179, 179)
        if number % 3:  # clocks change on land only
            lat, lng = chance.choice(CITIES)
        start = date(2026, 1, 1) + timedelta(chance.randrange(1400))
        if number % 4 == 0:
            start = date.fromisoformat(chance.choice(EVENTS))
        stay = Stay(start, start + timedelta(chance.choice([0, 1, 3, 5, 9])))
        today = start + timedelta(chance.choice([-5, -5, 0, 2]))
        point = gazetteer.point(lat, lng)
        request.append((Query(point, stay, "metric", LANGUAGES.english), min(today, stay.end)))

    async def bodies():
        return [(await section.read(one, Deadline.after(60))).body for one, _ in request]

    found = asyncio.run(bodies())
    return [
        Drawn(body, today, FORMATTERS[number % 10])
        for number, (body, (_, today)) in enumerate(zip(found, request, strict=True))
    ]


@pytest.fixture(scope="module")
def cards(skies):
    return [
        (one, *(sky.card(one.body, EPHEMERIS, fmt, one.today) for fmt in (WORDS, one.fmt)))
        for one in skies
    ]


CLOCK = r"(\d\d:\d\d)"


def test_daylight_sentence_agrees_with_the_computed_altitude_of_the_sun(cards):
    kinds = set()
    for one, card, other in cards:
        said, day = WORDS.plain(card.view.light), one.first
        said_alike(said, other.view.light, one.fmt)
        heights = one.heights(day)
        if said == "The Sun does not set":
            kinds.add("day")
            assert min(heights) > -1.0
        elif said.startswith("The Sun does not rise"):
            kinds.add("night")
            assert max(heights) < -0.7
            for clock in re.findall(CLOCK, said):
                assert one.sun(one.at(day, clock)) == pytest.approx(-6, abs=0.3)
        elif change := re.match(r"From .* the Sun (no longer|.*again)", said):
            kinds.add(change[1])
        elif found := re.match(rf"Sunset {CLOCK}, best light {CLOCK}–{CLOCK}$", said):
            begin = one.at(day, found[2])
            if begin > one.at(day, found[1]):
                begin -= timedelta(1)
            assert one.sun(one.at(day, found[1])) == pytest.approx(-0.83, abs=0.35)
            assert one.sun(begin) <= 6.6  # the evening before, where the Sun sets after midnight
            assert one.sun(one.at(day, found[3], begin)) >= -4.7
        elif found := re.match(rf"Sunset {CLOCK}, {CLOCK} by (.*)$", said):
            kinds.add("drift")
            last = one.body.stay.end
            assert found[3] == WORDS.plain(WORDS.day(last))
            for date_of, clock in ((day, found[1]), (last, found[2])):
                assert one.sun(one.at(date_of, clock)) == pytest.approx(-0.83, abs=0.35)
        else:
            assert re.match(rf"Sunset {CLOCK}$|The Sun is up for", said), said
    assert {"day", "night", "drift", "no longer"} <= kinds


def test_key_facts_about_the_sky_agree_with_computed_sun_altitude_and_stay_dates(cards):
    seen = set()
    for one, card, other in cards:
        for fact, same in zip(card.facts, other.facts, strict=True):
            said_alike(WORDS.plain(fact.value), same.value, one.fmt)
            said_alike(WORDS.plain(fact.caption), same.caption, one.fmt)
            heights, value = one.heights(one.first), WORDS.plain(fact.value)
            if hours := re.match(r"sunset, (\d+) hours? of daylight", fact.caption):
                assert one.sun(one.at(one.first, value)) == pytest.approx(-0.83, abs=0.35)
                assert int(hours[1]) == pytest.approx(
                    sum(height > -0.83 for height in heights[:-1]) / 6, abs=0.8
                )
            elif fact.caption == "twilight; the Sun does not rise":
                assert max(heights) < -0.7
                for clock in value.split("–"):
                    assert one.sun(one.at(one.first, clock)) == pytest.approx(-6, abs=0.3)
            elif value == "Midnight sun":
                assert min(heights) > -1.0
            elif value == "Polar night":
                assert max(heights) < -5.7
            else:
                rare = next(h for h in one.body.highlights if h.title == fact.value)
                assert rare.at.date() >= one.first
                night = (rare.at - timedelta(hours=12)).date()
                dates = f"{WORDS.day(night)} to {WORDS.day(night + timedelta(1))}"
                if rare.type != "solar_eclipse":
                    assert WORDS.plain(fact.caption) == WORDS.plain(f"night of {dates}")
            seen.add(fact.caption.partition(" of")[0].partition(",")[0])
    assert {"sunset", "night", "twilight; the Sun does not rise", "the Sun does not set"} <= seen


def test_dark_hours_shown_for_each_night_agree_with_the_computed_sun_altitude(cards):
    best = 0
    for one, card, other in cards:
        days = [day for day in one.body.days if day.date >= one.first]
        nights = days[:-1] or days
        for night, view, same in zip(nights, card.view.nights, other.view.nights, strict=False):
            said_alike(WORDS.plain(view.spoken), same.spoken, one.fmt)
            lowest = min(one.heights(night.date, noon=True))
            midnight = datetime.combine(night.date + timedelta(1), time(0), one.zone)
            assert int(view.percent.strip("%")) == pytest.approx(100 * lit(midnight), abs=2.5)
            if view.dark == "Never fully dark":
                assert lowest > -18.4
            elif view.dark == "Moon up all night":
                assert lowest < -17.6
            else:
                for span in WORDS.plain(view.dark).split(", "):
                    begin, end = (one.at(night.date, clock) for clock in span.split("–"))
                    noon = datetime.combine(night.date, time(12), one.zone)
                    begin += timedelta(begin < noon)
                    end += timedelta(end < begin)
                    middle = begin + (end - begin) / 2
                    assert one.sun(middle) < -17.8
                    assert one.moon(middle) < 1.5
        if card.view.best:
            best += 1
            view, title, text = card.view.best
            said_alike(WORDS.plain(title), other.view.best[1], one.fmt)
            said_alike(WORDS.plain(text), other.view.best[2], one.fmt)
            evening = next(n for n in nights if WORDS.plain(
                f"{WORDS.day(n.date)} to {WORDS.day(n.date + timedelta(1))}"
            ) in WORDS.plain(title))  # fmt: skip
            assert evening.night.dark_hours >= 1
            if ", no Moon" in text:
                midnight = datetime.combine(evening.date + timedelta(1), time(0), one.zone)
                assert lit(midnight) < 0.06
            assert not ("aurora" in text and _from_pole(one) > 28.5)
            plain = text.startswith("Dark")
            assert not (plain and "aurora" not in text and _from_pole(one) < 27.5)
    assert best > 80


def _from_pole(one: Drawn) -> float:
    """Degrees to the nearer geomagnetic pole, by the cosine of the angle between two vectors."""
    points = []
    for lat, lng in ((one.body.point.lat, one.body.point.lng), (80.8, -72.7)):
        phi, lam = math.radians(lat), math.radians(lng)
        points.append((math.cos(phi) * math.cos(lam), math.cos(phi) * math.sin(lam), math.sin(phi)))
    return math.degrees(math.acos(abs(sum(a * b for a, b in zip(*points, strict=True)))))


def test_sky_entries_of_each_day_match_the_highlights(cards):
    seen = set()
    for one, card, other in cards:
        for moment, same in zip(card.moments, other.moments, strict=True):
            text = WORDS.plain(moment.text)
            said_alike(text, same.text, one.fmt)
            assert one.first <= moment.day <= one.body.stay.end
            assert "quarter" not in moment.icon
            found = next(h for h in one.body.highlights if h.title == moment.title)
            details, seen_kind = found.details, found.type
            seen.add(seen_kind)
            after = found.at.date() > moment.day
            if found.type in {"meteor_shower", "lunar_eclipse"}:
                assert moment.day == (found.at - timedelta(hours=12)).date()
                assert (f"night before {WORDS.plain(WORDS.day(found.at.date()))}" in text) == after
            if found.type == "meteor_shower":
                many = details.rate * math.sin(math.radians(details.radiant_height))
                many *= 1 - 0.8 * details.moonlight
                assert ("dozens" in text) == (many >= 24)
                assert many >= 5
            elif found.type == "solar_eclipse":
                percent = float(re.search(r"([\d.]+)%", text)[1])
                assert percent == pytest.approx(100 * details.obscuration, abs=0.51)
                assert (percent == 100) == (details.obscuration >= 1)
            elif found.type == "full_moon":
                assert lit(found.at) > 0.98
            elif found.type == "clock_change":
                report = one.at(moment.day, text.removeprefix("at "))
                before, later = report - timedelta(hours=3), report + timedelta(hours=3)
                assert (later.utcoffset() - before.utcoffset()).total_seconds() == (
                    60 * details.shift_minutes
                )
                old = (found.at.astimezone(UTC) - timedelta(seconds=1)).astimezone(one.zone)
                shown = old + timedelta(seconds=1)
                assert f"{shown:%H:%M}" == text.removeprefix("at ")
            elif text == "The longest day of the year.":
                assert (one.body.point.lat > 0) == (found.type == "june_solstice")
            elif text == "Day and night about equally long.":
                light = sum(height > -0.83 for height in one.heights(found.at.date())[:-1]) / 6
                assert light == pytest.approx(12, abs=1.2)
    assert {"meteor_shower", "solar_eclipse", "lunar_eclipse", "full_moon", "clock_change"} <= seen
