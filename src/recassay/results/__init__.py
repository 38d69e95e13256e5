"""Results of an evaluation: scores, scores by design, outcomes on streams, findings and exhibits."""
