"""Is the explanation of a head the cause of its effect?"""
