"""Which head finds which dependency relation? (section 4.2)"""
