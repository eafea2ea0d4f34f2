"""Reports: a model as one HTML file, which a browser shows without anything else."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from html import escape
from importlib.resources import files
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np

from evermix._words import n_listed
from evermix.io.replacing import replacing
from evermix.report.canvas import PALETTE, colours_of
from evermix.report.flow import Flow

POINTS = 400  # of a curve
NEW_ROWS = "Fit to new rows (higher is better)"
WHOLE = "Fit to the data (higher is better)"
"""Plain names of what explains rows how well; the notes of charts say what they are exactly."""
NOTES = {"log_joint": "log joint density of the draw, in nats"}  # on traces, by name
SHOWN = 8  # clusters or topics of a summary

Item = dict[str, Any]


@dataclass
class Report:
    """What a page shows; all of it is JSON-ready.

    Attributes
    ----------
    title : str
    noun, unit : str
        What the items are, and what they are made of: clusters of rows, topics of words.
    facts : dict of str to str
        On the model, by name, in plain words.
    items : list of dict
        The clusters or topics, the largest first: ``id``, ``share``, ``size``, ``words`` that name
        it, and what else is known of it.
    charts : list of dict
        Curves and bars, see :func:`curves` and :func:`bars`.
    flow : dict, optional
        Shares over time, see :meth:`Flow.to_dict`.
    tree : dict, optional
        The items joined two by two: ``merges`` of places and ``heights``.
    groups : list of dict
        Fewer, coarser topics: ``words``, ``share``, ``topics`` and ``course``, shares over time.
    map : list of (float, float)
        Where each item lies; empty for no map.
    events : list of (int, str, list of int)
        What happened to ids, and after how many rows.
    times : (list of int, list), optional
        Numbers of rows, in order, and when they came; empty if nothing is known of that.
    details : dict of str to str
        Names of the parts of the model, for those who know them.
    """

    title: str
    noun: str
    unit: str
    facts: dict[str, str]
    items: list[Item]
    charts: list[dict[str, Any]] = field(default_factory=list)
    flow: Flow | None = None
    tree: dict[str, Any] | None = None
    groups: list[dict[str, Any]] = field(default_factory=list)
    map: list[list[float]] = field(default_factory=list)
    events: list[tuple[int, str, list[int]]] = field(default_factory=list)
    times: tuple[list[int], list[Any]] = field(default_factory=lambda: ([], []))
    details: dict[str, str] = field(default_factory=dict)

    def to_page(self) -> str:
        """Return the page."""
        web = files("evermix.report") / "web"
        parts = {name: (web / name).read_text("utf-8") for name in ("style.css", "page.js")}
        parts["charts.js"] = (web / "charts.js").read_text("utf-8")
        flow = None if self.flow is None else self.flow.to_dict()
        ids = [item["id"] for item in self.items[: len(PALETTE)]] if flow is None else flow["ids"]
        values = vars(self) | {"flow": flow, "colours": colours_of(id for id in ids if id >= 0)}
        parts["title"], parts["data"] = escape(self.title), _json(values)
        page = (web / "page.html").read_text("utf-8")
        pieces = page.split("{{")
        filled = (
            parts[name] + rest for name, rest in (piece.split("}}", 1) for piece in pieces[1:])
        )
        return pieces[0] + "".join(filled)

    def write(self, path: str | Path) -> None:
        """Write the page to a file, which is replaced in one step."""
        with replacing(Path(path)) as file:
            file.write(self.to_page().encode())

    def summary(self) -> str:
        """Return a table of the largest items as HTML, for notebooks."""
        known = self.facts | self.details
        facts = " · ".join(f"{escape(name)}: {escape(text)}" for name, text in known.items())
        n = int(self.facts[f"{self.noun}s"].partition(" ")[0].replace(",", ""))  # words may follow
        lines = [
            f"<tr><td>{escape(item['name'])}</td><td>{100 * item['share']:.1f} %</td>"
            f"<td style='text-align:left'>{escape(', '.join(item['words']))}</td></tr>"
            for item in self.items[: n_listed(n, SHOWN)]
        ]
        left = n - len(lines)
        more = f"<tr><td colspan='3'>and {left:,} more</td></tr>" if left > 0 else ""
        head = f"<tr><th>{self.noun}</th><th>share</th><th>what sets it apart</th></tr>"
        return (
            f"<div><strong>{escape(self.title)}</strong><br><small>{facts}</small>"
            f"<table><thead>{head}</thead><tbody>{''.join(lines)}{more}</tbody></table></div>"
        )


def curves(
    title: str,
    xlabel: str,
    lines: Mapping[str, tuple[Any, Any]],
    *,
    dots: Sequence[str] = (),
    log: bool = False,
    steps: bool = False,
    note: str = "",
) -> dict[str, Any]:
    """Return a chart of curves (x, y) by their names.

    Those in ``dots`` are not joined; with ``log`` both axes are logarithmic, and with ``steps``
    values hold until the next one. The ``note`` says exactly what is shown.
    """
    chart: dict[str, Any] = {"title": title, "xlabel": xlabel, "log": log, "steps": steps}
    chart["note"] = note
    chart["lines"] = []
    for name, (x, y) in lines.items():
        some = np.unique(np.linspace(0, len(x) - 1, min(len(x), POINTS)).round().astype(np.int64))
        values = {"x": np.asarray(x)[some].tolist(), "y": np.asarray(y)[some].tolist()}
        chart["lines"].append({"name": name, "dots": name in dots, **values})
    return chart


def bars(title: str, values: Sequence[tuple[str, float]], note: str = "") -> dict[str, Any]:
    """Return a chart with a bar for each name, in this order."""
    return {"title": title, "note": note, "bars": [[name, value] for name, value in values]}


def traces(
    values: Mapping[str, Any],
    chain: Any,
    titles: Mapping[str, str],
    notes: Mapping[str, str] = MappingProxyType({}),
) -> list[dict[str, Any]]:
    """Return charts of numbers (M,) of all draws, a curve for each chain (M,), with notes."""
    numbers = np.unique(chain)
    return [
        curves(
            title,
            "draws",
            {
                f"chain {c}" if len(numbers) > 1 else "": (
                    np.arange(np.sum(chain == c)),
                    np.asarray(values[name])[chain == c],
                )
                for c in numbers.tolist()
            },
            note=(NOTES | {**notes}).get(name, ""),
        )
        for name, title in titles.items()
    ]


def _json(value: Any) -> str:
    """Return JSON that no part of can end the element that it stands in."""
    finite = json.loads(json.dumps(value), parse_constant=lambda _: None)
    text = json.dumps(finite, ensure_ascii=False, separators=(",", ":"))
    for sign in "<>&\u2028\u2029":
        text = text.replace(sign, f"\\u{ord(sign):04x}")
    return text
