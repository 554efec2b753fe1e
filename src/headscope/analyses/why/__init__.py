"""Why does a head look there: which earlier heads, MLPs and embeddings draw its attention?"""
