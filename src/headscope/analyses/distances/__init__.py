"""How far apart are heads, and which are alike? (section 6)"""
