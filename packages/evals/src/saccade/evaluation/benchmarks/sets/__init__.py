"""The benchmarks, by what they ask of a model: one value each."""
