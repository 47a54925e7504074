"""Models of real tables with R's numbers (tests/golden/glm.json, made by make_glm.R).

Real tables are Insurance, birthwt, DoctorVisits and lizards; without them those tests are skipped.
"""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from tests.models.linear.frames import fit, pd, table

GOLDEN = json.loads((Path(__file__).parents[2] / "golden" / "glm.json").read_text())


# ---- R's numbers on real tables ----


def budworm():
    """Collett (1991): moths killed out of 20, as Venables and Ripley (7.2) give them."""
    dead = [1, 4, 9, 13, 18, 20, 0, 2, 6, 10, 12, 16]
    return pd.DataFrame({"sex": ["M"] * 6 + ["F"] * 6, "ldose": list(range(6)) * 2, "dead": dead, "N": 20})


@pytest.mark.parametrize("left", ["dead/N", "cbind(dead, N - dead)", "dead/20"])
def test_budworm_as_printed(left):
    """V&R print coefficients and errors to four digits, deviances to three."""
    model = fit(f"{left} ~ sex * ldose", budworm(), "binomial")
    np.testing.assert_allclose(
        [model.intercept_, *model.coef_], [-2.9935, 0.1750, 0.9060, 0.3529], atol=5.1e-5
    )
    np.testing.assert_allclose(model.standard_errors(), [0.5527, 0.7783, 0.1671, 0.2700], atol=5.1e-5)
    assert (model.deviance_, model.null_deviance_) == (
        pytest.approx(4.9937, abs=1e-4),
        pytest.approx(124.876, abs=1e-3),
    )
    smaller = fit(f"{left} ~ sex + ldose", budworm(), "binomial")
    assert smaller.deviance_ == pytest.approx(6.757, abs=5e-4) and smaller.df_residual_ == 9


def assert_golden(model, name, rtol=1e-7):
    there = GOLDEN[name]
    beta = np.append(model.intercept_, model.coef_)
    for got, wanted in (
        (np.sort(beta), np.sort(there["coefficients"])),
        (np.sort(model.standard_errors()), np.sort(there["standard_errors"])),
    ):
        np.testing.assert_allclose(got, wanted, rtol=rtol)
    for attribute, key in (("deviance_", "deviance"), ("null_deviance_", "null_deviance"), ("aic_", "aic"),
                           ("df_residual_", "df_residual"), ("log_likelihood_", "log_likelihood")):  # fmt: skip
        assert getattr(model, attribute) == pytest.approx(there[key], rel=1e-8), key


def test_insurance():
    d = table("glm_rdatasets/Insurance")
    model = fit("Claims ~ factor(District) + Group + Age + offset(log(Holders))", d, "poisson")
    assert model.deviance_ == pytest.approx(GOLDEN["insurance"]["deviance"], rel=1e-9)
    assert model.aic_ == pytest.approx(388.7416, abs=1e-4)  # as R prints it
    named = fit("Claims ~ factor(District) + Group + Age", d, "poisson", exposure="Holders")
    np.testing.assert_allclose(model.predict(d), named.predict(d), rtol=1e-9)
    assert model.predict(d).sum() == pytest.approx(d["Claims"].sum(), rel=1e-9)  # the likelihood's balance


def test_lizards():
    d = table("separation/lizards")
    d["seen"] = d["grahami"] + d["opalinus"]
    right = "height + diameter + C(light, levels=['sunny', 'shady']) + C(time, levels=['early', 'midday', 'late'])"
    for link in ("logit", "cloglog"):
        for left in ("cbind(grahami, opalinus)", "grahami/seen"):
            assert_golden(fit(f"{left} ~ {right}", d, "binomial", link), f"lizards_{link}")


def test_birthwt():
    d = table("glm_rdatasets/birthwt")
    model = fit("low ~ age + lwt + factor(race) + smoke + ptl + ht + ui + ftv", d, "binomial")
    assert model.deviance_ == pytest.approx(201.28, abs=5e-3)  # Hosmer and Lemeshow's, and R's
    cells = d.groupby(["race", "smoke"], as_index=False).agg(k=("low", "sum"), N=("low", "size"))
    grouped = fit("k/N ~ factor(race) + smoke", cells, "binomial")
    single = fit("low ~ factor(race) + smoke", d, "binomial")
    np.testing.assert_allclose(grouped.coef_, single.coef_, rtol=1e-7)
    np.testing.assert_allclose(grouped.standard_errors(), single.standard_errors(), rtol=1e-7)


def test_doctor_visits():
    d = table("glm_rdatasets/DoctorVisits")
    formula = (
        "visits ~ C(gender, levels=['male', 'female']) + illness + reduced + health + nchronic + lchronic"
    )
    assert_golden(fit(formula, d, "poisson"), "doctor_visits")
    columns = ["visits", "gender", "illness", "reduced", "health", "nchronic", "lchronic"]
    grouped = fit(formula, d.groupby(columns, as_index=False).size(), "poisson", weights="size")
    np.testing.assert_allclose(
        grouped.standard_errors(), np.array(GOLDEN["doctor_visits"]["standard_errors"]), rtol=1e-6
    )
    assert grouped.aic_ == pytest.approx(GOLDEN["doctor_visits"]["aic"], rel=1e-8)
