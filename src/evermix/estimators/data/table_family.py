"""Which family suits each column of a table: words, levels, amounts, numbers, ids of rows."""

import re
from collections.abc import Container, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from evermix._warning import warn
from evermix._xp import Floats
from evermix.estimators.data.counts import FEW, FEWEST, are_counts, followed, is_few, totals
from evermix.estimators.data.levels import folded
from evermix.estimators.data.tables import (
    Column,
    Table,
    first_word,
    is_number,
    no_numbers,
    quoted,
    without_marks,
)
from evermix.families import Bernoulli, Categorical, Mixed, ZeroInflated
from evermix.families.amounts import knee_in_group, knee_of
from evermix.families.base import Family
from evermix.families.choosing import choose
from evermix.families.dense import MAX_FULL_COVARIANCE
from evermix.families.kinds import WHOLE, alone, group
from evermix.families.often_zero import zero_inflated
from evermix.io.sources.row_numbers import REMEDY, WHAT, are_row_numbers
from evermix.io.sources.values import Columns

NAMES, UNIQUE = 50, 0.9  # rows with words of which so many are different: their names
CODES = 300  # rows with words, which are codes if there are fewer than FEWEST for each
MANY, RARE = 50, 20  # words of a column, and rows for each, below which there is a warning
TEXT = 4  # words in a value of a column of texts, on average
COUNT = "To cluster rows by such texts, count their words (CountVectorizer)."
COMMON = "Give columns whose values rows have in common, or a block for these in em.Mixed."
KEEP = "Give such a column a block in em.Mixed (em.Categorical) if it tells of clusters."
NOTHING_NEW = "Give such a column a block in em.Mixed if it tells more than the other."
EMPTY = 50  # rows of a stream without a value from which on a column is taken for an empty one
LATER = "Give such a column a block in em.Mixed if later rows have values."
MONTH = "(jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]*"
DATE = re.compile(
    r"(\d{4}([-/.])\d\d?\2\d\d?"  # 2024-05-31
    r"|\d\d?([-/.])\d\d?\3\d{4}|\d\d?([-/])\d\d?\4\d\d|\d\d\.\d\d\.\d\d"  # 31.05.2024, 5/31/24
    rf"|\d\d?\.?[- ]{MONTH}\.?[- ]\d{{4}}|{MONTH}\.? \d\d?,? \d{{4}})"  # 31 May 2024, May 31, 2024
    r"([T, ]+\d\d?:\d\d.*)?",
    re.IGNORECASE,
)


def automatic_table(X: Any, whole: bool = True) -> Mixed | None:
    """Choose blocks for the columns of a table; None if it is an array of known numbers.

    Words are categories. So are columns with few different numbers, and small counts: a Gaussian
    would open a cluster for each number. A column that is often 0 has a probability of that, and a
    family for its other numbers. Amounts of very different sizes are normal on the log scale, other
    numbers on the linear scale. Up to 32 columns of amounts and numbers share a covariance if
    nearly all rows have them; where clusters are searched for, the rows decide whether they do.
    Names and numbers of rows, dates and columns without any value are ignored. If the rows are not
    the ``whole`` table but the first of a stream, empty columns are ignored only if there are
    enough rows.
    """
    table = Table(X)
    columns = {name: _as_numbers(table.column(name)) for name in table.names}
    _check_words({name: values for name, (kind, values) in columns.items() if kind == "level"})
    kept = X.categories if isinstance(X, Columns) else ()
    columns = _used(columns, kept, empty_too=whole or len(table) >= EMPTY)
    _warn_of_many_words({name: one for name, one in columns.items() if name not in kept})
    if _is_array(columns) and not isinstance(X, Mapping) and len(columns) == len(table.names):
        return None
    return _blocks(columns, table.names)


