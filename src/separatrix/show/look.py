"""How every picture looks: two themes, Okabe–Ito colours, a marker and a line style to each colour.

    contrast(a, b) = (L_a + 0.05) / (L_b + 0.05),  L the relative luminance of the lighter and the darker (WCAG 2)

Text is drawn in inks whose contrast with the ground is at least 4.5. Above the axes stand, from the top: a title in
words, a caption, a row of keys; so nothing is written over the data but what names it. Row V4.
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from separatrix.data.extras import pyplot

if TYPE_CHECKING:
    from matplotlib.axes import Axes
else:
    Axes = Any  # other rooms' pictures name their axes by it, and matplotlib is loaded with the first of them

# Okabe and Ito (2008), the order so that neighbours differ in grey too
BLUE, ORANGE, GREEN, PURPLE = "#0072B2", "#E69F00", "#009E73", "#CC79A7"
SKY, RED, YELLOW = "#56B4E9", "#D55E00", "#F0E442"
MARKERS = ("o", "s", "^", "D", "v", "P", "X", "*")
DASHES: Any = ((5, 1.6), (1.2, 1.4), (6, 1.6, 1.2, 1.6), (9, 2), (3, *[1.2] * 5), (1.2, 3), (9, 2, 3, 2))
LINES: tuple[Any, ...] = ("-", *((0, dashes) for dashes in DASHES))
DASHED: Any = (0, (4, 3))  # of what is there to compare with
MOST = len(MARKERS)
SMALL, USUAL, LARGE = 8.5, 9.5, 11.0  # sizes of text


@dataclass(frozen=True)
class Theme:
    """Colours of a picture: ``colours`` for marks, ``inks`` for words in the same hues."""

    name: str
    ground: str
    ink: str
    muted: str
    frame: str
    grid: str
    colours: tuple[str, ...]
    inks: tuple[str, ...]

    def rc(self) -> dict[str, Any]:
        """The theme as matplotlib's settings."""
        return {
            "figure.facecolor": self.ground, "axes.facecolor": self.ground, "savefig.facecolor": "auto",
            "text.color": self.ink, "axes.labelcolor": self.ink, "axes.titlecolor": self.ink,
            "axes.edgecolor": self.frame, "xtick.color": self.frame, "ytick.color": self.frame,
            "xtick.labelcolor": self.muted, "ytick.labelcolor": self.muted, "grid.color": self.grid,
            "font.family": "DejaVu Sans", "mathtext.fontset": "dejavusans", "font.size": USUAL,
            "axes.titlesize": LARGE, "axes.titleweight": "bold", "axes.titlelocation": "left",
            "axes.labelsize": USUAL, "xtick.labelsize": SMALL, "ytick.labelsize": SMALL,
            "axes.spines.top": False, "axes.spines.right": False, "axes.linewidth": 0.8,
            "xtick.major.width": 0.8, "ytick.major.width": 0.8, "lines.linewidth": 1.8,
            "legend.frameon": False, "axes.formatter.useoffset": False, "axes.unicode_minus": True,
        }  # fmt: skip

    def line(self, i: int) -> dict[str, Any]:
        """Colour and dashes of the i-th line, above what stands behind it."""
        return {"color": self.colours[i], "linestyle": LINES[i], "zorder": 3}


THEMES = {
    "light": Theme(
        "light", "#FFFFFF", "#222222", "#595959", "#8A8A8A", "#E6E6E6",
        (BLUE, ORANGE, GREEN, PURPLE, SKY, RED, "#C9B800", "#444444"),
        (BLUE, "#8F6000", "#00704F", "#9B4876", "#1B6C9C", "#A84A00", "#6E6500", "#444444"),
    ),
    "dark": Theme(
        "dark", "#15181D", "#E8E8E8", "#B0B6BF", "#7C848F", "#2C3139",
        ("#3D9BE0", ORANGE, "#1FBF91", PURPLE, "#8FD0F5", "#EE7733", YELLOW, "#BDBDBD"),
        ("#5FB0EA", "#F0B030", "#2CC99B", "#DB8DB8", "#8FD0F5", "#F28A4F", YELLOW, "#C8C8C8"),
    ),
}  # fmt: skip


def luminance(colour: Any) -> float:
    """Relative luminance of a colour, 0 (black) to 1 (white)."""
    from matplotlib.colors import to_rgb

    c = np.asarray(to_rgb(colour))
    linear = np.where(c <= 0.04045, c / 12.92, ((c + 0.055) / 1.055) ** 2.4)
    return float(linear @ [0.2126, 0.7152, 0.0722])


