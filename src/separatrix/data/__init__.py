"""How rows come in: the only room that knows storage and parallelism."""
