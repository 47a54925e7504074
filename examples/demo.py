"""A race: logistic regression on real data by scikit-learn and by separatrix, each verdict, and what was learned.

Three bundled real sets and one large generated one are fitted by scikit-learn's default and
by separatrix's, best of three, interleaved; both answers are scored by the same objective, so a faster but worse
fit would show. Then a data set on which no estimate exists, and what the verdict says of it.
"""

from __future__ import annotations

import os
import time
import warnings
from pathlib import Path

import numpy as np
from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table
from sklearn.datasets import load_breast_cancer, load_digits, load_wine, make_classification
from sklearn.linear_model import LogisticRegression as Peer

from separatrix import LogisticRegression, SeparationWarning, verify

OUT = Path(os.environ.get("SEPARATRIX_OUT", "out"))
BLUE, ORANGE, GREEN, GREY = "#0072B2", "#E69F00", "#009E73", "#666666"


def data_sets() -> list[tuple[str, np.ndarray, np.ndarray]]:
    """Three real tables as they are (no scaling: columns differ by a factor of 10,000), and a large one."""
    large = make_classification(
        300_000, 40, n_informative=14, n_redundant=6, flip_y=0.05, class_sep=0.7, random_state=0
    )
    return [
        ("wine", *load_wine(return_X_y=True)),
        ("breast cancer", *load_breast_cancer(return_X_y=True)),
        ("digits", *load_digits(return_X_y=True)),
        ("generated", *large),
    ]


def objective(model: Peer | LogisticRegression, X: np.ndarray, y: np.ndarray) -> float:
    """Mean log loss + ½‖w‖²/(Cn), the quantity both libraries minimise."""
    log_p = model.predict_log_proba(X)[np.arange(len(y)), y]
    return float(-log_p.mean() + 0.5 * np.sum(model.coef_**2) / len(y))


def race(X: np.ndarray, y: np.ndarray, advance: object) -> tuple[Peer, LogisticRegression, float, float]:
    """Best of three of each, in turn, after a small warm-up."""
    peer, ours = Peer(max_iter=1000), LogisticRegression()
    best = [np.inf, np.inf]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        Peer().fit(X[:200], y[:200])
        LogisticRegression().fit(X[:200], y[:200])
        for _ in range(3):
            for k, model in enumerate((peer, ours)):
                began = time.perf_counter()
                model.fit(X, y)
                best[k] = min(best[k], time.perf_counter() - began)
                advance()  # type: ignore[operator]
    return peer, ours, best[0], best[1]


def duration(seconds: float) -> str:
    return f"{seconds * 1e3:.0f} ms" if seconds < 1 else f"{seconds:.2f} s"


