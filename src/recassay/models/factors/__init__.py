"""Factor models: matrix factorisation and probabilistic topic models."""
