"""The public functions that can run on several back ends (score, play, judge and compare), and functions built on them.

Each function turns its keywords into options, chooses a back end (:func:`~recassay.api.choice.choose`) and hands it the
request. Nothing below this package knows which back end runs it.
"""
