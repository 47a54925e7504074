"""Likelihoods of a linear score: logistic regression, generalised linear models, least squares."""
