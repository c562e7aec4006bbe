"""Programs broken in one named way each, as source text, and what becomes of them.

`python -m tests.mutations` prints the whole matrix: every mutation x every program x
every number of ranks.
"""
