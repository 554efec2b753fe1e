"""How much of the syntax tree do all heads encode together? (section 5)"""
