"""Dates as people write them: 31.5.2024, 5/31/24 6:30 PM, 2024/05/31, 31 May 2024, May 2024.

Years of two digits are those from 1969 to 2068, as for Python's ``%y``. Between hyphens they are
refused, since the year may come first there.
"""

import re
from collections.abc import Iterable
from datetime import date, datetime
from typing import Any

_DATE = re.compile(r"(\d{1,2})([./-])(\d{1,2})\2(\d{4}|(?<!-)\d\d)(?:,?[ T]\s*(\S.*))?")
_YEAR_FIRST = re.compile(r"(\d{4})([./])(\d{1,2})\2(\d{1,2})(?:,?[ T]\s*(\S.*))?")
_NAMES = "jan feb mar apr may jun jul aug sep oct nov dec".split()
_MONTHS = (
    r"(jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|sept?(?:ember)?|"
    r"oct(?:ober)?|nov(?:ember)?|dec(?:ember)?)\.?"
)
_WEEKDAY = r"(?:(?:mon|tues?|wed(?:nes)?|thu(?:rs)?|fri|sat(?:ur)?|sun)(?:day)?\.?,? )?"
_DAY = r"(\d{1,2})(?:st|nd|rd|th|\.)?"
_YEAR = r"\d{4}|['’]?\d\d"
_AFTER = r"(?:(?: at|,)? \s*(\d.*))?"
_NAMED = (  # with the month in English
    re.compile(rf"{_WEEKDAY}{_DAY}[ -]{_MONTHS},?[ -]({_YEAR}){_AFTER}", re.IGNORECASE),
    re.compile(rf"{_WEEKDAY}{_MONTHS} {_DAY},? ({_YEAR}){_AFTER}", re.IGNORECASE),
)
_MONTH = re.compile(rf"{_MONTHS}(?:,? (\d{{4}})|-(\d{{4}}|\d\d)| ['’](\d\d))", re.IGNORECASE)
_SHORT = re.compile(rf"\d\d-\d{{1,2}}-\d\d|{_MONTHS} \d\d", re.IGNORECASE)
_ZONE = re.compile(r" ?(?:GMT|UTC|Z| ([+-]\d\d:?\d\d))$")
_HOURS = re.compile(r"(\d{1,2}):(\d\d)(?::(\d\d))?\s*([ap])\.?m\.?", re.IGNORECASE)
_CLOCK = re.compile(r"\d:")


def is_open(value: Any) -> bool:
    """Whether a value is a date in which either the day or the month may come first."""
    found = _DATE.fullmatch(value.strip()) if isinstance(value, str) else None
    return found is not None and found[2] != "."


def find_order(values: Iterable[Any]) -> bool | None:
    """Return whether the day comes first, by the first date with a number above 12; else None."""
    for value in values:
        if is_open(value):
            found: Any = _DATE.fullmatch(value.strip())
            first, second = int(found[1]), int(found[3])
            if max(first, second) > 12:
                return first > 12
    return None


def read_date(text: str, day_first: bool | None = None) -> date:
    """Return the date, with the time of day if there is one, that a text holds.

    Parameters
    ----------
    text : str
    day_first : bool, optional
        Whether the day comes before the month, where no dots stand between them: with dots it
        does. None: such dates raise ValueError, as does what is no date.
    """
    if found := _YEAR_FIRST.fullmatch(text):
        year, month, day = int(found[1]), int(found[3]), int(found[4])
    elif found := _DATE.fullmatch(text):
        if found[2] != "." and day_first is None:
            raise ValueError(f"either the day or the month may come first in {text!r}.")
        first, second, year = int(found[1]), int(found[3]), _year(found[4])
        day, month = (first, second) if found[2] == "." or day_first else (second, first)
    else:
        return _read_named(text)
    return _at(date(year, month, day), found[5])


def _read_named(text: str) -> date:
    """Return the date that a text with the name of a month holds."""
    if found := _NAMED[0].fullmatch(text):
        day, name = found[1], found[2]
    elif found := _NAMED[1].fullmatch(text):
        name, day = found[1], found[2]
    else:
        raise ValueError(f"expected a date, got {text!r:.60}.")
    month = _number(name)
    clock = found[4] and _ZONE.sub(lambda zone: zone[1] or "+00:00", found[4])
    return _at(date(_year(found[3]), month, int(day)), clock)


def read_month(text: str) -> date | None:
    """Return the first day of a month such as ``May 2024`` or ``May-24``; None if it is none.

    ``May 24`` is none, since it may be a day.
    """
    found = _MONTH.fullmatch(text)
    if found is None:
        return None
    return date(_year(found[2] or found[3] or found[4]), _number(found[1]), 1)


def lacks_century(text: str) -> bool:
    """Whether a text may be a date of which it is not clear what is the year."""
    return _SHORT.fullmatch(text) is not None


def _number(month: str) -> int:
    return _NAMES.index(month[:3].lower()) + 1


def _year(digits: str) -> int:
    """Return a year, of which perhaps only the last two digits are there."""
    year = int(digits.lstrip("'’"))
    return year if len(digits) == 4 else year + (1900 if year >= 69 else 2000)


def _at(day: date, clock: str | None) -> date:
    """Return a day with the time of day that a text holds."""
    if clock is None:
        return day
    if found := _HOURS.fullmatch(clock.strip()):
        hour = int(found[1])
        if not 1 <= hour <= 12:
            raise ValueError(f"expected hours from 1 to 12, got {clock!r:.60}.")
        hour = hour % 12 + 12 * (found[4].lower() == "p")
        return datetime(day.year, day.month, day.day, hour, int(found[2]), int(found[3] or 0))
    padded = f"0{clock}" if _CLOCK.match(clock) else clock
    return datetime.fromisoformat(f"{day.isoformat()}T{padded.strip()}")
