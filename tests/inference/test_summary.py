"""The printed table: every cell is where its heading says, in text, HTML, LaTeX and as a frame."""

import re
import sys
from html.parser import HTMLParser

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from separatrix.inference.summary import LEGEND, WIDTH, Summary
from tests.draws import examples

nan, inf = np.nan, np.inf


def coefficients(**other):
    """A fit of the endometrial data, one of whose weights has run away, and a column that repeats another."""
    fields = dict(
        title="LogisticRegression",
        header=(("family", "binomial"), ("link", "logit"), ("observations", "79"), ("AIC", "63.3933")),
        index=("(Intercept)", "NV", "PI", "EH", "copy"),
        columns={
            "coef": np.array([4.30452, inf, -0.04218, -2.90261, nan]),
            "se": np.array([1.6373, nan, 0.04433, 0.84555, nan]),
            "z": np.array([2.629, nan, -0.9519, -3.4328, nan]),
            "p": np.array([0.008561, nan, 0.3412, 1e-20, nan]),
            "low": np.array([1.09551, -inf, -0.12907, -4.55987, nan]),
            "high": np.array([7.51353, inf, 0.04471, -1.24537, nan]),
        },
        notes=("NV has no finite estimate.",),
    )
    return Summary(**{**fields, **other})


def cells_of(text):
    """The rows between the third rule and the last, split at two spaces or more."""
    lines = text.splitlines()
    rules = [k for k, line in enumerate(lines) if set(line) == {"─"}]
    return [re.split(r"\s{2,}", line.strip()) for line in lines[rules[-2] + 1 : rules[-1]]]


# ---- text ----


def test_the_table_as_printed():
    assert str(coefficients(labels={"low": "[0.025", "high": "0.975]"})) == "\n".join(
        [
            "LogisticRegression",
            "──────────────────────────────────────────────────────────────────",
            "family               binomial   observations                    79",
            "link                    logit   AIC                        63.3933",
            "──────────────────────────────────────────────────────────────────",
            "                 coef       se       z       p    [0.025    0.975]",
            "──────────────────────────────────────────────────────────────────",
            "(Intercept)   4.30452  1.63730   2.629  0.0086   1.09551   7.51353",
            "NV                 +∞        —       —       —        -∞        +∞",
            "PI           -0.04218  0.04433  -0.952  0.3412  -0.12907   0.04471",
            "EH           -2.90261  0.84555  -3.433  <2e-16  -4.55987  -1.24537",
            "copy                —        —       —       —         —         —",
            "──────────────────────────────────────────────────────────────────",
            "NV has no finite estimate.",
        ]
    )


def test_the_prompt_shows_the_table():
    table = coefficients()
    assert repr(table) == str(table)


def test_decimals_stand_under_each_other():
    lines = str(coefficients()).splitlines()[7:12]
    for row in lines:
        assert len(row) == len(lines[0])
    points = [[k for k, c in enumerate(row) if c == "."] for row in (lines[0], lines[2])]
    assert points[0] == points[1] and len(points[0]) == 6


def test_stars_are_those_of_r_and_only_on_request():
    columns = {"p": np.array([1e-5, 0.005, 0.03, 0.07, 0.5, nan])}
    index = tuple("abcdef")
    text = str(Summary("t", (), index, columns, stars=True))
    assert [line.split()[2:] for line in text.splitlines()[4:10]] == [["***"], ["**"], ["*"], ["."], [], []]
    assert text.endswith(LEGEND)
    assert "*" not in str(Summary("t", (), index, columns))


def test_stars_stay_beside_p_when_columns_follow():
    lines = str(coefficients(stars=True)).splitlines()
    heads, row = lines[5], lines[7]
    assert row.index("**") == row.index("0.0086") + len("0.0086") + 1
    assert heads.rstrip().endswith("high") and row.endswith("7.51353") and len(heads) == len(row)


P_VALUES = {
    0.0: "<2e-16",
    1e-16: "<2e-16",
    2.3e-16: "2.30e-16",
    9.9e-5: "9.90e-05",
    1e-4: "0.0001",
    0.34125: "0.3412",
    1.0: "1.0000",
    nan: "—",
}


@pytest.mark.parametrize("p, text", P_VALUES.items())
def test_p_values_print_as_rs(p, text):
    assert cells_of(str(Summary("t", (), ("a",), {"p": np.array([p])}))) == [["a", text]]


def test_an_analysis_of_deviance():
    table = Summary(
        "Analysis of deviance",
        (),
        ("(null)", "height", "time"),
        {
            "df": np.array([nan, 1, 2]),
            "deviance": np.array([nan, 40.1163, 3.25]),
            "resid. df": np.array([22.0, 21, 19]),
            "resid. deviance": np.array([204.2, 164.1, 160.85]),
            "p": np.array([nan, 2.4e-10, 0.197]),
        },
    )
    assert cells_of(str(table)) == [
        ["(null)", "—", "—", "22", "204.20", "—"],
        ["height", "1", "40.12", "21", "164.10", "2.40e-10"],
        ["time", "2", "3.25", "19", "160.85", "0.1970"],
    ]