def _used(columns: dict[str, Column], kept: Container[str], empty_too: bool) -> dict[str, Column]:
    """Return the columns that may tell of clusters, with a warning of the others.

    ``kept`` are those that are categories in any case. Columns without any value are among the
    others if ``empty_too``.
    """
    dates = [name for name, column in columns.items() if _are_dates(column)]
    some = {n: one for n, one in columns.items() if n not in kept and n not in dates}
    words = [name for name, column in some.items() if _are_names(column)]
    numbers = [name for name, column in some.items() if _are_numbers_of_rows(name, column)]
    empty = [name for name, column in columns.items() if empty_too and _is_empty(column)]
    dates = [name for name in dates if name not in empty]
    used = {n: one for n, one in columns.items() if n not in (*dates, *words, *numbers, *empty)}
    if len(empty) == len(columns):
        raise ValueError(
            f"no row has a value in any column of the table ({quoted(empty)}). Give rows with "
            "values."
        )
    if not used and (words or (numbers and dates)):
        raise ValueError(_nothing_left(columns, words))
    if not used:
        return columns
    texts = [name for name in words if _words_in(columns[name]) >= TEXT]
    codes = [name for name in words if name not in texts]
    _warn(codes, "too many different words, as names and codes do", KEEP)
    _warn(texts, "texts", COUNT)
    _warn(numbers, WHAT, REMEDY)
    _warn(empty, "no value in any row", LATER)
    _warn(dates, "dates", REMEDY)
    return used


def _blocks(columns: Mapping[str, Column], names: Sequence[str]) -> Mixed:
    """Choose blocks for columns; others of the ``names`` of all columns are ignored."""
    blocks: dict[Any, Family | ZeroInflated] = {}
    few = {n: c.values for n, c in columns.items() if c.kind == "number" and is_few(c.values)}
    many = {n: c.values for n, c in columns.items() if c.kind == "number" and n not in few}
    multiples = totals(few | many, few)
    for name, one in multiples.items():
        _warn([name], f"a multiple of column {one!r} in all rows", NOTHING_NEW)
    columns = {name: column for name, column in columns.items() if name not in multiples}
    few, many = (_without(each, multiples) for each in (few, many))
    often = zero_inflated(many)
    numbers_alone = _without(many, often)
    counts = {name: values for name, values in few.items() if are_counts(values)}
    pairs = {name: other for name in counts if (other := followed(few[name], numbers_alone))}
    knees, together = _knees(numbers_alone, few, pairs)
    while lost := [name for name in pairs if not {name, pairs[name]} <= together.keys()]:
        pairs = {name: other for name, other in pairs.items() if name not in lost}
        knees, together = _knees(numbers_alone, few, pairs)
    often |= zero_inflated(_without(numbers_alone, together), apart=True)
    knees = {name: knee for name, knee in knees.items() if name not in often}
    for name, (kind, _) in columns.items():
        if name in knees:
            continue
        if kind == "yes/no":
            blocks[name] = Bernoulli()
        elif kind in ("level", "date") or name in few:  # dates alone are refused later
            blocks[name] = Categorical()
        else:
            blocks[name] = often[name]
    found = [group(together)] if together else []
    found += [alone(name, knee) for name, knee in knees.items() if name not in together]
    ignored = tuple(name for name in names if name not in columns)
    return Mixed(blocks | {block.names: block.family for block in found}, ignored)


def _as_numbers(column: Column) -> Column:
    """Return a column of numbers if there are only marks such as ``-`` beside them."""
    if column.kind != "level" or not any(map(is_number, column.values)):
        return column
    found = without_marks(column)
    return found if found.kind == "number" else column


def _nothing_left(columns: Mapping[str, Column], words: Sequence[str]) -> str:
    """Say that no column tells of clusters, and what to do with texts."""
    nothing = f"no column of the table tells of clusters: {quoted(list(columns))} "
    if not words:
        return f"{nothing}hold dates and numbers of rows. {COMMON}"
    text = max(words, key=lambda name: _length(columns[name]))
    return (
        f"{nothing}hold dates, numbers of rows, or too many different words, as names and texts "
        f"do. If {text!r} holds texts, count their words: "
        f"em.Mixture().fit(CountVectorizer().fit_transform(table[{text!r}])), with sklearn."
        f"feature_extraction.text.CountVectorizer. Or: {COMMON[0].lower()}{COMMON[1:]}"
    )


def _length(column: Column) -> float:
    """The mean length of the words of a column."""
    return float(np.mean([len(str(value)) for value in column.values if value is not None]))


def _knees(
    numbers: Mapping[str, Floats], few: Mapping[str, Floats], pairs: Mapping[str, str]
) -> tuple[dict[str, float], dict[str, float]]:
    """The knees of columns of numbers, and of those among them that may share a covariance.

    ``pairs`` are columns of few numbers that follow another one, which are linear as that is:
    multiples are so on a linear scale.
    """
    linear = dict.fromkeys([*pairs.values(), *pairs])
    columns = {name: {**few, **numbers}[name] for name in linear} | dict(numbers)
    knees = {name: 0.0 if name in linear else knee_of(columns[name]) for name in columns}
    fits = {name for name, knee in knees.items() if knee == knee_in_group(columns[name])}
    some = {name: knee for name, knee in knees.items() if name in fits or name in linear}
    seen = _seen_together({name: columns[name] for name in sorted(some, key=lambda n: not some[n])})
    if len(seen) > MAX_FULL_COVARIANCE:
        seen = [name for name in seen if not knees[name]]
    few_enough = 1 < len(seen) <= MAX_FULL_COVARIANCE
    return knees, {name: knees[name] for name in seen} if few_enough else {}


