"""What attacks recassay for a given time: hostile inputs (fuzz), killed runs (kill), flipped bits (flip).

``make fuzz``, ``make kill`` and ``make flip`` run them for ``SECONDS``; each prints its seed, and the same seed makes
the same attacks. What ``fuzz`` finds is stored as a small file in ``regressions``, which the tests try again.
"""
