"""Evaluation from the rank of every relevant item: one scoring pass serves any number of target-set designs."""
