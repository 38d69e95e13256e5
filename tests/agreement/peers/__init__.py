"""One module per peer library: ``version()`` and ``answers(case)``, calling the library as its documentation shows.

``ANSWERS`` are ``{metric: {"mean": value, "per_user": {user: value} or None}}``; where the library raises, the metric's
answer has an ``"error"`` instead of a mean. ``None`` stands for NaN. A module of a library that cannot be installed
restates the library's formulas and says so with ``TRANSCRIBED``.
"""
