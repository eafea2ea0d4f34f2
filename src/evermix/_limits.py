"""Defaults that the library and the help of the command line share; it imports nothing."""

MAX_FEATURES = 2**20  # columns of rows: each cluster needs a number for each
MAX_LINE = 2**24  # bytes of a line
MIN_DOCUMENTS = 5  # a time with fewer tells of no births and deaths
