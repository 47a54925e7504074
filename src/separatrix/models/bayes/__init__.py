"""What Bayesian logistic regression is made of: priors, the Laplace posterior, its evidence, its predictions."""
