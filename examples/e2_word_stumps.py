"""E2. Boosting single words on text, as BoosTexter does: "if the post says 'hockey', …".

    h_t(d) = a if word j is not in d, else b,      SAMME over K groups: α_t = ½ (log (1 − ε_t)/ε_t + log(K − 1))

The notes' example of boosting very simple classifiers, on four of the Twenty Newsgroups, headers cut off, learnt from
the earlier posts and tried on the later ones. A round costs one pass over the stored counts. Left: errors over the
rounds. Right: the words chosen first, and the group a post with that word is given. Where ../shared/data is absent,
twelve typed documents stand in.
"""

import time

import numpy as np
from _newsgroups import by_date
from _plot import BLUE, GREEN, GREY, PURPLE, RED, figure, save, say
from sklearn.feature_extraction.text import CountVectorizer

from separatrix import AdaBoostClassifier, MultinomialNB

GROUPS = ("rec.autos", "rec.sport.hockey", "sci.med", "sci.space")

(texts, y), (later, y_later), title = by_date(GROUPS, "Four of the Twenty Newsgroups")
words = CountVectorizer(stop_words="english", token_pattern=r"[a-z]{3,}", min_df=3 if len(y) > 100 else 1)
X, X_later = words.fit_transform(texts), words.transform(later)
vocabulary = words.get_feature_names_out()

rounds = 500 if len(y) > 100 else 30
began = time.perf_counter()
model = AdaBoostClassifier(n_estimators=rounds).fit(X, y)
seconds = time.perf_counter() - began
print(f"{len(y)} documents, {X.shape[1]} words, {X.nnz:,} counts: {seconds / rounds * 1e3:.1f} ms a round")
print(model.verdict_)
test = 1 - np.array(list(model.staged_score(X_later, y_later)))
bayes = 1 - MultinomialNB().fit(X, y).score(X_later, y_later)
print(f"\nwrong on later posts: {test[-1]:.3f} after {rounds} rounds, naive Bayes on all words {bayes:.3f}")
print("\nthe first rounds")
for h, a in list(zip(model.estimators_, model.alphas_))[:10]:
    print(f"  α = {a:.2f}   {vocabulary[h.feature_]!r} present → {h.right_class_}, else {h.left_class_}")

fig, (left, right) = figure(
    1, 2, f"{len(set(h.feature_ for h in model.estimators_))} single words, voting",
    f"{title}, learnt from the earlier posts. Each round asks whether one word is there.",
    width=12, height=5.0, width_ratios=[1.1, 1],
)  # fmt: skip
count = np.arange(1, len(test) + 1)
left.plot(count, test, color=RED)
left.plot(count, model.train_errors_, color=BLUE)
left.axhline(bayes, color=GREY, linewidth=1.2, linestyle="--")
left.set(
    xscale="log", xlim=(1, len(test)), ylim=(0, None), xlabel="rounds (words asked for)", ylabel="share wrong"
)
say(left, len(test) * 0.95, test[-1] + 0.015, "later posts", RED, ha="right")
say(left, len(test) * 0.95, max(model.train_errors_[-1] - 0.035, 0.005), "training", BLUE, ha="right")
say(left, 1.1, bayes + 0.01, "naive Bayes on all words, later posts", GREY)
left.set_title("Errors over the rounds")

inks = dict(zip(model.classes_, (BLUE, GREEN, PURPLE, RED)))
votes, order = {}, []
for h, a in zip(model.estimators_, model.alphas_):
    key = vocabulary[h.feature_], h.right_class_
    if key not in votes:
        order.append(key)
    votes[key] = votes.get(key, 0.0) + a
top = order[:18]
right.barh(range(len(top)), [votes[k] for k in top], color=[inks[k[1]] for k in top], height=0.74)
right.set_yticks(range(len(top)), [k[0] for k in top])
right.invert_yaxis()
right.set(xlabel="votes of the word, Σ α$_t$ over its rounds")
right.set_title("The words chosen first, and the group they point to")
for at, (label, ink) in enumerate(inks.items()):
    right.text(
        0.98, 0.06 + 0.06 * at, label, color=ink, fontweight="bold", ha="right", transform=right.transAxes
    )
save(fig, __file__)
