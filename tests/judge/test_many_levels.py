"""Columns of many levels through ``compare``: models reach what one column a level gives, and nobody refuses."""

import numpy as np
import pandas as pd
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder

from separatrix import compare


def test_two_hundred_equal_levels_and_what_gives_the_answer_away():
    rng = np.random.default_rng(0)
    place = rng.permutation(np.arange(2000) % 200)
    y = np.where(2.0 * rng.normal(size=200)[place] + rng.logistic(size=2000) > 0, "yes", "no")
    X = pd.DataFrame({"word": np.char.add("w", place.astype(str)), "x": rng.normal(size=2000)})
    X["copy"] = (y == "yes").astype(int)
    X["id"] = rng.integers(0, 900, 2000)
    models = ["logistic", "lda", "extra_trees"]
    found = compare(X, y, models=models, budget=None, cv=3, metric="accuracy")
    one_hot = make_pipeline(OneHotEncoder(handle_unknown="ignore"), LogisticRegression())
    wanted = cross_val_score(one_hot, X[["word"]], y, cv=3).mean()
    scores = {name: found.scores[name]["accuracy"].mean for name in models}
    assert all(wanted - 0.03 < score < 0.9 for score in scores.values()), (wanted, scores)
    assert {a.column for a in found.alerts if "left out" in a.sentence} == {"copy", "id"}
