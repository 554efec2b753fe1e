"""Which behaviors known of decoders do heads show in text: the sink, copies, induction, delimiters?"""
