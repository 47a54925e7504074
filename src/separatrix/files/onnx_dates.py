"""Dates as graph pieces:  microseconds since 1970 → year, month, weekday, hour, days (T3, O8).

    day = ⌊t/86.4e9⌋,   z = day + 719468 = 146097·era + e      days since 1 March of the year 0; 400 years an era
    y = ⌊(e − ⌊e/1460⌋ + ⌊e/36524⌋ − ⌊e/146096⌋)/365⌋          the year within the era, which begins in March
    d = e − (365y + ⌊y/4⌋ − ⌊y/100⌋),  m = ⌊(5d + 2)/153⌋       the day within that year, the month counted from March
    year = 400·era + y + [m ≥ 10],   month = (m + 2) mod 12,   weekday = (day + 3) mod 7

All in int64, and so exact for every date that 64 bits of microseconds hold (NumPy's datetime64[us]), in the Gregorian
calendar carried back. Time zones are set aside, as the encoder does: what counts is the clock of the column.
"""

from __future__ import annotations

import numpy as np

from separatrix.files.graph import MISSING, Graph

DAY = 86_400_000_000


class DateMoments:
    """The parts of a column of dates (n, 1), a missing one as the origin; asked for by the names of ``date_parts``.

    >>> g = Graph()
    >>> DateMoments(g, "when", 0).part("days") in [name for node in g.nodes for name in node.output]
    True
    """

    def __init__(self, g: Graph, column: str, origin: int):
        self.graph, self.origin = g, np.array(origin)
        self.missing = g.op("Equal", column, np.array(MISSING))
        self.safe = g.where(self.missing, self.origin, column)
        self.time = g.op("Mod", self.safe, np.array(DAY))
        past = g.both(g.op("Less", self.safe, np.array(0)), g.op("Greater", self.time, np.array(0)))
        self.day = g.sub(g.div(self.safe, np.array(DAY)), g.whole(past))  # ⌊t/DAY⌋, as Div cuts towards 0
        self._civil: tuple[str, str] | None = None

    def part(self, name: str) -> str:
        """A number of each date: float64 (n, 1)."""
        g = self.graph
        if name == "year":
            return g.double(self.civil()[0])
        if name == "days":
            return g.div(g.double(g.sub(self.safe, self.origin)), float(DAY))
        what, wave = name.split(" ")
        if what == "hour":
            angle = g.mul(g.div(g.double(self.time), 3.6e9), 2 * np.pi / 24)
            return g.op(wave.capitalize(), angle)
        period, at = (12, self.month()) if what == "month" else (7, self.weekday())
        angles = 2 * np.pi * np.arange(period) / period
        return g.take(np.sin(angles) if wave == "sin" else np.cos(angles), at)

    def month(self) -> str:
        """0 for January: int64 (n, 1)."""
        return self.civil()[1]

    def weekday(self) -> str:
        """0 for Monday: int64 (n, 1)."""
        g = self.graph
        return g.op("Mod", g.add(self.day, np.array(3)), np.array(7))

    def civil(self) -> tuple[str, str]:
        """The year and the month: int64 (n, 1)."""
        if self._civil is None:
            g = self.graph

            def over(a: str, b: int) -> str:  # of numbers that are not negative
                return g.div(a, np.array(b))

            z = g.add(self.day, np.array(719468))
            e = g.op("Mod", z, np.array(146097))
            era = over(g.sub(z, e), 146097)
            y = over(g.sub(g.add(g.sub(e, over(e, 1460)), over(e, 36524)), over(e, 146096)), 365)
            before = g.sub(g.add(g.mul(y, np.array(365)), over(y, 4)), over(y, 100))
            m = over(g.add(g.mul(g.sub(e, before), np.array(5)), np.array(2)), 153)
            late = g.whole(g.op("GreaterOrEqual", m, np.array(10)))
            year = g.add(g.add(g.mul(era, np.array(400)), y), late)
            self._civil = year, g.op("Mod", g.add(m, np.array(2)), np.array(12))
        return self._civil