def contrast(a: Any, b: Any) -> float:
    """(L₁ + 0.05)/(L₂ + 0.05) of the lighter and the darker colour, 1 to 21.

    >>> round(contrast("black", "white")), round(contrast("#595959", "white"), 1)
    (21, 7.0)
    """
    low, high = sorted((luminance(a), luminance(b)))
    return (high + 0.05) / (low + 0.05)


def find_theme(name: str | None, ground: Any) -> Theme:
    """The theme named, or the one that suits a ground."""
    if name is None:
        return THEMES["dark" if luminance(ground) < 0.2 else "light"]
    if name not in THEMES:
        raise ValueError(f'theme {name!r} is unknown: use "light", "dark", or None for that of the axes')
    return THEMES[name]


@contextmanager
def style(theme: str = "light") -> Iterator[None]:
    """Figures made within are in the theme, "light" or "dark", and displays drawn on their axes follow (row V4).

    >>> import matplotlib.pyplot as plt
    >>> with style("dark"):
    ...     figure = plt.figure()
    >>> figure.get_facecolor()[:3] < (0.1, 0.1, 0.1), plt.close(figure)
    (True, None)
    """
    with pyplot().rc_context(find_theme(theme, "white").rc()):
        yield


class Display:
    """A picture of something computed before: ``plot`` draws it, on new axes or on those given.

    Attributes: ``ax_``, ``figure_`` after ``plot``; ``alt_text``, a sentence or two in place of the picture.
    """

    size: tuple[float, float] = (6.0, 4.4)
    ax_: Any
    figure_: Any

    def plot(self, ax: Axes | None = None, *, theme: str | None = None) -> Any:
        """Draw on ``ax``, or on a new figure; ``theme`` "light" or "dark", None for that of the axes (or style)."""
        plt = pyplot()
        look = find_theme(theme, plt.rcParams["axes.facecolor"] if ax is None else ground_of(ax))
        with plt.rc_context(look.rc()):
            if ax is not None:
                paint(ax, look, theme is not None)
            on: Axes = plt.subplots(figsize=self.size, layout="constrained")[1] if ax is None else ax
            self.ax_, self.figure_ = on, on.figure
            self._draw(on, look)
            for one in self.figure_.axes:
                plain_ticks(one)
        return self

    @property
    def alt_text(self) -> str:
        """What the picture shows, in a sentence or two, for those who do not see it."""
        raise NotImplementedError

    def _draw(self, ax: Axes, look: Theme) -> None:
        raise NotImplementedError

    def save(self, place: Any, **options: Any) -> None:
        """Write the figure to a file (160 dots an inch); ``options`` are those of matplotlib's ``savefig``."""
        self.figure_.savefig(place, **({"dpi": 160} | options))

    def close(self) -> None:
        """Forget the figure, so that it takes no memory."""
        pyplot().close(self.figure_)


def plain_ticks(ax: Any) -> None:
    """Numbers of axes written out where matplotlib would put a factor above the axes, over what stands there."""
    from matplotlib.ticker import FuncFormatter, ScalarFormatter

    for axis in (ax.xaxis, ax.yaxis):
        if axis.get_scale() != "linear" or type(axis.get_major_formatter()) is not ScalarFormatter:
            continue
        low, high = axis.get_view_interval()
        size, wide = max(abs(low), abs(high)), abs(high - low)
        if size >= 1e5 or (0 < size < 1e-3) or (size > 0 and 0 < wide < 1e-4 * size):
            axis.set_major_formatter(FuncFormatter(lambda v, _: tick_text(float(v))))


def tick_text(value: float) -> str:
    """A number beside a tick.

    >>> tick_text(200000.0), tick_text(1.5e7), tick_text(-0.00002), tick_text(0.0)
    ('200,000', '15 M', '−2e-05', '0')
    """
    size = abs(value)
    text = (
        f"{value / 1e6:g} M"
        if 1e7 <= size < 1e12
        else f"{value:,.0f}"
        if 1e4 <= size < 1e7
        else f"{value:.4g}"
    )
    return text.replace("-", "−", 1) if value < 0 else text


def ground_of(ax: Axes) -> Any:
    """The colour behind the axes: its own, or the figure's where that is see-through."""
    face: Any = ax.get_facecolor()
    return face if face[3] > 0.5 else ax.figure.get_facecolor()


