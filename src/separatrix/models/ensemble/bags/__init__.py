"""What bagging is made of: the draws, and three ways to fit them (one by one, trees, one batch)."""
