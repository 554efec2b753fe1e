"""How far apart are heads, and which are similar? (section 6)"""
