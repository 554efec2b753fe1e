"""How do output norm, non-sink attention, entropy and distance vary over the rows of each head?"""
