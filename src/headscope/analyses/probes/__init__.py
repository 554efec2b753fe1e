"""What do all heads together tell of the tree? (section 5)"""
