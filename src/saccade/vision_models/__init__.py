"""Models that look for one thing: detectors, segmenters, readers of text and of charts, by transformers checkpoints."""
