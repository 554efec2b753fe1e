"""How much does each head write, and of what? (Kobayashi et al. 2020)"""
