"""Does a head do one thing or several?"""
