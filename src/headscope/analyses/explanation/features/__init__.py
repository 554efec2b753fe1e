"""The features, a module for each family."""
