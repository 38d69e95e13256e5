"""Live evaluation: exposures (shown lists) and feedback of a running recommender are joined, scored and compared."""
