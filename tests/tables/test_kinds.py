"""What a column is: the rules of kinds.py, one by one, and that the user's word comes first."""

import numpy as np
import pytest

pd = pytest.importorskip("pandas")

from separatrix.tables.kinds import KINDS, infer_kinds, kind_notes, kind_of  # noqa: E402
from separatrix.tables.read import read  # noqa: E402
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


MORE = {
    "id": (pd.Series(RNG.integers(0, 2500, 9000)), "identifier"),  # four rows each, 2,500 levels
    "store_id": (pd.Series(RNG.integers(0, 250, 9000)), "nominal"),  # 36 rows each
    "turned": (pd.Series(RNG.permutation(np.arange(500, 800))), "identifier"),
    "account": (pd.Series(np.cumsum(RNG.integers(1, 99, 300))), "identifier"),
    "seconds": (
        pd.Series(np.cumsum(RNG.exponential(5.0, 300))),
        "continuous",
    ),  # a measurement, however sorted
    "ties": (pd.Series(np.sort(RNG.integers(0, 10_000, 3000))), "continuous"),
    "few_rising": (pd.Series(np.cumsum(RNG.integers(1, 99, 60))), "continuous"),
    "ticket": (words([f"t{i}" for i in RNG.integers(0, 400, 500)]), "nominal"),
    "nearly": (words([f"t{min(i, 280)}" for i in range(300)]), "identifier"),
    "declared": (pd.Series(pd.Categorical([f"t{i}" for i in range(300)])), "identifier"),
}


@pytest.mark.parametrize("name", MORE)
def test_identifiers_and_what_is_none(name):
    column, kind = MORE[name]
    assert kind_of(column, name)[0] == kind


def test_what_rises_is_kept_where_it_is_all_there_is():
    rising = pd.Series(np.arange(200) ** 2)
    assert infer_kinds(pd.DataFrame({"t": rising})) == {"t": "continuous"}
    assert infer_kinds(pd.DataFrame({"t": rising, "x": RNG.normal(size=200)}))["t"] == "identifier"


def test_copies_of_the_target_are_left_out_unless_asked_for():
    y = np.array(["no", "yes", "yes"] * 40)
    frame = pd.DataFrame(
        {
            "x": RNG.normal(size=120),
            "alive": (y == "yes").astype(int),
            "boat": pd.Series(np.where(y == "yes", RNG.choice(list("abc"), 120), None), dtype="str"),
            "nearly": [*(y == "yes")[:-1], False],
            "finer": np.where(
                y == "yes", RNG.choice(["u", "v"], 120), "w"
            ),  # tells all, and more than the target
            "gaps": np.where(RNG.random(120) < 0.3, np.nan, 1.0),
        }
    )
    found = infer_kinds(frame, target=y)
    assert [name for name, kind in found.items() if kind == "leak"] == ["alive", "boat"]
    assert infer_kinds(frame, {"alive": "nominal"}, y)["alive"] == "nominal"
    assert "leak" not in infer_kinds(frame).values()
    assert infer_kinds(frame[["alive"]], target=y) == {"alive": "discrete"}  # all there is to go by
    assert infer_kinds(frame[:15], target=y[:15])["alive"] == "discrete"  # few rows prove nothing
    notes = kind_notes(frame, found, {}, y)
    assert len(notes) == 2 and "0 is always 'no', 1 always 'yes'" in notes[0]
    assert "missing in all rows of 'no' and in no other" in notes[1]
    assert all(note.endswith("'nominal'} keeps it") for note in notes)


def test_nobody_said_what_was_not_said(tmp_path):
    frame = pd.DataFrame({"id": range(90), "x": RNG.normal(size=90), "w": list("abc") * 30})
    found = infer_kinds(frame, {"w": "identifier"})
    notes = kind_notes(frame, found, {"w": "identifier"})
    assert [("as you said" in note) for note in notes] == [False, True]
    for folder, text in (("ham", "see you at noon"), ("spam", "cheap watches today")):
        (tmp_path / folder).mkdir()
        for i in range(25):
            (tmp_path / folder / f"{i}.txt").write_text(f"{text} {i}")
    notes = read(tmp_path).notes
    assert any("'file' is left out" in note for note in notes)
    assert not any("as you said" in note for note in notes)
