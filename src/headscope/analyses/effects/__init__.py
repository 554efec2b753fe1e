"""What changes in the model's predictions when a head is changed? (Michel et al. 2019)"""
