"""Can a first-order estimate replace the measured effect of a head?"""
