"""Mathematics that has never seen a data set: primitives, statistics, losses, geometry."""
