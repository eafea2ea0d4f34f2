"""The experiments of Tank, Foti and Fox (2015), one script per section.

Each prints a table "paper | ours", and saves its figure and its numbers in ``results/streaming``.
"""