def picture(rows: list[tuple[str, float, float]], path: Path) -> None:
    """Times of both, and the posterior of a two-column fit with its boundary."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    figure, (left, right) = plt.subplots(1, 2, figsize=(11, 4.6), layout="constrained")
    at = np.arange(len(rows))[::-1]
    left.barh(at + 0.2, [r[1] for r in rows], 0.36, color=ORANGE)
    left.barh(at - 0.2, [r[2] for r in rows], 0.36, color=BLUE)
    left.set_xscale("log")
    left.set_xlim(min(r[2] for r in rows) / 2, max(r[1] for r in rows) * 20)
    for y, (_, theirs, ours) in zip(at, rows, strict=True):
        left.text(theirs, y + 0.2, f" scikit-learn {duration(theirs)}", va="center", fontsize=9)
        left.text(ours, y - 0.2, f" separatrix {duration(ours)}", va="center", fontsize=9)
    left.set_yticks(at, [r[0] for r in rows])
    left.set_xlabel("seconds to fit (log scale)")
    left.set_title("Same objective, same or better optimum")
    left.spines[["top", "right"]].set_visible(False)

    data = load_breast_cancer()
    X, y = data.data[:, [20, 21]], data.target
    model = LogisticRegression().fit(X, y)
    x0, x1 = (np.linspace(c.min() - 0.05 * np.ptp(c), c.max() + 0.05 * np.ptp(c), 300) for c in X.T)
    grid = np.stack(np.meshgrid(x0, x1), axis=-1)
    p = model.predict_proba(grid.reshape(-1, 2))[:, 1].reshape(300, 300)
    shade = right.pcolormesh(x0, x1, p, cmap="RdBu", vmin=0, vmax=1, alpha=0.75, rasterized=True)
    right.contour(x0, x1, p, [0.1, 0.5, 0.9], colors="black", linewidths=[0.8, 2, 0.8])
    for k, (marker, name) in enumerate((("^", "malignant"), ("o", "benign"))):
        right.plot(*X[y == k].T, marker, ms=4, mfc="white", mec="black", mew=0.7, label=name)
    right.set_xlabel("worst radius")
    right.set_ylabel("worst texture")
    right.set_title("P(benign | x) with its lines at 0.1, 0.5 and 0.9")
    right.legend(loc="upper right", framealpha=1, fontsize=9)
    figure.colorbar(shade, ax=right, label="P(benign)", shrink=0.8)
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=130)


def no_estimate(console: Console) -> None:
    """A treatment that never failed: maximum likelihood has no answer, and says so."""
    rng = np.random.default_rng(3)
    age, dose = rng.normal(60, 10, 200), rng.uniform(0, 5, 200)
    treated = (rng.random(200) < 0.15).astype(float)
    survived = (rng.random(200) < 1 / (1 + np.exp(0.08 * (age - 60) - 0.3 * dose))) | (treated == 1)
    X = np.column_stack([age, dose, treated])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SeparationWarning)
        model = LogisticRegression(C=np.inf).fit(X, survived)
    console.print(
        "\n[bold]Data on which no estimate exists[/] (everyone treated survived; columns: age, dose, treated)"
    )
    console.print(str(model.verdict_), highlight=False)
    console.print(
        f"  coef_ = {np.array2string(model.coef_[0], precision=4)}   (age and dose keep their estimates)"
    )


def main() -> None:
    console = Console()
    if not console.is_terminal:
        console = Console(width=120)
    sets = data_sets()
    table = Table(title="Logistic regression, default settings, C = 1, raw columns, best of 3")
    for name in (
        "data",
        "rows × columns",
        "classes",
        "scikit-learn",
        "separatrix",
        "faster",
        "excess",
        "verdict",
    ):
        table.add_column(name, justify="left" if name in ("data", "verdict") else "right", no_wrap=True)
    rows, models = [], {}
    columns = (TextColumn("{task.description}"), BarColumn(), TimeElapsedColumn())
    with Progress(*columns, console=console, disable=not console.is_terminal) as progress:
        task = progress.add_task("fitting", total=6 * len(sets))
        for name, X, y in sets:
            progress.update(task, description=f"fitting {name} ({X.shape[0]:,} × {X.shape[1]})")
            if not console.is_terminal:
                console.print(
                    f"fitting {name} ({X.shape[0]:,} × {X.shape[1]}), scikit-learn and separatrix in turn …"
                )
            peer, ours, theirs, mine = race(X, y, lambda: progress.advance(task))
            excess = objective(peer, X, y) - objective(ours, X, y)
            rows.append((name, theirs, mine))
            models[name] = (ours, X, y)
            table.add_row(
                name, f"{X.shape[0]:,} × {X.shape[1]}", str(len(np.unique(y))), duration(theirs), duration(mine),
                f"{theirs / mine:.1f}×", f"{excess:+.0e}", f"{ours.verdict_.status}, gap {ours.verdict_.gap:.0e}",
            )  # fmt: skip
    console.print(table)
    console.print("excess: how much worse scikit-learn's answer is, under the same objective\n", style="dim")
    ours, X, y = models["generated"]
    console.print("[bold]The verdict[/]")
    console.print(str(ours.verdict_), highlight=False)
    console.print("[bold]…and again from data and parameters alone[/]")
    console.print(str(verify(ours, X, y)), highlight=False)
    no_estimate(console)
    path = OUT / "demo.png"
    picture(rows, path)
    console.print(f"\npicture written to {path}")


if __name__ == "__main__":
    main()
