"""Learning: sequences to micro-batches, log-probabilities, gradients, weights, checkpoints."""