def numbers(*values, **formats):
    columns = {f"c{k}": np.atleast_1d(np.asarray(v, float)) for k, v in enumerate(values)}
    index = tuple(f"r{k}" for k in range(len(columns["c0"])))
    return [row[1:] for row in cells_of(str(Summary("t", (), index, columns, formats=formats)))]


def test_a_row_decides_the_decimals_by_its_largest_number():
    """A weight near zero with an error of one half needs no more decimals than the error."""
    assert numbers([1e-12, 2.0], [0.5, 0.25]) == [["0.00000", "0.50000"], ["2.00000", "0.25000"]]


def test_rows_out_of_the_range_of_six_decimals_have_exponents():
    assert numbers([3.1e-9, 2.0]) == [["3.100e-09"], ["2.0000"]]
    assert numbers([2.5e12, 2.0]) == [["2.500e+12"], ["2.0000"]]
    assert numbers([-1.5e-5]) == [["-0.000015"]]
    assert numbers([123456.7]) == [["123456.70"]]


def test_no_negative_zero():
    assert numbers([-1e-12], [1.0]) == [["0.0000", "1.0000"]]
    assert numbers([-0.0001], c0=".2f") == [["0.00"]]


def test_formats():
    assert numbers([1234.5], [3.0], [2.5], c0=".1e", c1="count", c2="count") == [["1.2e+03", "3", "2.50"]]
    assert numbers([0.0, nan, inf, -inf]) == [["0.0000"], ["—"], ["+∞"], ["-∞"]]


@examples(60)
@given(st.lists(st.floats(allow_nan=True, allow_infinity=True, width=64), min_size=1, max_size=5))
def test_what_is_printed_is_the_number_to_the_figures_shown(values):
    for value, (text,) in zip(values, numbers(values)):
        if abs(value) > 1e307 and np.isfinite(value):
            continue  # the next number of so few figures is infinite
        if not np.isfinite(value):
            assert text == ("—" if np.isnan(value) else "+∞" if value > 0 else "-∞")
            continue
        decimals = len(text.split("e")[0].partition(".")[2])
        unit = 10.0 ** (int(text.split("e")[1]) if "e" in text else 0)
        assert abs(float(text) - value) <= 0.5000001 * unit * 10.0**-decimals
        assert len(text) <= 17


def test_notes_are_wrapped_and_names_stay_on_their_line():
    table = coefficients(notes=("word " * 60,), index=("a\nb", "c\td", " e", "f", "g"))
    lines = str(table).splitlines()
    assert max(map(len, lines)) <= WIDTH
    assert [row[0] for row in cells_of(str(table))] == ["a b", "c d", "e", "f", "g"]
    assert " ".join(lines[-4:]).count("word") == 60


def test_wide_characters_take_two_places():
    lines = str(Summary("t", (), ("模型", "ab"), {"c": np.array([1.0, 2.0])})).splitlines()
    assert lines[-3] == "模型  1.0000" and lines[-2] == "ab    2.0000"


def test_a_header_too_wide_for_two_columns_has_one():
    facts = (("a", "x" * 60), ("b", "y" * 60), ("c", "z" * 60))
    lines = str(Summary("t", facts, ("r",), {"c": np.array([1.0])})).splitlines()
    assert [line.split() for line in lines[2:5]] == [["a", "x" * 60], ["b", "y" * 60], ["c", "z" * 60]]
    assert len({len(line) for line in lines[2:5]}) == 1


def test_an_odd_header_leaves_the_last_place_free():
    lines = str(coefficients(header=(("a", "1"), ("b", "2"), ("c", "3")))).splitlines()
    assert [line.split() for line in lines[2:4]] == [["a", "1", "c", "3"], ["b", "2"]]
    assert len(lines[2]) == len(lines[1])


# ---- frame ----


def test_the_frame_has_the_numbers_unrounded():
    table = coefficients(labels={"low": "[0.025"}, stars=True)
    frame = table.to_frame()
    assert list(frame.columns) == ["coef", "se", "z", "p", "low", "high"]
    assert list(frame.index) == list(table.index)
    for name, values in table.columns.items():
        np.testing.assert_array_equal(frame[name].to_numpy(), values)


def test_without_pandas_a_sentence_says_how_to_get_it(monkeypatch):
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(ImportError, match=r'pip install "separatrix\[frames\]"'):
        coefficients().to_frame()
    assert str(coefficients())


# ---- HTML ----


