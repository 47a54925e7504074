"""T1. Ten messages as a bag of words: what stop words, stems and pruning leave, and three ways to weigh a word.

    counts  x_ij = n_ij      presence  x_ij = [n_ij > 0]      tf-idf  x_ij ∝ n_ij (log (1 + n)/(1 + d_j) + 1)
                                                                            [726] "Text classification"

The vocabulary is that of the training messages; a word first met later has no column. At the end naive Bayes on the
counts says what a new message is, and which of its words said so.
"""

import numpy as np
from _plot import BLACK, BLUE, GREY, ORANGE_INK, figure, save

from separatrix import MultinomialNB, TextFeatures

SPAM = [
    "Win a prize now! Call to claim your prizes",
    "Claim your free tickets: call now, call free",
    "You have won! Winners call this number to claim",
    "Free entry: win tickets, win prizes",
    "Urgent: your prize is waiting, call the number",
]
HAM = [
    "Are you coming to the meeting now?",
    "I called you about the tickets for the concert",
    "The meetings are moved; call me when you come",
    "We won the match! See you at the concert",
    "Waiting at the station, see you when the train comes",
]
texts, labels = SPAM + HAM, ["spam"] * 5 + ["ham"] * 5

try:
    import Stemmer  # noqa: F401  PyStemmer

    stem = "english"
except ImportError:
    stem = None
    print("PyStemmer is not installed: words are left as they are (pip install 'separatrix[text]')\n")

print(f"{'':42s}words")
for what, settings in (
    ("as they stand", {}),
    ("without English stop words", {"stop_words": "en"}),
    ("and stems for words", {"stop_words": "en", "stem": stem}),
    ("and only what two messages hold", {"stop_words": "en", "stem": stem, "min_df": 2}),
):
    words = TextFeatures(**settings).fit(texts).get_feature_names_out()
    print(f"{what:42s}{len(words):5d}   {', '.join(words[:9])}{', …' if len(words) > 9 else ''}")

features = TextFeatures(stop_words="en", stem=stem, min_df=2)
counts = features.fit_transform(texts)
model = MultinomialNB().fit(counts, labels)
words = features.get_feature_names_out()
print("\n" + "; ".join(features.describe()))

new = "Call me: I have won a free unicorn"
x = features.transform([new])
P = model.predict_proba(x)[0]
weights = model.feature_log_prob_[1] - model.feature_log_prob_[0]
said = {words[j]: weights[j] for j in x.indices}
print(f"\n{new!r}: " + ", ".join(f"P({c}) = {p:.3f}" for c, p in zip(model.classes_, P)))
print(
    "  "
    + ", ".join(f"{w} {v:+.2f}" for w, v in said.items())
    + "   (log-odds of spam; 'unicorn' has no column)"
)
assert np.isclose(sum(said.values()) + np.diff(model.class_log_prior_)[0], np.log(P[1] / P[0]))

fig, axes = figure(
    1, 3, "A message is a row of numbers, a column for each word",
    "Ten messages (spam above the line), the words that at least two of them hold. Presence forgets how often; "
    "tf-idf gives more to words that few messages hold.",
    width=13.5, height=5.6, sharey=True,
)  # fmt: skip
for ax, weighting, title in zip(
    axes, ("counts", "binary", "tf-idf"), ("counts", "presence", "tf-idf, rows of length 1")
):
    features.set_params(weighting=weighting)
    cells = features.transform(texts).toarray()
    ax.imshow(
        cells,
        cmap="Blues",
        vmin=0,
        vmax={"counts": 3.6, "binary": 3.6, "tf-idf": 1.3}[weighting],
        aspect="auto",
    )
    for i, j in zip(*np.nonzero(cells)):
        text = f"{cells[i, j]:.0f}" if weighting != "tf-idf" else f"{cells[i, j]:.2f}".lstrip("0")
        ax.text(j, i, text, ha="center", va="center", fontsize=7.5, color=BLACK)
    ax.axhline(4.5, color=GREY, linewidth=1)
    ax.set_xticks(range(len(words)), words, rotation=60, ha="right", rotation_mode="anchor")
    ax.set_title(title)
    ax.tick_params(length=0)
    ax.spines[:].set_visible(False)
axes[0].set_yticks(range(10), [t if len(t) < 34 else t[:32] + "…" for t in texts])
for i, label in enumerate(axes[0].get_yticklabels()):
    label.set_color(ORANGE_INK if labels[i] == "spam" else BLUE)
save(fig, __file__)
