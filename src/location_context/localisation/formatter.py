"""Formatter: writes dates, times, numbers and units as is usual in a language.

The rules are those of Unicode's CLDR. Special characters prevent a line break between a number and
its unit, and inside a range. Ranges use an en dash, negative numbers a true minus sign.
"""

import re
from collections.abc import Callable, Hashable, Iterable, Sequence
from datetime import date, datetime, time
from functools import cached_property, lru_cache

from babel import dates, numbers, units
from babel.lists import format_list

from location_context.localisation.language import Language

NO_BREAK, MINUS = "\u00a0", "\u2212"
_WORD_JOINER = "\u2060"  # prevents a line break at its position
EN_DASH = f"\u2013{_WORD_JOINER}"
_BESIDE_IDEOGRAPH = re.compile("(?<=[\u3000-\u9fff])(?=.)|(?<=.)(?=[\u3000-\u9fff])")
_THIN = "\u2009"
_LEFT_TO_RIGHT_MARK = "\u200e"
_FEET_PER_MILE = 5280
_YEAR = re.compile(r",? ?('de' )?y年?")
_UNITS = {
    "mm": "length-millimeter",
    "cm": "length-centimeter",
    "inch": "length-inch",
    "km": "length-kilometer",
    "m": "length-meter",
    "mi": "length-mile",
    "ft": "length-foot",
    "km/h": "speed-kilometer-per-hour",
    "mph": "speed-mile-per-hour",
}


class Message(str):
    """A translated message with placeholders.

    If a value ends in a full stop and the message has another one after it, `format` writes only
    one: `am So., 6.` in German, not `am So., 6..`.
    """

    __slots__ = ()

    def format(self, *_: object, **fields: object) -> str:
        for name, value in fields.items():
            text = value if type(value) is str else str(value)
            if text[-1:] == "." and f"{{{name}}}." in self:
                text = text[:-1]
            fields[name] = text
        return str.format(self, **fields)


# cached, since formatting by CLDR takes 0.1 ms, and a page contains hundreds of such texts; values
# are positional, as keywords would take the cache twice as long
@lru_cache(maxsize=60_000)
def _written(function: Callable[..., str], *values: Hashable) -> str:
    """Return the result of Babel's `function` for these values; results are cached."""
    return function(*values)


def _pattern(digits: int) -> str:
    return "#,##0" + ("." + "0" * digits if digits else "")


