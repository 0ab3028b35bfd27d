"""Plots as SVG, written by hand: no library is needed to draw two of them, and no script to look at them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape

_WIDTH, _HEIGHT = 760, 240
_LEFT, _RIGHT, _TOP, _BOTTOM = 80, 20, 20, 40
_BAR, _NAME = 24, 110
_INK, _MARK, _QUIET = "#2a7f62", "#b3392f", "#777"


def acks_over_time(timeline: Sequence[tuple[float, int]], moments: Sequence[tuple[float, str]]) -> str:
    """How many events are acknowledged, over seconds, with lines where something happened."""
    seconds = max([at for at, _ in timeline] + [0.1])
    most = max([count for _, count in timeline] + [1])

    def x(at: float) -> float:
        return _LEFT + at / seconds * (_WIDTH - _LEFT - _RIGHT)

    def y(count: float) -> float:
        return _HEIGHT - _BOTTOM - count / most * (_HEIGHT - _TOP - _BOTTOM)

    points = " ".join(f"{x(at):.1f},{y(count):.1f}" for at, count in timeline)
    parts = [f'<polyline points="{points}" fill="none" stroke="{_INK}" stroke-width="2"/>']
    for share in (0.0, 0.5, 1.0):
        parts.append(_line(_LEFT, y(share * most), _WIDTH - _RIGHT, y(share * most), "#ddd"))
        parts.append(_text(_LEFT - 8, y(share * most) + 4, f"{share * most:,.0f}", "end"))
        parts.append(_text(x(share * seconds), _HEIGHT - _BOTTOM + 18, f"{share * seconds:.1f} s", "middle"))
    for number, (at, what) in enumerate(moments):
        parts.append(_line(x(at), _TOP, x(at), _HEIGHT - _BOTTOM, _MARK))
        parts.append(_text(x(at) + 4, _TOP + 12 + 16 * (number % 2), what, "start", _MARK))
    return _svg(_WIDTH, _HEIGHT, "Acknowledged events over time", parts)


def rates(bars: Mapping[str, float]) -> str:
    """Events per second, a bar for each step."""
    most = max([*bars.values(), 1.0])
    parts = []
    for number, (name, rate) in enumerate(bars.items()):
        top = number * _BAR + 4
        width = rate / most * (_WIDTH - _NAME - 120)
        parts.append(_text(_NAME - 8, top + 14, name, "end"))
        parts.append(f'<rect x="{_NAME}" y="{top}" width="{width:.1f}" height="{_BAR - 6}" fill="{_INK}"/>')
        parts.append(_text(_NAME + width + 6, top + 14, f"{rate:,.0f}/s", "start"))
    return _svg(_WIDTH, len(bars) * _BAR + 8, "Events per second", parts)


def _svg(width: int, height: int, title: str, parts: Sequence[str]) -> str:
    opened = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="100%" role="img">'
    return f"{opened}<title>{escape(title)}</title>{''.join(parts)}</svg>"


def _line(x1: float, y1: float, x2: float, y2: float, colour: str) -> str:
    return f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" stroke="{colour}"/>'


def _text(x: float, y: float, text: str, anchor: str, colour: str = _QUIET) -> str:
    style = f'font-size="12" font-family="sans-serif" text-anchor="{anchor}" fill="{colour}"'
    return f'<text x="{x:.1f}" y="{y:.1f}" {style}>{escape(text)}</text>'
