"""The streaming experiments of Tank, Foti and Fox (2015), one script per section.

Section 4.3, the KOS blog posts, is in ``experiments.kos``. Each prints a table "paper | ours", and
saves its figure and its numbers in ``results/streaming``.
"""
