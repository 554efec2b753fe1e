"""Model folders, looked at before a library reads them: no code, no pickle, nothing that takes for ever."""
