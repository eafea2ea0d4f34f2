"""KOS blog posts (Tank, Foti and Fox 2015, section 4.3 and supplement 4.2): ADF, EP and Gibbs.

``table`` repeats Table 1, ``laps`` Figure 3 and Figures 1 and 2 of the supplement. Runs are kept in
``results/kos/runs``, so that an interrupted script goes on where it was; delete them to compute
anew.
"""
