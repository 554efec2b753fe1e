"""How much does the loss depend on attention? (section 3.2)"""
