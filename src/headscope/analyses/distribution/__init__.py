"""What does each head do over all its rows: how much it writes, how far from the sink, how widely, how far away?"""