def _seen_together(columns: Mapping[str, Floats]) -> list[str]:
    """The columns that nearly all rows hold together, without those that have most gaps."""
    left = dict(columns)
    while left and _share_seen(np.column_stack(list(left.values()))) < WHOLE:
        del left[min(left, key=lambda name: _share_seen(left[name]))]
    return list(left)


def _is_array(columns: Mapping[str, Column]) -> bool:
    """Whether columns of a table are known numbers of one kind, without levels among them."""
    kinds = {column.kind for column in columns.values()}
    if kinds == {"number"}:
        numbers = np.column_stack([column.values for column in columns.values()])
        return not (np.isnan(numbers).any() or isinstance(choose(numbers).family, Mixed))
    return kinds == {"yes/no"} and not any(np.isnan(c.values).any() for c in columns.values())


def _check_words(columns: Mapping[str, NDArray[Any]]) -> None:
    """Raise ValueError if most values of columns are numbers, too many to be levels."""
    wrong = []
    for name, values in columns.items():
        known = [value for value in values.tolist() if value is not None]
        numbers = [value for value in known if is_number(value)]
        if 2 * len(numbers) > len(known) and len(set(numbers)) > FEW:
            row = first_word(values)
            wrong.append((name, row, values[row]))
    if wrong:
        raise no_numbers(wrong)


def _are_names(column: Column) -> bool:
    """Whether words are so many different ones that they tell nothing, as names and codes are.

    The words of a few hundred rows do not tell whether later rows will have others.
    """
    known, different = _words(column)
    names = known >= NAMES and different >= UNIQUE * known
    return names or (known >= CODES and known < FEWEST * different)


def _words(column: Column) -> tuple[int, int]:
    """How many rows have a word, and how many different words there are."""
    words = [str(v) for v in column.values.tolist() if v is not None]
    return (len(words), len(set(map(folded, words)))) if column.kind == "level" else (0, 0)


def _words_in(column: Column) -> float:
    """The mean number of words in a value of a column."""
    return float(np.mean([len(str(v).split()) for v in column.values.tolist() if v is not None]))


def _are_numbers_of_rows(name: str, column: Column) -> bool:
    """Whether every row has a number of its own that names it."""
    return column.kind == "number" and are_row_numbers(name, column.values)


def _is_empty(column: Column) -> bool:
    """Whether no row has a value, as no blank cell of a file has one."""
    return all(
        value is None or value != value or (isinstance(value, str) and not value.strip())
        for value in column.values
    )


def _are_dates(column: Column) -> bool:
    """Whether values are dates, or words that read as dates."""
    if column.kind == "level":
        known = [value for value in column.values.tolist() if value is not None]
        return all(isinstance(value, str) and DATE.fullmatch(value.strip()) for value in known)
    return column.kind == "date"


def _warn(names: Sequence[str], what: str, remedy: str) -> None:
    if names:
        it = "it is" if len(names) == 1 else "they are"
        hold = "column {} holds" if len(names) == 1 else "columns {} hold"
        warn(
            f"{hold.format(quoted(names))} {what}: {it} ignored. {remedy}",
        )


def _warn_of_many_words(columns: Mapping[str, Column]) -> None:
    """Name columns of which each word is in few rows, as first names and codes are."""
    for name, column in columns.items():
        known, different = _words(column)
        if different >= MANY and known < RARE * different:
            warn(
                f"column {name!r} has {different:,} different words in {known:,} rows, so each "
                "says little of clusters. Drop the column if it names rows, as first names and "
                "codes do.",
            )


def _without(columns: Mapping[str, Floats], names: Container[str]) -> dict[str, Floats]:
    return {name: values for name, values in columns.items() if name not in names}


def _share_seen(values: Floats) -> float:
    """Share of the rows (N,) or (N, d) of which nothing is missing."""
    return float(np.mean(~np.isnan(values.reshape(len(values), -1)).any(axis=1)))
