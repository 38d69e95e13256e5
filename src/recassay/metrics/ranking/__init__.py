"""Accuracy of ranked lists: are the relevant items there, and how high?"""
