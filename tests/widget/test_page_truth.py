"""What the page says of restaurants, events and the stay itself, drawn at random, is true."""

import random
import re
from datetime import datetime, time, timedelta
from itertools import pairwise

import msgspec

from location_context.localisation.language import Languages
from location_context.parameters import WIDGET, parse
from location_context.sections.events import card as programme
from location_context.sections.guide import card as tables
from location_context.stay import Stay
from location_context.widget import content
from location_context.widget import stay as stay_card
from tests.widget.queries import NOW, WORDS, query
from tests.widget.samples.programme import events
from tests.widget.samples.tables import guide
from tests.widget.test_truth import FORMATTERS, numbers, said_alike

STAYS = 1000
TODAY = NOW.date()


def test_restaurant_texts_agree_with_the_data_in_each_language(gazetteer):
    chance = random.Random(27)
    bodies = [guide(query(gazetteer, units=units)) for units in ("metric", "imperial")]
    for number in range(STAYS):
        body, fmt = chance.choice(bodies), FORMATTERS[number % 10]
        some = chance.sample(body.restaurants, chance.randint(1, len(body.restaurants)))
        found = [
            msgspec.structs.replace(
                one,
                distance=round(chance.uniform(0.1, 30), 2),
                bearing=round(chance.uniform(0, 359.9), 1),
                travel=msgspec.structs.replace(
                    one.travel, kind=chance.choice(["walk", "drive"]), minutes=chance.randint(1, 70)
                ),
            )
            for one in sorted(some, key=body.restaurants.index)
        ]
        more = chance.choice([0, 0, 40])
        body = msgspec.structs.replace(body, restaurants=found, total=len(found) + more)
        card, other = tables.card(body, WORDS), tables.card(body, fmt)
        fact = card.facts[0]
        report = next(one for one in found if fact.caption.endswith(one.name))
        assert numbers(fact.value) == [report.travel.minutes]
        assert ("on foot" in fact.caption) == (report.travel.kind == "walk")
        near = [o for o in found if o.stars and o.travel.kind == "walk" and o.travel.minutes <= 30]
        starred = [o for o in found if o.stars and o.travel.kind == "walk"]
        if "starred" in fact.caption:
            assert report in near
            assert report.distance == min(one.distance for one in starred)
        else:
            assert report.distance == min(one.distance for one in found)
        in_view = [one for _, some in card.view.tiers for one in some]
        hidden = len(found) - len(in_view)
        assert sum(numbers(card.view.more_label)) == hidden
        assert [card.view.numbers[one.id] for one in in_view] == [*range(1, len(in_view) + 1)]
        for one in in_view:
            way = card.view.spoken_way(one, WORDS)
            assert numbers(way) == [one.travel.minutes]
            assert ("on foot" in way) == (one.travel.kind == "walk")
        assert numbers(card.view.footnote) == [body.total, *([len(found)] if more else [])]
        for text, same in (
            (fact.value, other.facts[0].value),
            (card.view.more_label, other.view.more_label),
            (card.view.footnote, other.view.footnote),
        ):
            said_alike(WORDS.plain(text), same, fmt)


def test_event_texts_and_counts_agree_with_the_data_in_each_language(gazetteer):
    chance = random.Random(27)
    for number in range(STAYS):
        fmt, length = FORMATTERS[number % 10], chance.choice([1, 2, 5, 8, 15])
        start = TODAY + timedelta(chance.choice([-1, 0, 3]))
        sample = events(query(gazetteer, start=str(start), days=length))
        rows = []
        for turn, one in enumerate(chance.choices(sample.events, k=chance.randint(0, 40))):
            day = start + timedelta(chance.randrange(length))
            fields = {"start": f"{day}{one.start[10:]}", "id": str(turn), "title": f"E{turn}x"}
            fields["end"] = f"{day}{one.end[10:]}" if one.end and "T" in one.end else None
            if chance.random() < 0.1:
                fields = {**fields, "category": "public_holiday", "all_day": True,
                          "start": str(day), "end": None}  # fmt: skip
            rows.append(msgspec.structs.replace(one, **fields))
        body = msgspec.structs.replace(sample, events=rows)
        card, other = (programme.card(body, words, TODAY) for words in (WORDS, fmt))
        check_holidays(body, card, other, fmt)
        for moment, same in zip(card.moments, other.moments, strict=True):
            event = rows[int(moment.title[1:-1])]
            clock = re.findall(r"\d\d:\d\d", moment.text)
            assert clock == re.findall(r"T(\d\d:\d\d)", f"{event.start} {event.end or ''}")
            said_alike(moment.text.replace("€", ""), same.text, fmt)
        dates = Stay(body.stay.start, body.stay.end)
        offered = [("events", card)]
        stay = stay_card.joined(offered, dates, TODAY, WORDS)
        if stay is None:
            assert rows == []
            continue
        by_day = {WORDS.plain(WORDS.day(event_day(e, body))): 0 for e in rows}
        for event in rows:
            by_day[WORDS.plain(WORDS.day(event_day(event, body)))] += 1
        for line in stay.dated:
            hidden = by_day[WORDS.plain(line.label)] - len(line.moments)
            assert line.more == (f"+{hidden} more" if hidden else "")
        listed = sum(len(line.moments) for line in stay.rest)
        in_view = sum(len(line.moments) for line in stay.dated)
        assert numbers(stay.rest_label) == [listed] == [len(rows) - in_view]
        again = stay_card.joined([("events", other)], dates, TODAY, fmt)
        said_alike(stay.rest_label, again.rest_label, fmt)


def event_day(event, body):
    return max(programme.day_of(event.start), body.stay.start)


def check_holidays(body, card, other, fmt) -> None:
    due = {programme.day_of(e.start) for e in body.events if e.category == "public_holiday"}
    left = sorted(day for day in due if day >= TODAY)
    assert bool(card.facts) == bool(left)
    for fact, same in zip(card.facts, other.facts, strict=True):
        said_alike(WORDS.plain(fact.value), same.value, fmt)
        text = WORDS.plain(f"{fact.value} {fact.caption}")
        assert all(WORDS.plain(WORDS.day(day)) in text for day in left)
        if len(left) > 1:
            assert numbers(fact.value) == [len(left)]


def test_header_has_nights_and_both_dates_in_each_language(gazetteer):
    chance, point = random.Random(27), gazetteer.point(43.3, -1.98)
    languages = Languages.load()
    parameters = parse(b"lat=43.3&lng=-1.98&start=2026-11-22&end=2026-11-23", WIDGET, languages)
    for number in range(STAYS):
        start = TODAY + timedelta(chance.randint(-3, 400))
        stay, fmt = Stay(start, start + timedelta(chance.randint(0, 40))), FORMATTERS[number % 10]
        head, other = (content.header(parameters, stay, point, words) for words in (WORDS, fmt))
        nights = (stay.end - stay.start).days
        assert numbers(head.nights) == ([nights] if nights else [])
        said_alike(head.nights, other.nights, fmt)
        for day in (stay.start, stay.end):
            assert day.day in numbers(head.dates)
            assert day.day in numbers(other.dates)
        noons = [datetime.combine(day, time(12), point.zone).utcoffset() for day in stay.dates()]
        changes = sum(before != after for before, after in pairwise(noons))
        assert head.zone.count("clocks go") == changes
