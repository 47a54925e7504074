"""What bagging is made of: draws, a plan, three ways to fit (single, shared trees, one batch), votes, a verdict."""
