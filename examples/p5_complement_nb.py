"""P5. Complement naive Bayes: a rare class is judged by what the others do not say.

    MultinomialNB    log π_k + Σ_j x_j log θ_kj        θ_k from the words of class k
    ComplementNB           − Σ_j x_j log θ̃_kj          θ̃_k from the words of all other classes            [726], P5

Six newsgroups, of which three are thinned to a share of their posts while the other three stay whole; the later
posts that are tried on are not thinned. Laplace's one virtual count of every word is little beside the words of a
large group and much beside those of a small one: the small group's θ is drawn towards all words alike, and the prior
is against it too. The complement of a group is large whichever group it is, so that smoothing costs all alike:
from a tenth of the posts downwards ComplementNB finds more of the rare groups. Balanced weights, which multiply the
counts of the small groups, help MultinomialNB as much, and more in between. Where ../shared/data is absent, documents
drawn from six lists of words stand in.
"""

import re

import numpy as np
from _newsgroups import stored
from _plot import BLUE, GREY, ORANGE, ORANGE_INK, RED, figure, save, say
from sklearn.feature_extraction.text import CountVectorizer

from separatrix import ComplementNB, MultinomialNB

GROUPS = ("comp.graphics", "rec.autos", "rec.sport.hockey", "sci.med", "sci.space", "talk.politics.guns")
RARE = GROUPS[1::2]
SHARES = (1.0, 0.5, 0.25, 0.1, 0.05, 0.025)
MODELS = {
    "ComplementNB": (ComplementNB(), BLUE, BLUE),
    "MultinomialNB, balanced": (MultinomialNB(class_weight="balanced"), ORANGE, ORANGE_INK),
    "MultinomialNB": (MultinomialNB(), RED, RED),
}


def drawn(rng, n=300, words=3000):
    """(counts, labels): documents of 60 words, a tenth of them from the group's own hundred words."""
    common = 1 / np.arange(1, words + 1)
    X, y = [], np.repeat(GROUPS, n)
    for k in range(len(GROUPS)):
        own = np.zeros(words)
        own[50 + 100 * k : 150 + 100 * k] = 1.0
        X.append(rng.multinomial(60, 0.9 * common / common.sum() + 0.1 * own / own.sum(), size=n))
    return np.vstack(X), y


def posts():
    """Counts and labels to learn from and to try on, and what they are."""
    parts = stored("20news", "20news/20news-bydate-test")
    if parts is None:
        rng = np.random.default_rng(0)
        return *drawn(rng), *drawn(rng), "Documents drawn from lists of words"
    kept = []
    for texts, labels in parts:
        mine = [i for i, label in enumerate(labels) if label in GROUPS]
        kept.append(
            ([re.split(r"\n\s*\n", texts[i], maxsplit=1)[-1] for i in mine], np.asarray(labels)[mine])
        )
    (texts, y), (later, y_later) = kept
    bag = CountVectorizer(stop_words="english", token_pattern=r"[a-z]{3,}", min_df=3)
    return bag.fit_transform(texts), y, bag.transform(later), y_later, "Six of the Twenty Newsgroups"


X, y, X_later, y_later, title = posts()
rare, rare_later = np.isin(y, RARE), np.isin(y_later, RARE)
found = {name: [] for name in MODELS}  # (right on rare groups, right on whole ones), share by share
print(f"{title}: {len(y)} to learn from, {len(y_later)} to try on; {', '.join(RARE)} are thinned")
print(f"  {'share kept':>10s}   {'':26s} rare groups   whole groups   mean of both")
for share in SHARES:
    rows = []
    for seed in range(5):
        luck = np.random.default_rng(seed).random(len(y))
        learn = np.flatnonzero(~rare | (luck < share))
        told = [m.fit(X[learn], y[learn]).predict(X_later) == y_later for m, _, _ in MODELS.values()]
        rows.append([(right[rare_later].mean(), right[~rare_later].mean()) for right in told])
    for name, pair in zip(MODELS, np.mean(rows, axis=0)):
        found[name].append(pair)
        print(f"  {share:10.3f}   {name:26s} {pair[0]:8.3f}       {pair[1]:8.3f}       {pair.mean():8.3f}")
print()
print(MODELS["ComplementNB"][0].verdict_)

fig, (left, right) = figure(
    1, 2, "Rare classes: the words of the others, or balanced weights",
    f"{title}; three groups thinned to a share of their posts, mean of five draws, tried on later posts.",
    sharey=True,
)  # fmt: skip
for row, (name, (_, colour, ink)) in enumerate(MODELS.items()):
    line = np.array(found[name])
    for ax, column in ((left, 0), (right, 1)):
        ax.plot(SHARES, line[:, column], color=colour, marker="o", markersize=4)
    say(left, 0.97, 0.28 - 0.09 * row, name, ink, transform=left.transAxes, ha="right", fontsize=9)
for ax, what in ((left, "the three thinned groups"), (right, "the three whole groups")):
    ax.set_xscale("log")
    ax.set_xticks(SHARES, [f"{100 * s:g} %" for s in SHARES])
    ax.minorticks_off()
    ax.set_xlabel("posts of the thinned groups kept for learning")
    ax.set_title(f"right on {what}", fontsize=10, color=GREY, loc="left")
    ax.set_ylim(0, 1.02)
left.set_ylabel("share of later posts")
save(fig, __file__)