def paint(ax: Axes, look: Theme, ground: bool) -> None:
    """Axes made elsewhere in the theme's colours; with ``ground`` their face and the figure's too."""
    for side, spine in ax.spines.items():
        spine.set_color(look.frame)
        spine.set_linewidth(0.8)
        spine.set_visible(side in ("left", "bottom"))
    ax.tick_params(which="both", color=look.frame, labelcolor=look.muted, labelsize=SMALL)
    for axis in (ax.xaxis, ax.yaxis):
        axis.label.set_color(look.ink)
        axis.label.set_fontsize(USUAL)
    if ground:
        ax.set_facecolor(look.ground)
        ax.figure.set_facecolor(look.ground)


def head(ax: Axes, look: Theme, title: str, caption: str = "", keys: Sequence[Any] = ()) -> None:
    """Title, caption and keys above the axes, stacked so that none covers another or the data."""
    wide = width_of(ax)
    up = 5.0
    if keys:
        need = [0.57 * SMALL * len(k.get_label()) + 38.0 for k in keys]
        columns = len(keys)
        while columns > 1 and columns * max(need) > max(wide, 150.0) and sum(need) > max(wide, 150.0):
            columns -= 1
        lines = -(-len(keys) // columns)
        legend = ax.legend(
            handles=list(keys), loc="lower left", bbox_to_anchor=(0.0, 1.0), ncols=columns, frameon=False,
            fontsize=SMALL, borderaxespad=0.15, borderpad=0.1, handlelength=2.3, columnspacing=1.2,
            handletextpad=0.5, labelcolor=look.ink,
        )  # fmt: skip
        legend.set_zorder(8)
        up += 14.5 * lines + 2.0
    if caption:
        text = textwrap.fill(caption, max(int(wide / (0.53 * SMALL)), 24))
        ax.annotate(
            text, (0.0, 1.0), (0.0, up), xycoords="axes fraction", textcoords="offset points", va="bottom",
            fontsize=SMALL, color=look.muted, linespacing=1.25,
        )  # fmt: skip
        up += 11.5 * (text.count("\n") + 1) + 2.0
    lines_of_title = textwrap.fill(title, max(int(wide / (0.61 * LARGE)), 18))
    ax.set_title(lines_of_title, loc="left", pad=up + 1.0, fontsize=LARGE, fontweight="bold", color=look.ink)


def width_of(ax: Axes) -> float:
    """The axes' width in points; where a layout is yet to be made, about what it will give them."""
    now = ax.get_window_extent().width / ax.figure.dpi * 72.0
    place = ax.get_subplotspec() if hasattr(ax, "get_subplotspec") else None
    if place is None or ax.figure.get_layout_engine() is None:
        return float(now)
    grid = place.get_gridspec()
    shares = np.asarray(grid.get_width_ratios(), dtype=float)
    figure: Any = ax.figure
    part = shares[place.colspan.start : place.colspan.stop].sum() / shares.sum()
    whole = part * figure.get_figwidth() * 72.0
    named = max((len(label.get_text()) for label in ax.get_yticklabels()), default=0)
    return float(min(max(now, 0.78 * whole), 0.97 * whole - 0.57 * SMALL * named))


def say(
    ax: Axes, look: Theme, x: float, y: float, text: str, colour: str | None = None, **options: Any
) -> Any:
    """Text beside what it names, with an edge of the ground's colour so that it reads over lines."""
    from matplotlib import patheffects

    edge = patheffects.withStroke(linewidth=2.6, foreground=look.ground, alpha=0.92)
    settings = {"fontsize": SMALL, "zorder": 7} | options
    return ax.text(x, y, text, color=colour or look.ink, path_effects=[edge], **settings)


def key(label: str, **options: Any) -> Any:
    """A line or a mark in the row of keys."""
    from matplotlib.lines import Line2D

    return Line2D([], [], label=label, **options)


def mixed(colour: Any, ground: Any, share: float) -> tuple[float, float, float]:
    """``share`` of a colour over a ground."""
    from matplotlib.colors import to_rgb

    r, g, b = share * np.asarray(to_rgb(colour)) + (1 - share) * np.asarray(to_rgb(ground))
    return float(r), float(g), float(b)


def few_digits(value: float) -> str:
    """A number as a reader wants it: four digits, or all of a whole number below a thousand million.

    >>> few_digits(0.123456), few_digits(18424.0), few_digits(2.5e12)
    ('0.1235', '18,424', '2.5e+12')
    """
    whole = 10_000 <= abs(value) < 1e9 and value == round(value)
    return f"{value:,.0f}" if whole else f"{value:.4g}"


def limit_colours(count: int, what: str) -> None:
    """Refuse more than can be told apart."""
    if count > MOST:
        raise ValueError(
            f"{count} {what} cannot be told apart by colour and marker, {MOST} can: draw some of them, or merge"
        )
