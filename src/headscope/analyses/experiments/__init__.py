"""What do heads do on inputs with a known answer: repeated random tokens, shuffled words, a needle in a haystack?"""
