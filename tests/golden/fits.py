"""The fits whose numbers R made (``make_glm.R``), and the one reader of their rows that R and the tests share.

    python -m tests.golden.fits FOLDER     writes FOLDER/NAME.csv and NAME.txt for R, every number to its last bit

A CSV holds y, frequency, precision, offset, group and then the columns of the design; NAME.txt says family, link and
what R shall compute. Categories are indicators of every level but the first of the order written here.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from sklearn import datasets

from benchmarks import shared


@dataclass(frozen=True)
class Table:
    """Rows of a fit: X (n, p), y (n,), and what stands beside them, each (n,) or None.

    ``frequency``: the row stands there that often (R repeats it); ``precision``: variance φV/w, trials of a
    proportion (R's ``weights``).
    """

    names: tuple[str, ...]
    X: np.ndarray
    y: np.ndarray
    frequency: np.ndarray | None = None
    precision: np.ndarray | None = None
    offset: np.ndarray | None = None
    groups: np.ndarray | None = None


@dataclass(frozen=True)
class Fit:
    """One fit: its rows, its law, and what is asked beyond coefficients, standard errors and deviances.

    ``tests`` are sets of columns tested together; ``profile`` the parameters that get a profile interval;
    ``asks`` of HC (robust covariances), rows (residuals, leverages, Cook's distances), anova (the columns of
    ``tests`` added one set after another to the rest, and all columns one by one), penalised (intervals and tests of
    Firth's likelihood); firth and softmax say of which set a fit is.
    """

    load: Callable[[], Table]
    family: str
    link: str
    tests: tuple[tuple[str, ...], ...] = ()
    profile: tuple[str, ...] = ()
    asks: tuple[str, ...] = ()
    size: float | None = None
    power: float | None = None
    fit_intercept: bool = True
    bundled: bool = False


# ---- columns ----


def indicators(column: Any, levels: Sequence[Any], name: str) -> dict[str, np.ndarray]:
    """0/1 columns of every level but the first; a level that is not listed is an error."""
    values = np.asarray(column)
    missing = set(np.unique(values).tolist()) - set(levels)
    if missing:
        raise ValueError(f"column {name!r} has the level {missing.pop()!r}, which is not listed")
    return {f"{name}={level}": (values == level).astype(float) for level in levels[1:]}


def build(columns: dict[str, Any], y: Any, **beside: Any) -> Table:
    X = np.column_stack([np.asarray(c, dtype=float) for c in columns.values()])
    rest = {k: np.asarray(v, dtype=float) for k, v in beside.items()}
    return Table(tuple(columns), np.ascontiguousarray(X), np.asarray(y, dtype=float), **rest)


def collapsed(table: Table) -> Table:
    """Equal rows once, with their number as frequency."""
    rows, count = np.unique(np.column_stack([table.X, table.y]), axis=0, return_counts=True)
    X = np.ascontiguousarray(rows[:, :-1])
    return Table(table.names, X, rows[:, -1].copy(), frequency=count.astype(float))


def chosen(frame: Any, *names: str) -> dict[str, Any]:
    return {name: frame[name] for name in names}


# ---- scikit-learn's own sets ----


@cache
def bundled(name: str) -> pd.DataFrame:
    options: dict[str, Any] = {"scaled": False} if name == "diabetes" else {}
    bunch = getattr(datasets, f"load_{name}")(as_frame=True, **options)
    return bunch.frame


def diabetes() -> Table:
    frame = bundled("diabetes")
    return build(dict(frame.drop(columns="target")), frame["target"], groups=frame["age"])


def diabetes_few() -> Table:
    frame = bundled("diabetes")
    return build(chosen(frame, "sex", "bmi", "bp", "s3", "s5"), frame["target"])


def breast_cancer() -> Table:
    frame = bundled("breast_cancer")
    columns = chosen(frame, "mean texture", "mean smoothness", "mean symmetry", "texture error")
    return build(columns, frame["target"])


def iris() -> Table:
    frame = bundled("iris")
    columns = {
        "sepal length": frame["sepal length (cm)"],
        "sepal width": frame["sepal width (cm)"],
        **indicators(frame["target"], (0, 1, 2), "species"),
    }
    return build(columns, frame["petal length (cm)"])


def linnerud_chins() -> Table:
    frame = bundled("linnerud")
    return build(chosen(frame, "Weight", "Waist", "Pulse"), frame["Chins"])


def linnerud_situps() -> Table:
    frame = bundled("linnerud")
    return build(chosen(frame, "Weight", "Waist", "Pulse"), frame["Situps"])


def iris_sepal() -> Table:
    frame = bundled("iris")
    columns = {
        "sepal width": frame["sepal width (cm)"],
        "petal width": frame["petal width (cm)"],
        **indicators(frame["target"], (0, 1, 2), "species"),
    }
    return build(columns, frame["sepal length (cm)"])


def iris_classes() -> Table:
    frame = bundled("iris")
    return build({f"x{j}": frame.iloc[:, j] for j in range(4)}, frame["target"])


def wine_classes() -> Table:
    frame = bundled("wine")
    return build(chosen(frame, "malic_acid", "ash", "magnesium"), frame["target"])


# ---- tables beside the project ----


def bodyfat() -> Table:
    frame = shared.table("bodyfat")
    return build(chosen(frame, "Age", "Height", "Neck", "Abdomen", "Wrist"), frame["Weight"])


def auto_mpg() -> Table:
    frame = shared.table("auto_mpg").dropna()
    columns = {
        **chosen(frame, "displacement", "horsepower", "weight", "acceleration"),
        **indicators(frame["origin"], (1, 2, 3), "origin"),
    }
    return build(columns, frame["class"])


def auto_mpg_few() -> Table:
    table = auto_mpg()
    keep = [2, 4, 5]
    return build({table.names[j]: table.X[:, j] for j in keep}, table.y)


@cache
def abalone_frame() -> pd.DataFrame:
    frame = shared.table("abalone")
    return frame.rename(columns={frame.columns[0]: "Sex", frame.columns[-1]: "Rings"})


def abalone_means() -> Table:
    """Mean number of rings by sex and length (to 0.05), whose variances are as one over the number of animals."""
    frame = abalone_frame()
    length = (frame["Length"] * 20).round() / 20
    cells = frame.groupby([frame["Sex"], length])["Rings"].agg(["mean", "size"]).reset_index()
    columns = {
        **indicators(cells["Sex"], ("F", "I", "M"), "sex"),
        "length": cells["Length"],
        "length²": cells["Length"] ** 2,
    }
    return build(columns, cells["mean"], precision=cells["size"])


def abalone() -> Table:
    frame = abalone_frame()
    columns = {
        **indicators(frame["Sex"], ("F", "I", "M"), "sex"),
        **chosen(frame, "Diameter", "Height"),
    }
    return build(columns, frame["Rings"])


def birthwt() -> Table:
    frame = shared.table("glm_rdatasets/birthwt")
    columns = {
        **chosen(frame, "age", "lwt"),
        **indicators(frame["race"], (1, 2, 3), "race"),
        **chosen(frame, "smoke", "ht", "ui"),
    }
    return build(columns, frame["low"])


def birthwt_cells() -> Table:
    frame = shared.table("glm_rdatasets/birthwt")
    columns = {**indicators(frame["race"], (1, 2, 3), "race"), **chosen(frame, "smoke", "ht", "ui")}
    return collapsed(build(columns, frame["low"]))


def default() -> Table:
    frame = shared.table("glm_rdatasets/Default")
    columns = {**indicators(frame["student"], ("No", "Yes"), "student"), **chosen(frame, "balance", "income")}
    return build(columns, frame["default"] == "Yes")


def pima() -> Table:
    frame = shared.table("pima")
    return build(chosen(frame, "preg", "plas", "mass", "pedi", "age"), frame["class"] == "tested_positive")


def lizards() -> Table:
    frame = shared.table("separation/lizards")
    total = frame["grahami"] + frame["opalinus"]
    columns = {
        **indicators(frame["height"], ("<5ft", ">=5ft"), "height"),
        **indicators(frame["diameter"], ("<=2in", ">2in"), "diameter"),
        **indicators(frame["light"], ("sunny", "shady"), "light"),
        **indicators(frame["time"], ("early", "midday", "late"), "time"),
    }
    return build(columns, frame["grahami"] / total, precision=total)


def endometrial() -> Table:
    frame = shared.table("separation/endometrial")
    return build(chosen(frame, "NV", "PI", "EH"), frame["HG"])


def epil() -> Table:
    frame = shared.table("glm_rdatasets/epil")
    treated = (frame["trt"] == "progabide").astype(float)
    columns = {
        "lbase": frame["lbase"],
        "treated": treated,
        "lbase:treated": frame["lbase"] * treated,
        **chosen(frame, "lage", "V4"),
    }
    return build(columns, frame["y"], groups=frame["subject"])


def insurance() -> Table:
    frame = shared.table("glm_rdatasets/Insurance")
    columns = {
        **indicators(frame["District"], (1, 2, 3, 4), "district"),
        **indicators(frame["Group"], ("<1l", "1-1.5l", "1.5-2l", ">2l"), "group"),
        **indicators(frame["Age"], ("<25", "25-29", "30-35", ">35"), "age"),
    }
    return build(columns, frame["Claims"], offset=np.log(frame["Holders"]))


def nmes() -> Table:
    frame = shared.table("glm_rdatasets/NMES1988")
    columns = {
        "hospital": frame["hospital"],
        **indicators(frame["health"], ("average", "poor", "excellent"), "health"),
        "chronic": frame["chronic"],
        **indicators(frame["gender"], ("female", "male"), "gender"),
        "school": frame["school"],
        **indicators(frame["insurance"], ("no", "yes"), "insurance"),
    }
    return build(columns, frame["visits"])


def doctor_visits() -> Table:
    frame = shared.table("glm_rdatasets/DoctorVisits")
    columns = {
        **indicators(frame["gender"], ("male", "female"), "gender"),
        **chosen(frame, "illness", "reduced", "health"),
        **indicators(frame["nchronic"], ("no", "yes"), "nchronic"),
        **indicators(frame["lchronic"], ("no", "yes"), "lchronic"),
    }
    return collapsed(build(columns, frame["visits"]))


def quine() -> Table:
    frame = shared.table("glm_rdatasets/quine")
    columns = {
        **indicators(frame["Eth"], ("A", "N"), "eth"),
        **indicators(frame["Sex"], ("F", "M"), "sex"),
        **indicators(frame["Age"], ("F0", "F1", "F2", "F3"), "age"),
        **indicators(frame["Lrn"], ("AL", "SL"), "lrn"),
    }
    return build(columns, frame["Days"])


def quine_few() -> Table:
    table = quine()
    keep = [0, 1, 5]
    return build({table.names[j]: table.X[:, j] for j in keep}, table.y)


@cache
def claims() -> pd.DataFrame:
    """Every policy of freMTPL2 with the sum and the number of its paid claims."""
    amounts = shared.table("freMTPL2/freMTPL2sev").groupby("IDpol")["ClaimAmount"].agg(["sum", "size"])
    frame = shared.table("freMTPL2/freMTPL2freq").set_index("IDpol").join(amounts)
    return frame.fillna({"sum": 0.0, "size": 0.0})


def severity() -> Table:
    """Mean claim, whose variance is as one over the number of claims, of one policy in 19 of those with any."""
    frame = claims()
    frame = frame[frame["size"] > 0].iloc[::19]
    columns = {
        "age": frame["DrivAge"],
        "vehicle age": frame["VehAge"],
        "malus": frame["BonusMalus"],
        **indicators(frame["VehGas"], ("Regular", "Diesel"), "gas"),
    }
    region = np.unique(frame["Region"], return_inverse=True)[1]
    return build(columns, frame["sum"] / frame["size"], precision=frame["size"], groups=region)


def premium() -> Table:
    """Claims in hundreds by year of one policy in 150, weighted by the years."""
    frame = claims().iloc[::150]
    columns = {
        "log density": np.log(frame["Density"]),
        "vehicle age": frame["VehAge"],
        "malus": frame["BonusMalus"],
        **indicators(frame["VehGas"], ("Regular", "Diesel"), "gas"),
    }
    return build(columns, frame["sum"] / 100 / frame["Exposure"], precision=frame["Exposure"])


def wine_quality() -> Table:
    """Red wines in three classes: up to 5, 6, and 7 or more points."""
    frame = shared.table("wine_quality/winequality-red")
    columns = chosen(frame, "volatile_acidity", "chlorides", "total_so2", "sulphates", "alcohol")
    return build(columns, np.clip(frame["quality"] - 5, 0, 2))


HC, ROWS, ANOVA = "HC", "rows", "anova"
INTERCEPT = "(Intercept)"

FITS: dict[str, Fit] = {
    # scikit-learn's own sets
    "diabetes_gaussian": Fit(
        diabetes,
        "gaussian",
        "identity",
        tests=(("sex",), ("s1", "s2", "s3")),
        profile=("bmi", "s3"),
        asks=(HC, ANOVA),
        bundled=True,
    ),
    "diabetes_gaussian_log": Fit(
        diabetes_few, "gaussian", "log", tests=(("sex", "s3"),), profile=("bmi",), asks=(HC,), bundled=True
    ),
    "diabetes_gamma_log": Fit(
        diabetes_few,
        "gamma",
        "log",
        tests=(("sex",), ("bp", "s3")),
        profile=("sex", "s5"),
        asks=(HC, ANOVA),
        bundled=True,
    ),
    "diabetes_inverse_gaussian_log": Fit(
        diabetes_few,
        "inverse_gaussian",
        "log",
        tests=(("bp", "s3"),),
        profile=("s3",),
        asks=(HC,),
        bundled=True,
    ),
    "breast_cancer_logit": Fit(
        breast_cancer,
        "binomial",
        "logit",
        tests=(("mean symmetry",), ("mean smoothness", "mean symmetry")),
        profile=("mean texture", "mean symmetry"),
        asks=(HC, ANOVA),
        bundled=True,
    ),
    "breast_cancer_probit": Fit(
        breast_cancer,
        "binomial",
        "probit",
        tests=(("mean symmetry", "texture error"),),
        profile=("mean texture",),
        asks=(HC,),
        bundled=True,
    ),
    "breast_cancer_cloglog": Fit(
        breast_cancer,
        "binomial",
        "cloglog",
        tests=(("texture error",),),
        profile=("mean smoothness",),
        asks=(HC,),
        bundled=True,
    ),
    "iris_gaussian_log": Fit(
        iris,
        "gaussian",
        "log",
        tests=(("species=1", "species=2"),),
        profile=(INTERCEPT, "sepal width"),
        asks=(HC, ROWS),
        bundled=True,
    ),
    "linnerud_poisson": Fit(
        linnerud_chins,
        "poisson",
        "log",
        tests=(("Weight",), ("Waist", "Pulse"), (INTERCEPT,)),
        profile=(INTERCEPT, "Weight", "Waist", "Pulse"),
        asks=(HC, ROWS),
        bundled=True,
    ),
    "linnerud_poisson_sqrt": Fit(
        linnerud_situps, "poisson", "sqrt", tests=(("Pulse",),), profile=("Weight", "Pulse"), bundled=True
    ),
    "iris_inverse_gaussian": Fit(
        iris_sepal,
        "inverse_gaussian",
        "inverse_squared",
        tests=(("sepal width",), ("species=1", "species=2")),
        profile=("petal width",),
        asks=(HC,),
        bundled=True,
    ),
    "iris_gamma_inverse": Fit(
        iris_sepal,
        "gamma",
        "inverse",
        tests=(("petal width",),),
        profile=("sepal width", "species=1"),
        asks=(HC,),
        bundled=True,
    ),
    # tables beside the project
    "bodyfat_origin": Fit(
        bodyfat,
        "gaussian",
        "identity",
        tests=(("Age", "Wrist"),),
        profile=("Age",),
        asks=(HC,),
        fit_intercept=False,
    ),
    "auto_mpg_gaussian_inverse": Fit(
        auto_mpg,
        "gaussian",
        "inverse",
        tests=(("acceleration",), ("origin=2", "origin=3")),
        profile=("weight",),
        asks=(HC,),
    ),
    "abalone_means": Fit(
        abalone_means,
        "gaussian",
        "identity",
        tests=(("sex=I", "sex=M"),),
        profile=("sex=M", "length²"),
        asks=(HC, ROWS),
    ),
    "auto_mpg_inverse_gaussian": Fit(
        auto_mpg_few,
        "inverse_gaussian",
        "inverse_squared",
        tests=(("origin=2", "origin=3"),),
        profile=("weight",),
        asks=(HC,),
    ),
    "auto_mpg_gamma_inverse": Fit(
        auto_mpg, "gamma", "inverse", tests=(("acceleration",),), profile=("horsepower",), asks=(HC,)
    ),
    "abalone_gamma_log": Fit(
        abalone, "gamma", "log", tests=(("sex=I", "sex=M"),), profile=("Height",), asks=(HC,)
    ),
    "birthwt_logit": Fit(
        birthwt,
        "binomial",
        "logit",
        tests=(("age",), ("race=2", "race=3")),
        profile=(INTERCEPT, "age", "lwt", "race=2", "race=3", "smoke", "ht", "ui"),
        asks=(HC, ANOVA),
    ),
    "birthwt_cells": Fit(
        birthwt_cells,
        "binomial",
        "logit",
        tests=(("race=2", "race=3"), ("ui",)),
        profile=("ht",),
        asks=(HC,),
    ),
    "default_logit": Fit(
        default,
        "binomial",
        "logit",
        tests=(("income",), ("student=Yes",)),
        profile=("student=Yes",),
        asks=(HC,),
    ),
    "pima_probit": Fit(pima, "binomial", "probit", tests=(("age",),), profile=("age",), asks=(HC,)),
    "lizards_logit": Fit(
        lizards,
        "binomial",
        "logit",
        tests=(("time=midday", "time=late"), ("light=shady",)),
        profile=(INTERCEPT, "height=>=5ft", "diameter=>2in", "light=shady", "time=midday", "time=late"),
        asks=(HC, ROWS, ANOVA),
    ),
    "lizards_cloglog": Fit(
        lizards,
        "binomial",
        "cloglog",
        tests=(("time=midday", "time=late"),),
        profile=("time=late",),
        asks=(HC,),
    ),
    "epil_poisson": Fit(
        epil,
        "poisson",
        "log",
        tests=(("lbase:treated",), ("treated", "lbase:treated")),
        profile=("treated", "V4"),
        asks=(HC,),
    ),
    "insurance": Fit(
        insurance,
        "poisson",
        "log",
        tests=(("district=2", "district=3", "district=4"), ("age=>35",)),
        profile=(INTERCEPT, "district=4"),
        asks=(HC, ANOVA),
    ),
    "nmes_poisson": Fit(
        nmes, "poisson", "log", tests=(("health=poor", "health=excellent"),), profile=("school",), asks=(HC,)
    ),
    "doctor_visits": Fit(
        doctor_visits,
        "poisson",
        "log",
        tests=(("nchronic=yes", "lchronic=yes"),),
        profile=("health",),
        asks=(HC,),
    ),
    "quine_negative_binomial": Fit(
        quine,
        "negative_binomial",
        "log",
        size=1.2749,
        tests=(("sex=M",), ("age=F1", "age=F2", "age=F3")),
        profile=("eth=N", "lrn=SL"),
        asks=(HC, ROWS),
    ),
    "quine_poisson_identity": Fit(
        quine_few, "poisson", "identity", tests=(("sex=M",),), profile=("sex=M", "lrn=SL"), asks=(HC,)
    ),
    "severity_gamma": Fit(
        severity, "gamma", "log", tests=(("age", "malus"),), profile=("vehicle age",), asks=(HC,)
    ),
    "premium_tweedie": Fit(
        premium,
        "tweedie",
        "log",
        power=1.5,
        tests=(("malus",), ("gas=Diesel",)),
        profile=("malus",),
        asks=(HC,),
    ),
}

FIRTH: dict[str, Fit] = {
    "endometrial": Fit(
        endometrial,
        "binomial",
        "logit",
        tests=(("NV",), ("PI", "EH")),
        profile=(INTERCEPT, "NV", "PI", "EH"),
        asks=("firth", "penalised"),
    ),
    "lizards": Fit(lizards, "binomial", "logit", asks=("firth",)),
    "birthwt": Fit(birthwt, "binomial", "logit", asks=("firth",)),
    "breast_cancer": Fit(
        breast_cancer,
        "binomial",
        "logit",
        tests=(("mean symmetry",),),
        profile=("mean symmetry",),
        asks=("firth", "penalised"),
        bundled=True,
    ),
    "insurance": Fit(insurance, "poisson", "log", asks=("firth",)),
    "linnerud": Fit(
        linnerud_chins,
        "poisson",
        "log",
        tests=(("Weight",), ("Waist", "Pulse")),
        profile=("Weight", "Waist"),
        asks=("firth", "penalised"),
        bundled=True,
    ),
}

SOFTMAX: dict[str, Fit] = {
    "wine": Fit(
        wine_classes,
        "softmax",
        "logit",
        tests=(("ash",), ("malic_acid", "magnesium")),
        profile=("ash",),
        asks=("softmax",),
        bundled=True,
    ),
    "wine_quality": Fit(
        wine_quality,
        "softmax",
        "logit",
        tests=(("chlorides",),),
        profile=("chlorides",),
        asks=("softmax",),
    ),
}

# iris is separated: only the penalised likelihood has a maximum
FIRTH_SOFTMAX: dict[str, Fit] = {
    "wine": Fit(wine_classes, "softmax", "logit", asks=("firth", "softmax"), bundled=True),
    "iris": Fit(iris_classes, "softmax", "logit", asks=("firth", "softmax"), bundled=True),
}

SETS = {"glm": FITS, "firth": FIRTH, "softmax": SOFTMAX, "firth_softmax": FIRTH_SOFTMAX}


def export(folder: Path) -> None:
    """Every fit as NAME.csv and NAME.txt in a folder of its set."""
    for kind, fits in SETS.items():
        place = folder / kind
        place.mkdir(parents=True, exist_ok=True)
        for name, fit in fits.items():
            table = fit.load()
            blank = np.full(len(table.y), np.nan)
            beside = [table.frequency, table.precision, table.offset, table.groups]
            cells = [table.y, *(blank if b is None else b for b in beside), *table.X.T]
            head = ["y", "frequency", "precision", "offset", "group"]
            head += [f"x{j + 1}" for j in range(table.X.shape[1])]
            np.savetxt(
                place / f"{name}.csv",
                np.column_stack(cells),
                fmt="%.17g",
                delimiter=",",
                header=",".join(head),
                comments="",
            )
            number = {n: str(j + 1) for j, n in enumerate(table.names)} | {INTERCEPT: "0"}
            spec = {
                "family": fit.family,
                "link": fit.link,
                "size": fit.size if fit.size is not None else "NA",
                "power": fit.power if fit.power is not None else "NA",
                "intercept": int(fit.fit_intercept),
                "tests": ";".join(" ".join(number[c] for c in columns) for columns in fit.tests),
                "profile": " ".join(number[c] for c in fit.profile),
                "asks": " ".join(fit.asks),
            }
            (place / f"{name}.txt").write_text("".join(f"{k},{v}\n" for k, v in spec.items()))


if __name__ == "__main__":
    export(Path(sys.argv[1]))
