"""Parts that all models share: interfaces, training options, models of histories, and sums that do not depend on
order.
"""
