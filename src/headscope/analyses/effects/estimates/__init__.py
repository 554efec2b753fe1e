"""Can a first-order estimate stand for the effect of a head?"""
