"""How much does each head write, and from which tokens? (Kobayashi et al. 2020)"""
