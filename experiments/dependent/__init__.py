"""The experiments of Chen, Rao, Buntine and Teh (2013), dependent normalized random measures.

``synthetic`` repeats Figure 2, ``perplexity`` Table 1, ``ess`` Table 2 and ``evolution`` Figure 3.
Runs are kept in ``results/dependent/runs``, so that an interrupted script goes on where it was;
delete them to compute anew. The paper's corpora are not public, or not as they were; others of the
same kind stand for them.
"""
