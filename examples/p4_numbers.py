"""P4. Numbers through the workbench: models of a quantity on the same folds, and where the best of them errs.

    RMSE = √ mean (y − ŷ)²,   R² = 1 − Σ (y − ŷ)² / Σ (y − ȳ)²           by fits that had not seen the row

`compare(…, task="regression")` goes as it does for classes: every model on a first fold, those that may win on all,
then tuned. On the left the numbers against what was predicted, out of fold; on the right the errors by what was
predicted: a median off the line is bias, a band that opens is a model less sure where it predicts much.

A threshold for two classes is chosen in the same way: by the rows of each fold, at the threshold that the others
choose; the last lines say what it wins on a table where one class is rare.
"""

import numpy as np
from _plot import figure, save
from sklearn.datasets import load_diabetes, make_classification

from separatrix import compare
from separatrix.show import ErrorsDisplay, PredictedDisplay

X, y = load_diabetes(return_X_y=True, as_frame=True)
names = ["mean", "linear_regression", "poisson_regression", "svr", "random_forest_regressor"]
found = compare(X, y, task="regression", models=names, cv=5, budget=None)
print(found.text())

rows, said = found.out_of_fold()
title = f"How far diabetes went in a year, by {found.titles[found.best]}"
off, floor = (found.scores[name]["mae"].mean for name in (found.best, "mean"))
subtitle = f"Out of fold, off by {off:.0f} on average; the mean alone by {floor:.0f}."
fig, (left, right) = figure(1, 2, title, subtitle)
PredictedDisplay.from_predictions(y.to_numpy()[rows], said, ax=left)
ErrorsDisplay.from_predictions(y.to_numpy()[rows], said, ax=right)
save(fig, __file__)

X, ill = make_classification(1_500, 8, n_informative=4, weights=[0.93], flip_y=0.04, random_state=3)
labels = np.where(ill, "ill", "well")
best = compare(X, labels, models=["logistic", "lda", "majority"], cv=5, budget=None, threshold="f1")
print(f"\n{best.best}: {best.threshold}")
said = best.best_model.predict(X)
print(f"  of {(labels == 'ill').sum()} who are ill it calls {((said == 'ill') & (labels == 'ill')).sum()}")
