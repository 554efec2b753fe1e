"""What do heads do where the answer is known: random tokens repeated, shuffled words, a needle in a haystack?"""
