"""The experiments of Schaeffer and others (2021), the recursive Chinese restaurant process.

One script each; ``runs`` names the algorithms that are compared. What the paper leaves open is set
as in its public code, and said where it is set.
"""
