"""In which directions do a head's queries, keys and outputs vary, and how many of them matter?"""
