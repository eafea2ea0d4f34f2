"""What happens past one machine, one script per question.

Each prints a table, and saves its figure and its numbers in ``results/scale``.
"""