class Formatter:
    """Formats values and translates messages for one language."""

    def __init__(self, language: Language) -> None:
        self.language = language
        self._locale = language.locale

    def gettext(self, message: str) -> Message:
        return Message(self.language.gettext(message))

    def ngettext(self, one: str, many: str, count: int) -> Message:
        return Message(self.language.ngettext(one, many, count))

    @cached_property
    def _right_to_left(self) -> bool:
        return self.language.direction == "rtl"

    def _date(self, day: date, pattern: str) -> str:
        return _written(dates.format_date, day, pattern, self._locale)

    def _skeleton(self, day: date, skeleton: str) -> str:
        return _written(dates.format_skeleton, skeleton, day, None, True, self._locale)

    def _interval(self, start: date | time, end: date | time, skeleton: str) -> str:
        return _written(dates.format_interval, start, end, skeleton, None, True, self._locale)

    def number(self, value: float, digits: int = 0) -> str:
        """Return a number with exactly `digits` decimal places."""
        value = round(value, digits) + 0.0
        text = _written(numbers.format_decimal, value, _pattern(digits), self._locale)
        if value >= 0:
            return text
        mark = _LEFT_TO_RIGHT_MARK if self._right_to_left else ""
        return mark + MINUS + text.lstrip(f"{_LEFT_TO_RIGHT_MARK}\u200f\u061c-{MINUS}")

    def percent(self, value: float) -> str:
        """Return a whole percentage such as `35%`; `value` is from 0 to 100."""
        share = round(value) / 100
        return non_breaking(_written(numbers.format_percent, share, None, self._locale))

    def temperature(self, value: float) -> str:
        """Return a temperature such as `21°`, without C or F, as weather pages do."""
        return f"{self.number(value)}°"

    def temperatures(self, low: float, high: float) -> str:
        """Return a range of temperatures such as `16–22°` or `-3° – 4°`.

        If both round to the same number, return one temperature such as `16°`.
        """
        if round(low) == round(high):
            return self.temperature(high)
        if low < 0:
            dash = f"{NO_BREAK}{EN_DASH}{NO_BREAK}"
            return f"{self.temperature(low)}{dash}{self.temperature(high)}"
        return f"{self.number(low)}{EN_DASH}{self.temperature(high)}"

    def temperatures_in_words(self, low: float, high: float) -> str:
        """Return a range of temperatures such as `16 to 22°`.

        Use it for a range of one value, such as the highs: `16–22°` looks like a low and a high.
        """
        degrees = self.temperature(high)
        if round(low) == round(high):
            return degrees
        if self._right_to_left:  # else ° would be drawn on the wrong side of its number
            degrees = _LEFT_TO_RIGHT_MARK + degrees
        text = self.gettext("{low} to {high}").format(low=self.number(low), high=degrees)
        return non_breaking(_BESIDE_IDEOGRAPH.sub(_WORD_JOINER, text))

    @staticmethod
    def spoken(text: str) -> str:
        """Return a text for screen readers: without word joiners.

        Word joiners are invisible characters that prevent line breaks.
        """
        return text.replace(_WORD_JOINER, "")

    @staticmethod
    def plain(text: str) -> str:
        """Return a text for JSON: without word joiners, and with spaces instead of no-break spaces.

        HTML pages need these characters to prevent line breaks; JSON does not.
        """
        return text.replace(_WORD_JOINER, "").replace(NO_BREAK, " ")

    def measure(self, value: float, unit: str, digits: int = 0) -> str:
        """Return a number with its unit, such as `28 mm`; `_UNITS` has the accepted units."""
        value, name = round(value, digits) + 0.0, _UNITS[unit]
        text = _written(units.format_unit, value, name, "short", _pattern(digits), self._locale)
        return non_breaking(text)

    def distance(self, value: float, unit: str) -> str:
        """Return a distance with its unit; `unit` is `km` or `mi`, the unit of `value`.

        Distances below ten have one decimal unless they are whole. Distances below 1 km are in
        metres, below 0.1 mi in feet, both in steps of 50.
        """
        if unit == "km" and value < 0.975:
            return self.measure(max(50, round(value * 20) * 50), "m")
        if unit == "mi" and value < 0.095:
            return self.measure(max(50, round(value * _FEET_PER_MILE / 50) * 50), "ft")
        whole = value >= 9.95 or round(value, 1) == round(value)
        return self.measure(value, unit, 0 if whole else 1)

    def duration(self, seconds: float) -> str:
        """Return a duration in hours and minutes, such as `14 h 06 min` or `2 h`."""
        hours, minutes = divmod(round(seconds / 60), 60)
        if not minutes:
            return self.gettext("{hours} h").format(hours=hours).replace(" ", NO_BREAK)
        text = self.gettext("{hours} h {minutes} min")
        return text.format(hours=hours, minutes=f"{minutes:02}").replace(" ", NO_BREAK)

    @staticmethod
    def years(years: Sequence[int]) -> str:
        """Return consecutive years as a range, such as `2016–2025`; one year as `2016`."""
        return f"{years[0]}{EN_DASH}{years[-1]}" if len(years) > 1 else str(years[0])

    def minutes(self, count: int) -> str:
        return non_breaking(self.gettext("{minutes} min").format(minutes=count))

    def money(self, amount: float, currency: str) -> str:
        """Return an amount of money, such as `€20` or `€20.50`; `currency` is an ISO 4217 code."""
        whole = amount == int(amount)
        pattern = self._locale.currency_formats["standard"].pattern
        text = _written(
            numbers.format_currency,
            amount,
            currency,
            pattern.replace("0.00", "0") if whole else None,
            self._locale,
            not whole,
        )
        return non_breaking(text)

    def weekday(self, day: date) -> str:
        """Return the short name of the weekday, such as `Sat`, for use without a date."""
        return self._date(day, "ccc")

    def day(self, day: date) -> str:
        """Return weekday and day of the month, such as `Wed 12`, for readers who know the month."""
        if "Ed" not in self._locale.datetime_skeletons or self._locale.territory == "US":
            return non_breaking(f"{self.weekday(day)} {day.day}")
        return non_breaking(self._skeleton(day, "Ed"))

    def date_short(self, day: date) -> str:
        """Return weekday, day and month with short names, such as `Wed 12 Aug`."""
        return non_breaking(self._skeleton(day, "MMMEd"))

    def month(self, day: date) -> str:
        """Return the short name of the month, such as `Aug`, for use without a day."""
        return self._date(day, "LLL")

    def month_long(self, day: date) -> str:
        """Return the full name of the month, such as `August`."""
        # not `LLLL`: Babel 2.18 caches it without the language, so later languages get the first's
        return self._date(day, "MMMM")

    def month_narrow(self, day: date) -> str:
        """Return the initial of the month, such as `A`, for narrow columns of months in order."""
        return self._date(day, "LLLLL")

    def date_long(self, day: date) -> str:
        """Return weekday, day and month with full names, such as `Wednesday 12 August`; no year."""
        return self._date(day, self._full_date)

    @cached_property
    def _full_date(self) -> str:
        return _YEAR.sub("", self._locale.date_formats["full"].pattern)

    def dates(self, start: date, end: date) -> str:
        """Return a range of dates with weekdays and year, such as `Sat 8 – Sat 15 Aug 2026`."""
        if start == end:
            return self._skeleton(start, "yMMMEd")
        text = self._interval(start, end, "yMMMEd")
        if self._locale.language == "en" and self._locale.territory != "US":
            return text.replace(",", "")  # as CLDR writes a single date in these regions
        return text

    def date_range_long(self, start: date, end: date) -> str:
        """Return a range of dates with short names of months, such as `8–15 Aug`; without year."""
        text = self._interval(start, end, "MMMd")
        return non_breaking(text).replace("–", EN_DASH)

    def time(self, moment: datetime) -> str:
        clock = time(moment.hour, moment.minute)
        return non_breaking(_written(dates.format_time, clock, "short", None, self._locale))

    def times(self, start: datetime, end: datetime) -> str:
        """Return a range of times such as `07:09–07:49`, or `7:09–7:49 PM` on a 12-hour clock."""
        if not self._half_days or (start.hour < 12) != (end.hour < 12):
            return f"{self.time(start)}{EN_DASH}{self.time(end)}"
        first, last = (time(one.hour, one.minute) for one in (start, end))
        text = self._interval(first, last, "hm")
        return non_breaking(text).replace(_THIN, "").replace("–", EN_DASH)

    @cached_property
    def _half_days(self) -> bool:
        return "a" in self._locale.time_formats["short"].pattern

    def bidi_isolate(self, text: str) -> str:
        """Return a name that can be inserted in right-to-left text without reordering that text.

        In right-to-left languages the name is put between Unicode isolate characters; in other
        languages it is returned unchanged.
        """
        return f"\u2068{text}\u2069" if text and self._right_to_left else text

    def moment(self, moment: datetime) -> str:
        """Return a date and time with the year, such as `4 Mar 2026, 09:40`."""
        text = self._skeleton(moment.date(), "yMMMd")
        pattern = str(self._locale.datetime_formats["medium"])
        return pattern.format(self.time(moment), non_breaking(text))

    def zone(self, moment: datetime) -> str:
        """Return the time zone at a moment: `CEST (UTC+2)`, or `UTC+2` if the zone has no name."""
        offset = moment.utcoffset()
        minutes = round(offset.total_seconds() / 60) if offset else 0
        hours, rest = divmod(abs(minutes), 60)
        utc = "UTC" + (f"{'+' if minutes > 0 else MINUS}{hours}" if minutes else "")
        utc += f":{rest:02}" if rest else ""
        name = dates.get_timezone_name(moment, "short", locale=self._locale)
        if not name.isalpha() or name == "UTC":
            return utc
        return f"{name}{NO_BREAK}({utc})"

    def join_list(self, texts: Sequence[str]) -> str:
        """Return the texts joined as a list, such as `a, b and c`."""
        return format_list(texts, locale=self._locale)

    @cached_property
    def comma(self) -> str:
        """The language's separator of items in a list: a comma, and a space where one is usual."""
        return {"ja": "、", "zh": "、", "ar": "، "}.get(self._locale.language, ", ")

    def join_sentences(self, said: Iterable[str]) -> str:
        return self.language.word_separator.join(text for text in said if text)

    @staticmethod
    def capitalise(text: str) -> str:
        """Return the text with a capital first letter, such as `Mer. 12 août`, to begin a line."""
        return text[:1].upper() + text[1:]

    def country(self, code: str) -> str:
        """Return a country's name by ISO 3166-1 alpha-2 code; return an unknown code unchanged."""
        return str(self._locale.territories.get(code, code))


def non_breaking(text: str) -> str:
    """Return the text with its spaces replaced by no-break spaces."""
    return text.replace(" ", NO_BREAK)
