"""The report: one page of HTML that needs nothing else."""

from __future__ import annotations

import importlib.metadata
import os
import platform
from collections.abc import Iterable, Sequence
from html import escape

from holdfast.demo import plots
from holdfast.demo.outcome import DemoVerdict
from holdfast.demo.story import Chapter, Story

_STYLE = """
body{font:15px/1.5 sans-serif;max-width:860px;margin:2em auto;padding:0 1em;color:#222;background:#fff}
table{border-collapse:collapse;width:100%}td,th{padding:.3em .6em;border-bottom:1px solid #ddd;text-align:left}
td.n,th.n{text-align:right;font-variant-numeric:tabular-nums}.ok{color:#2a7f62}.bad{color:#b3392f;font-weight:bold}
"""
_CLIENTS = ("holdfast", "confluent-kafka", "pyspark", "pyarrow", "numpy")


def page_of(story: Story, date: str) -> str:
    """The page; it changes with the story and the date only."""
    verdict = "Everything is as claimed." if story.holds else "Not everything is as claimed."
    drawn = {each.step.name: each.outcome.rate for each in story.chapters if each.outcome.rate}
    parts = [
        f"<h1>Holdfast: {story.events:,} events and one SIGKILL</h1>",
        f'<p class="{"ok" if story.holds else "bad"}">{verdict} It took {story.seconds:.0f} s.</p>',
        "<h2>What happened</h2>",
        _steps(story.chapters),
        "<h2>Acknowledged while the broker was killed</h2>",
        plots.acks_over_time(story.timeline, story.moments),
        "<h2>Events per second</h2>",
        plots.rates(drawn),
        "<p>Rates are those of this run, with all clients on the same machine. Those of archive and audit include the "
        "start of Spark, those of sync the start of its process.</p>",
        "<h2>What was claimed, and what was found</h2>",
        _claims(story.chapters),
        "<h2>Where</h2>",
        _table(("", ""), _surroundings(date)),
    ]
    head = f'<meta charset="utf-8"><title>Holdfast demo</title><style>{_STYLE}</style>'
    return f'<!doctype html>\n<html lang="en"><head>{head}</head><body>\n' + "\n".join(parts) + "\n</body></html>\n"


def _steps(chapters: Sequence[Chapter]) -> str:
    rows = [
        (
            each.step.name,
            each.step.does + _more(each),
            f"{each.outcome.events:,}" if each.outcome.events else "",
            f"{each.outcome.rate:,.0f}" if each.outcome.rate else "",
            f"{each.seconds:.1f}",
            each.verdict,
        )
        for each in chapters
    ]
    return _table(("step", "what", "events", "events/s", "seconds", "verdict"), rows, numbers=(2, 3, 4))


def _more(chapter: Chapter) -> str:
    facts = "; ".join(f"{name}: {value}" for name, value in chapter.outcome.facts.items())
    return "".join(f" ({each})" for each in (facts, chapter.said) if each)


def _claims(chapters: Sequence[Chapter]) -> str:
    rows = [
        (
            each.step.name,
            claim.sentence,
            claim.found,
            DemoVerdict.AS_CLAIMED if claim.holds else DemoVerdict.NOT_AS_CLAIMED,
        )
        for each in chapters
        for claim in each.outcome.claims
    ]
    return _table(("step", "claim", "found", "verdict"), rows)


def _surroundings(date: str) -> list[tuple[str, str]]:
    rows = [("date", date), ("python", platform.python_version()), ("cores", str(os.cpu_count()))]
    rows.append(("system", f"{platform.system()} {platform.release()}"))
    for name in _CLIENTS:
        try:
            rows.append((name, importlib.metadata.version(name)))
        except importlib.metadata.PackageNotFoundError:
            rows.append((name, "not installed"))
    return rows


def _table(columns: Sequence[str], rows: Iterable[Sequence[str]], numbers: Sequence[int] = ()) -> str:
    def cells(row: Sequence[str], tag: str) -> str:
        return "".join(f"<{tag}{_class(number, text)}>{escape(text)}</{tag}>" for number, text in enumerate(row))

    def _class(number: int, text: str) -> str:
        if number in numbers:
            return ' class="n"'
        if text in tuple(DemoVerdict):
            return f' class="{"ok" if text == DemoVerdict.AS_CLAIMED else "bad"}"'
        return ""

    body = "".join(f"<tr>{cells(row, 'td')}</tr>\n" for row in rows)
    return f"<table><tr>{cells(columns, 'th')}</tr>\n{body}</table>"
