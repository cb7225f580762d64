"""Learning rules as values: advantages of scored groups, losses of micro-batches."""
