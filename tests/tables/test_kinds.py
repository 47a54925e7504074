"""What a column is: the rules of kinds.py, one by one, and that the user's word comes first."""

import numpy as np
import pytest

pd = pytest.importorskip("pandas")

from separatrix.tables.kinds import KINDS, infer_kinds, kind_of  # noqa: E402
from separatrix.tables.sources import TableError  # noqa: E402

N = 200
RNG = np.random.default_rng(0)


def words(values):
    return pd.Series(values, dtype="str")


COLUMNS = {
    "measure": (pd.Series(RNG.normal(size=N)), "continuous"),
    "price": (pd.Series(RNG.integers(0, 100_000, N)), "continuous"),
    "children": (pd.Series(RNG.integers(0, 6, N)), "discrete"),
    "zero_one": (pd.Series(RNG.integers(0, 2, N)), "discrete"),
    "gappy": (pd.Series(np.where(RNG.random(N) < 0.3, np.nan, RNG.integers(0, 6, N))), "discrete"),
    "colour": (words(RNG.choice(["red", "green"], N)), "nominal"),
    "flag": (pd.Series(RNG.random(N) < 0.5), "nominal"),
    "declared": (pd.Series(pd.Categorical(RNG.choice(["a", "b"], N), categories=["a", "b", "c"])), "nominal"),
    "one_and_gaps": (words(["yes", None] * (N // 2)), "nominal"),
    "zip": (pd.Series(RNG.integers(10_000, 99_999, N)), "nominal"),
    "post_code": (pd.Series(RNG.integers(10_000, 99_999, N)), "nominal"),
    "when": (pd.Series(pd.date_range("2020-01-01", periods=N)), "date"),
    "message": (words([f"please call me back about the offer {i}" for i in range(N)]), "text"),
    "slogan": (words(["please call me back about the offer"] * (N - 1) + ["no"]), "nominal"),
    "upward": (pd.Series(range(1, N + 1)), "identifier"),
    "customer_id": (pd.Series(RNG.permutation(N * 1000)[:N]), "identifier"),
    "ID": (
        pd.Series([*range(10, N), *range(20, 30)])[RNG.permutation(N)].reset_index(drop=True),
        "identifier",
    ),
    "shop_id": (pd.Series(RNG.integers(0, 60, N)), "nominal"),
    "visitorID": (pd.Series(RNG.integers(0, 400, N)), "identifier"),
    "index": (pd.Series(RNG.permutation(N)), "identifier"),
    "amount_paid": (pd.Series(RNG.permutation(N * 9)[:N]), "continuous"),
    "idle": (pd.Series(RNG.permutation(N * 9)[:N]), "continuous"),
    "name": (words([f"person-{i}" for i in range(N)]), "identifier"),
    "same": (pd.Series(3.0, index=range(N)), "constant"),
    "nothing": (pd.Series(np.nan, index=range(N)), "constant"),
}


@pytest.mark.parametrize("name", COLUMNS)
def test_rule(name):
    column, kind = COLUMNS[name]
    found, why = kind_of(column, name)
    assert found == kind and why


@pytest.mark.parametrize("name", COLUMNS)
def test_order_of_rows_does_not_matter(name):
    column, kind = COLUMNS[name]
    turned = column.sample(frac=1, random_state=1).reset_index(drop=True)
    assert kind_of(turned, name)[0] == kind


def test_few_rows_prove_no_identifier():
    frame = pd.DataFrame({"a": words(["x", "y", "z"]), "b": [1, 2, 3]})
    assert infer_kinds(frame) == {"a": "nominal", "b": "discrete"}


@pytest.mark.parametrize("kind", KINDS)
def test_what_is_said_comes_first(kind):
    frame = pd.DataFrame({name: column for name, (column, _) in COLUMNS.items()})
    given = dict.fromkeys(frame.columns, kind)
    assert infer_kinds(frame, given) == given


def test_unknown_names_and_kinds_are_refused():
    frame = pd.DataFrame({"a": [1, 2]})
    with pytest.raises(TableError, match=r"kinds\['a'\] is 'ordinal'; a kind is one of"):
        infer_kinds(frame, {"a": "ordinal"})
    with pytest.raises(TableError, match="'b', which the table lacks; it has 'a'"):
        infer_kinds(frame, {"b": "nominal"})
