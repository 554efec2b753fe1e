"""Which head finds antecedents? (section 4.3)"""
