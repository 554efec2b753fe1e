"""Why does a head look there: which earlier heads, layers and words wrote what draws its attention?"""
