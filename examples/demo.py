"""The main job: fit real data, print a table and a verdict, write a picture."""

from sklearn.datasets import load_breast_cancer

from separatrix import LogisticRegression

X, y = load_breast_cancer(return_X_y=True)
print(LogisticRegression().fit(X, y).verdict_)
