"""Parts that all models share: interfaces, training options, models of histories, and exact sums.

The sums do not depend on the order of their terms.
"""
