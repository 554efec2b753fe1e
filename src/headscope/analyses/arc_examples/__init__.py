"""What do the best heads do on a sentence? (figure 5)"""
