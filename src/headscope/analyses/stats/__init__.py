"""Where do heads look, in text without annotation? (sections 3.1 to 3.3)"""
