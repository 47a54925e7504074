"""Models of Pr(X, Y): discriminants, naive Bayes, any exponential family."""
