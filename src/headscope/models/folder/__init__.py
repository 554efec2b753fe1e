"""A model folder, looked at before a library reads it: no code, no pickle, nothing that takes for ever."""
