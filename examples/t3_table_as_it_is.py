"""T3. A table as people have it, read as it stands: numbers with commas, dates, words, gaps in five spellings.

    number   (x − mean)/sd, the median and a sign where it is missing      word   0 and 1 for each level
    date     year, sin and cos of month and weekday, days                  text   tf-idf         [446]

300 orders from a shop, with what a shop's table has: an order number, prices such as "1.249,50", the delivery date as
31.12.2024, missing cells written as nothing, ?, NA, - and unknown, a column that never changes, a remark in words.
Was the order sent back? ``read`` finds out what each column is and says what it did; ``TableEncoder`` gives a linear
model numbers and naive Bayes the words as they are, and each column's share of the answer is added up again.
"""

import tempfile
from pathlib import Path

import numpy as np
from _plot import BLUE, GREY, ORANGE, figure, save, say
from sklearn.pipeline import make_pipeline

from separatrix import LogisticRegression, NaiveBayes, TableEncoder, compare, read

rng = np.random.default_rng(3)
GAPS = ("", "?", "NA", "-", "unknown")
REMARKS = {
    True: ("too small", "wrong colour", "two sizes ordered", "gift, too late"),
    False: ("fits well", "ordered again", "as described", "gift, on time"),
}
lines = ["order;delivered;price;items;size;paid by;shop;remark;sent back"]
for i in range(300):
    month, price, size = rng.integers(1, 13), np.exp(rng.normal(4.6, 1.1)), rng.choice(["S", "M", "L", "XL"])
    invoice = rng.random() < 0.4
    odds = -1.6 + 1.2 * invoice + 0.9 * (month == 1) + 0.6 * (np.log(price) - 4.6) + 0.8 * (size == "XL")
    back = rng.random() < 1 / (1 + np.exp(-odds))
    told = REMARKS[bool(back ^ (rng.random() < 0.2))]
    cells = [
        f"A{1000 + i}",
        f"{rng.integers(1, 29):02d}.{month:02d}.{rng.integers(2023, 2025)}",
        f"{price:,.2f}".translate(str.maketrans(",.", ".,")),
        str(rng.integers(1, 5)) if rng.random() > 0.1 else rng.choice(GAPS),
        size if rng.random() > 0.05 else rng.choice(GAPS[:3]),
        "invoice" if invoice else rng.choice(["card", "card", "transfer"]),
        "Berlin",
        rng.choice(told) if rng.random() < 0.8 else "",
        "yes" if back else "no",
    ]
    lines.append(";".join(cells))
print("\n".join(lines[:6]), "\n…\n")

with tempfile.TemporaryDirectory() as place:
    path = Path(place, "orders.csv")
    path.write_text("\n".join(lines), encoding="utf-8")
    table = read(path, target="sent back", kinds={"remark": "text"})
print(table, "\n")

for form, model in (("linear", LogisticRegression(C=0.3)), ("native", NaiveBayes())):
    encoder = TableEncoder(form=form, kinds=table.kinds).fit(table)
    print(f"what {type(model).__name__} sees")
    print("\n".join("  " + line for line in encoder.describe()), "\n")

found = compare(
    table, models=["majority", "naive_bayes", "logistic"], cv=(5, 2), budget=None, random_state=0
)  # fmt: skip
print(found, "\n")

model = make_pipeline(TableEncoder(kinds=table.kinds), LogisticRegression(C=0.3)).fit(
    table.frame, table.labels
)
encoder, logistic = model[0], model[-1]
cells = encoder.transform(table.frame)
cells = np.asarray(cells.todense()) if hasattr(cells, "todense") else cells
parts = (cells - cells.mean(axis=0)) * logistic.coef_[0]
names = [name for name in table.kinds if name in encoder.source_]
shares = np.column_stack([parts[:, encoder.source_ == name].sum(axis=1) for name in names])
start = logistic.decision_function(cells)[0] - parts[0].sum()
P = model.predict_proba(table.frame)[:, 1]
miss = np.abs(start + shares.sum(axis=1) - np.log(P / (1 - P))).max()
print(f"the columns' parts add up to the log-odds of every row, to {miss:.0e}")

fig, (left, right) = figure(
    1, 2, "From a file to an answer, column by column",
    "Left: rows as they stand in the file, and what each column was found to be. "
    "Right: what its cells add to the log-odds of being sent back, a dot a row.",
    width=14, height=5.4, gridspec_kw={"width_ratios": [1.35, 1]},
)  # fmt: skip
head, rows = lines[0].split(";"), [line.split(";") for line in lines[1:]]
picked = {
    next(i for i, row in enumerate(rows) if cell in row[j]) for j, cell in ((8, "yes"), (2, "."), (5, "card"))
}
picked |= {
    next(i for i, row in enumerate(rows) if row[j] == gap) for j, gap in ((3, "?"), (3, "unknown"), (4, "NA"))
}
TINT = {
    "continuous": "#D6E8F5",
    "discrete": "#D6E8F5",
    "date": "#D9F0E7",
    "nominal": "#FBEBC8",
    "text": "#F3DCE8",
}
for j, name in enumerate(head):
    kind = table.kinds.get(name, "target")
    colour = TINT.get(kind, "#EFEFEF")
    left.axvspan(j - 0.5, j + 0.5, color=colour, linewidth=0)
    say(left, j, 0.35, kind if kind != "target" else "answer", GREY, ha="center", fontsize=8.5)
    say(left, j, -0.35, name, ha="center", fontweight="bold", fontsize=8.5)
    for i, row in enumerate(sorted(picked)):
        say(left, j, -1.2 - 0.75 * i, rows[row][j] or "·", ha="center", fontsize=7.5)
left.set(xlim=(-0.5, len(head) - 0.5), ylim=(-5.5, 0.8), xticks=[], yticks=[])
left.spines[:].set_visible(False)
order = np.argsort(shares.std(axis=0))
for place, j in enumerate(order):
    jitter = rng.uniform(-0.28, 0.28, len(shares))
    right.scatter(
        shares[:, j],
        place + jitter,
        s=7,
        c=np.where(table.labels == "yes", ORANGE, BLUE),
        alpha=0.6,
        linewidths=0,
    )
right.axvline(0, color=GREY, linewidth=0.8, zorder=0)
right.set_yticks(range(len(names)), [names[j] for j in order])
right.set_xlabel("added to the log-odds (blue: kept, orange: sent back)")
save(fig, __file__)
