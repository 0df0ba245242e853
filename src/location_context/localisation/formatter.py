"""Formatter: dates, times, numbers and units as people write them in a language, by CLDR.

A line never breaks inside a number with its unit or inside a range: these contain no-break spaces.
Ranges use an en dash, negative numbers a true minus sign.
"""

import re
from collections.abc import Iterable, Sequence
from datetime import date, datetime, time
from functools import cached_property, lru_cache

from babel import Locale, dates, numbers, units

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
    """A translated message; `format` never doubles a full stop (German `am So., 6..`)."""

    __slots__ = ()

    def format(self, *_: object, **fields: object) -> str:
        for name, value in fields.items():
            text = value if type(value) is str else str(value)
            if text[-1:] == "." and f"{{{name}}}." in self:
                text = text[:-1]
            fields[name] = text
        return str.format(self, **fields)


# cached, since formatting by CLDR takes 0.1 ms, and a page contains hundreds of such texts
@lru_cache(maxsize=10_000)
def _decimal(language: Language, value: float, digits: int) -> str:
    return numbers.format_decimal(value, _pattern(digits), language.locale)


@lru_cache(maxsize=10_000)
def _measure(language: Language, value: float, unit: str, digits: int) -> str:
    return non_breaking(
        units.format_unit(
            value, _UNITS[unit], length="short", format=_pattern(digits), locale=language.locale
        )
    )


@lru_cache(maxsize=10_000)
def _date(language: Language, day: date, pattern: str) -> str:
    return dates.format_date(day, pattern, language.locale)


@lru_cache(maxsize=10_000)
def _skeleton(language: Language, day: date, skeleton: str) -> str:
    return dates.format_skeleton(skeleton, day, locale=language.locale)


@lru_cache(maxsize=10_000)
def _time(language: Language, hour: int, minute: int) -> str:
    return non_breaking(dates.format_time(time(hour, minute), "short", locale=language.locale))


@lru_cache(maxsize=1_000)
def _percent(language: Language, value: int) -> str:
    return non_breaking(numbers.format_percent(value / 100, locale=language.locale))


@lru_cache(maxsize=10_000)
def _interval(language: Language, start: date | time, end: date | time, skeleton: str) -> str:
    return dates.format_interval(start, end, skeleton, locale=language.locale)


@lru_cache(maxsize=10_000)
def _money(language: Language, amount: float, currency: str) -> str:
    whole = amount == int(amount)
    pattern = language.locale.currency_formats["standard"].pattern
    text = numbers.format_currency(
        amount,
        currency,
        pattern.replace("0.00", "0") if whole else None,
        locale=language.locale,
        currency_digits=not whole,
    )
    return non_breaking(text)


@lru_cache(maxsize=100)
def _list_patterns(language: Language) -> tuple[str, str, str, str]:
    patterns = language.locale.list_patterns["standard"]
    return patterns["2"], patterns["start"], patterns["middle"], patterns["end"]


@lru_cache(maxsize=10_000)
def _range_in_words(language: Language, low: int, high: int) -> str:
    fmt = Formatter(language)
    if low == high:
        return fmt.temperature(high)
    degrees = fmt.temperature(high)
    if language.direction == "rtl":  # else ° would be drawn on the wrong side of its number
        degrees = _LEFT_TO_RIGHT_MARK + degrees
    text = fmt.gettext("{low} to {high}").format(low=fmt.number(low), high=degrees)
    return non_breaking(_BESIDE_IDEOGRAPH.sub(_WORD_JOINER, text))


def _pattern(digits: int) -> str:
    return "#,##0" + ("." + "0" * digits if digits else "")


