"""The experiments of the papers behind evermix, one script per table or figure.

Each prints a table "paper | ours", and saves its figure and its numbers in ``results``.
"""
