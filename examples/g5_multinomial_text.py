"""G5. The multinomial event model: a document is a bag of word counts, of any length.

    p(d | k) ∝ Π_j θ_kj^{x_j},   θ_kj = (count of word j in class k + 1) / (words in class k + |V|)              [726]
    log p(d, k) = log π_k + Σ_j x_j log θ_kj                                                     linear in the counts

Six groups of the Twenty Newsgroups that the notes speak of, headers cut off so that only what people wrote counts,
learnt from the earlier posts and tried on the later ones. The bars are the words that tell a group from the rest:
θ_kj log(θ_kj / Σ_l π_l θ_lj), what the word adds on average to the log odds of one word of the group. The other
event model of the notes, which asks only whether a word occurs, is fitted to the same counts. Where ../shared/data
is absent, twelve typed documents stand in.
"""

import numpy as np
from _newsgroups import by_date
from _plot import BLUE, GREEN, GREY, ORANGE_INK, PURPLE, RED, figure, save
from sklearn.feature_extraction.text import CountVectorizer

from separatrix import BernoulliNB, MultinomialNB

GROUPS = ("comp.graphics", "rec.autos", "rec.sport.hockey", "sci.med", "sci.space", "talk.politics.guns")

(texts, y), (later, y_later), title = by_date(GROUPS, "Six of the Twenty Newsgroups")
words = CountVectorizer(stop_words="english", token_pattern=r"[a-z]{3,}", min_df=3 if len(y) > 100 else 1)
X, X_later = words.fit_transform(texts), words.transform(later)
vocabulary = words.get_feature_names_out()
model = MultinomialNB().fit(X, y)
print(f"{len(y)} documents, {X.shape[1]} words, {X.nnz / len(y):.0f} different ones a document")
print(model.verdict_)

print("\nright on later posts, by size of vocabulary (the words most used)")
order = np.argsort(-np.asarray(X.sum(axis=0)).ravel(), kind="stable")
print(f"  {'words':>8s}   multinomial   Bernoulli")
for size in sorted({min(s, X.shape[1]) for s in (100, 1000, 5000, X.shape[1])}):
    kept = order[:size]
    scores = [m.fit(X[:, kept], y).score(X_later[:, kept], y_later) for m in (MultinomialNB(), BernoulliNB())]
    print(f"  {size:8d}      {scores[0]:.3f}        {scores[1]:.3f}")

length = np.asarray(X_later.sum(axis=1)).ravel()
one = int(np.flatnonzero(length == int(np.median(length)))[0])
twice = model.predict_joint_log_proba(X_later[[one]] * 2) - model.class_log_prior_
once = model.predict_joint_log_proba(X_later[[one]]) - model.class_log_prior_
print(f"\na document written twice has twice the log density: to {abs(twice / once - 2).max():.0e}")

theta = np.exp(model.feature_log_prob_)
share = model.class_prior_ @ theta
telling = theta * np.log(theta / share)
print("\nmost telling words")
for label, row in zip(model.classes_, telling):
    print(f"  {label:20s} {' '.join(vocabulary[np.argsort(-row)[:10]])}")

k = len(model.classes_)
fig, axes = figure(
    -(-k // 3), 3, "Naive Bayes on bags of words: what each class is recognised by",
    f"{title}. A bar is θ log(θ / θ of all classes): what the word adds, on average, to the log odds of one word.",
    width=12, height=2.9 * -(-k // 3) + 0.6, squeeze=False, sharex=True,
)  # fmt: skip
inks = (BLUE, RED, GREEN, PURPLE, ORANGE_INK, GREY)
for ax, label, row, ink in zip(axes.ravel(), model.classes_, telling, inks):
    top = np.argsort(-row)[:9][::-1]
    ax.barh(range(len(top)), 1000 * row[top], color=ink, height=0.72)
    ax.set_yticks(range(len(top)), vocabulary[top])
    ax.set(title=label)
for ax in axes[-1]:
    ax.set_xlabel("thousandths")
save(fig, __file__)