class Formatter:
    """The formats and messages of one language."""

    def __init__(self, language: Language) -> None:
        self.language = language

    def gettext(self, message: str) -> Message:
        return Message(self.language.gettext(message))

    def ngettext(self, one: str, many: str, count: int) -> Message:
        return Message(self.language.ngettext(one, many, count))

    @cached_property
    def _locale(self) -> Locale:
        return self.language.locale

    @cached_property
    def _right_to_left(self) -> bool:
        return self.language.direction == "rtl"

    def number(self, value: float, digits: int = 0) -> str:
        """Return a number with exactly `digits` decimal places."""
        value = round(value, digits) + 0.0
        return self._signed(_decimal(self.language, value, digits), value=value)

    def _signed(self, text: str, *, value: float) -> str:
        if value >= 0:
            return text
        mark = _LEFT_TO_RIGHT_MARK if self._right_to_left else ""
        return mark + MINUS + text.lstrip(f"{_LEFT_TO_RIGHT_MARK}\u200f\u061c-{MINUS}")

    def percent(self, value: float) -> str:
        """Return a whole percentage such as `35%`; `value` is from 0 to 100."""
        return _percent(self.language, round(value))

    def temperature(self, value: float) -> str:
        """Return a temperature such as `21°`, without C or F, as weather pages do."""
        return f"{self.number(value)}°"

    def temperatures(self, low: float, high: float) -> str:
        """Return a range of temperatures such as `16–22°`; one number if both round to the same."""
        if round(low) == round(high):
            return self.temperature(high)
        if low < 0:
            return self.range_of(self.temperature(low), self.temperature(high))
        return f"{self.number(low)}{EN_DASH}{self.temperature(high)}"

    def temperatures_in_words(self, low: float, high: float) -> str:
        """Return a range as `16 to 22°`, where readers would take `16–22°` for a low and a high."""
        return _range_in_words(self.language, round(low), round(high))

    @staticmethod
    def spoken(text: str) -> str:
        """Return a text for screen readers, without word joiners (they prevent line breaks)."""
        return text.replace(_WORD_JOINER, "")

    @staticmethod
    def plain(text: str) -> str:
        """Return a text for JSON, without word joiners and no-break spaces."""
        return text.replace(_WORD_JOINER, "").replace(NO_BREAK, " ")

    @staticmethod
    def range_of(one: str, other: str) -> str:
        """Return a range of two texts, with spaces around the dash: `-3° – 4°`."""
        return f"{one}{NO_BREAK}{EN_DASH}{NO_BREAK}{other}"

    def measure(self, value: float, unit: str, digits: int = 0) -> str:
        """Return a number with its unit, such as `28 mm`; `unit` is a key of `_UNITS`."""
        return _measure(self.language, round(value, digits) + 0.0, unit, digits)

    def distance(self, value: float, unit: str) -> str:
        """Return a distance in `unit`, km or mi; below ten with one decimal unless it is whole.

        Below 1 km it is in metres, below 0.1 mi in feet, both in steps of 50.
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
        """Return the range of consecutive years, such as `2016–2025`."""
        return f"{years[0]}{EN_DASH}{years[-1]}" if len(years) > 1 else str(years[0])

    def minutes(self, count: int) -> str:
        return non_breaking(self.gettext("{minutes} min").format(minutes=count))

    def money(self, amount: float, currency: str) -> str:
        """Return an amount with its ISO 4217 currency, without decimals if it is whole."""
        return _money(self.language, amount, currency)

    def weekday(self, day: date) -> str:
        """Return the short name of the weekday on its own, such as `Sat`."""
        return _date(self.language, day, "ccc")

    def day(self, day: date) -> str:
        """Return weekday and day, such as `Wed 12`; enough if the month is known."""
        if "Ed" not in self._locale.datetime_skeletons or self._locale.territory == "US":
            return non_breaking(f"{self.weekday(day)} {day.day}")
        return non_breaking(_skeleton(self.language, day, "Ed"))

    def date_short(self, day: date) -> str:
        """Return weekday, day and month in short, such as `Wed 12 Aug`."""
        return non_breaking(_skeleton(self.language, day, "MMMEd"))

    def month(self, day: date) -> str:
        """Return the short name of the month on its own, such as `Aug`."""
        return _date(self.language, day, "LLL")

    def month_long(self, day: date) -> str:
        """Return the full name of the month, such as `August`."""
        # not `LLLL`: Babel 2.18 caches it for all languages in that of the first call
        return _date(self.language, day, "MMMM")

    def month_narrow(self, day: date) -> str:
        """Return the initial of the month, such as `A`, for narrow columns in calendar order."""
        return _date(self.language, day, "LLLLL")

    def date_long(self, day: date) -> str:
        """Return a date without its year in full, such as `Wednesday 12 August`."""
        return _date(self.language, day, self._full_date)

    @cached_property
    def _full_date(self) -> str:
        return _YEAR.sub("", self._locale.date_formats["full"].pattern)

    def dates(self, start: date, end: date) -> str:
        """Return a range of dates with weekdays and year, such as `Sat 8 – Sat 15 Aug 2026`."""
        if start == end:
            return _skeleton(self.language, start, "yMMMEd")
        text = _interval(self.language, start, end, "yMMMEd")
        if self._locale.language == "en" and self._locale.territory != "US":
            return text.replace(",", "")  # as CLDR writes a single date in these regions
        return text

    def date_range_long(self, start: date, end: date) -> str:
        """Return a range of dates without weekdays and year, such as `8–15 Aug`."""
        text = _interval(self.language, start, end, "MMMd")
        return non_breaking(text).replace("–", EN_DASH)

    def time(self, moment: datetime) -> str:
        return _time(self.language, moment.hour, moment.minute)

    def times(self, start: datetime, end: datetime) -> str:
        """Return a range of times such as `07:09–07:49`, or `7:09–7:49 PM` on a 12-hour clock."""
        if not self._half_days or (start.hour < 12) != (end.hour < 12):
            return f"{self.time(start)}{EN_DASH}{self.time(end)}"
        text = _interval(self.language, _clock(start), _clock(end), "hm")
        return non_breaking(text).replace(_THIN, "").replace("–", EN_DASH)

    @cached_property
    def _half_days(self) -> bool:
        return "a" in self._locale.time_formats["short"].pattern

    def bidi_isolate(self, text: str) -> str:
        """Return a name, isolated so that it cannot reorder right-to-left text around it."""
        return f"\u2068{text}\u2069" if text and self._right_to_left else text

    def moment(self, moment: datetime) -> str:
        """Return a date and time with the year, such as `4 Mar 2026, 09:40`."""
        text = _skeleton(self.language, moment.date(), "yMMMd")
        pattern = str(self._locale.datetime_formats["medium"])
        return pattern.format(self.time(moment), non_breaking(text))

    def zone(self, moment: datetime) -> str:
        """Return the time zone at a moment: `CEST (UTC+2)`, or only `UTC+2` if it has no name."""
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
        if len(texts) < 2:
            return "".join(texts)
        two, start, middle, end = _list_patterns(self.language)
        if len(texts) == 2:
            return two.format(*texts)
        joined = start.format(texts[0], texts[1])
        for text in texts[2:-1]:
            joined = middle.format(joined, text)
        return end.format(joined, texts[-1])

    @cached_property
    def word_separator(self) -> str:
        """A space, or "" in Chinese and Japanese; placed between sentences and after a colon."""
        return self.language.word_separator

    @cached_property
    def comma(self) -> str:
        """The comma of an enumeration, with the space that follows it."""
        return {"ja": "、", "zh": "、", "ar": "، "}.get(self._locale.language, ", ")

    def join_sentences(self, said: Iterable[str]) -> str:
        return self.word_separator.join(text for text in said if text)

    @staticmethod
    def capitalise(text: str) -> str:
        """Return the text with a capital first letter, such as `Mer. 12 août`, to begin a line."""
        return text[:1].upper() + text[1:]

    def country(self, code: str) -> str:
        """Return the name of a country by its two-letter ISO 3166-1 code."""
        return str(self._locale.territories.get(code, code))


def _clock(moment: datetime) -> time:
    return time(moment.hour, moment.minute)


def non_breaking(text: str) -> str:
    """Return the text with its spaces replaced by no-break spaces."""
    return text.replace(" ", NO_BREAK)