class Tables(HTMLParser):
    """The cells of every table, and a check that every tag is closed in order."""

    def __init__(self, text):
        super().__init__()
        self.open, self.tables, self.text = [], [], ""
        self.feed(text)
        assert self.open == []

    def handle_starttag(self, tag, attrs):
        self.open.append(tag)
        if tag == "table":
            self.tables.append([])
        if tag == "tr":
            self.tables[-1].append([])
        if tag in ("td", "th"):
            self.tables[-1][-1].append("")

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.text += data
        if self.open[-1] in ("td", "th"):
            self.tables[-1][-1][-1] += data


def test_html_has_the_cells_of_the_text():
    table = coefficients()
    facts, body = Tables(table.to_html()).tables
    assert facts == [["family", "binomial", "observations", "79"], ["link", "logit", "AIC", "63.3933"]]
    assert body[0] == ["", *table.columns]
    text = [[re.sub("^-", "−", cell) for cell in row] for row in cells_of(str(table))]
    assert body[1:] == text
    assert table._repr_html_() == table.to_html()


def test_stars_are_a_column_of_the_html():
    plain = Tables(coefficients().to_html()).tables[1]
    starred = Tables(coefficients(stars=True).to_html()).tables[1]
    assert [row[5] for row in starred] == ["", "**", "", "", "***", ""]
    assert [row[:5] + row[6:] for row in starred] == plain


def test_html_escapes_everything():
    bad = "<script>alert('x')</script> & \""
    table = Summary(bad, ((bad, bad),), (bad,), {bad: np.array([1.0])}, (bad,), labels={bad: bad})
    text = table.to_html()
    assert "<script" not in text
    assert Tables(text).text.count(bad) == 6


def test_html_without_header_or_notes_has_one_table_and_no_list():
    text = Summary("t", (), ("r",), {"c": np.array([-1.0])}).to_html()
    assert len(Tables(text).tables) == 1 and "<li>" not in text
    assert "−1.0000" in text


# ---- LaTeX ----


def test_latex_as_written():
    table = Summary(
        "A & B",
        (("rows", "79"),),
        ("x_1", "50%", "[a]"),
        {"coef": np.array([-1.0, inf, nan]), "p": np.array([0.5, 1e-20, 2e-5])},
        ("χ² on 1 df",),
        labels={"coef": "β"},
    )
    assert table.to_latex() == "\n".join(
        [
            r"\begin{tabular}{lrr}",
            r"\toprule",
            r"\multicolumn{3}{l}{\textbf{A \& B}} \\",
            r"\midrule",
            r"& $\beta$ & p \\",
            r"\midrule",
            r"x\_1 & $-1.0000$ & 0.5000 \\",
            r"50\% & $+\infty$ & $<2\times 10^{-16}$ \\",
            r"{}[a] & --- & $2.00\times 10^{-5}$ \\",
            r"\bottomrule",
            r"\multicolumn{3}{p{0.9\linewidth}}{\footnotesize rows: 79} \\",
            r"\multicolumn{3}{p{0.9\linewidth}}{\footnotesize $\chi$$^2$ on 1 df} \\",
            r"\end{tabular}",
        ]
    )


def test_latex_leaves_no_special_character_bare():
    special = r"\ & % $ # _ { } ~ ^ < > |"
    text = Summary(special, (), (special,), {special: np.array([1.0])}).to_latex()
    title = text.splitlines()[2]
    inside = title[len(r"\multicolumn{2}{l}{\textbf{") : -len(r"}} \\")]
    assert inside == (
        r"\textbackslash{} \& \% \$ \# \_ \{ \} \textasciitilde{} \textasciicircum{} "
        r"\textless{} \textgreater{} \textbar{}"
    )


@pytest.mark.parametrize("stars", [False, True])
def test_latex_rows_have_as_many_cells_as_columns(stars):
    lines = coefficients(stars=stars).to_latex().splitlines()
    columns = re.fullmatch(r"\\begin\{tabular\}\{([lr]+)\}", lines[0])[1]
    rows = [line for line in lines if " & " in line]
    assert len(rows) == 6
    assert {len(re.split(r"(?<!\\)&", line)) for line in rows} == {len(columns)}


# ---- refusals ----


def test_what_does_not_fit_is_refused_by_name():
    with pytest.raises(ValueError, match=r"column 'b' has shape \(3,\), but there are 2 rows"):
        Summary("t", (), ("x", "y"), {"a": np.zeros(2), "b": np.zeros(3)})
    with pytest.raises(ValueError, match=r"formats names 'q': the columns are a"):
        Summary("t", (), ("x",), {"a": np.zeros(1)}, formats={"q": "p"})
    with pytest.raises(ValueError, match=r"stars mark the column p"):
        Summary("t", (), ("x",), {"a": np.zeros(1)}, stars=True)
