"""Which behaviors known from decoders do heads show in text: the sink, copies, induction, delimiters?"""
