"""Do different measures of a head's worth agree?"""
