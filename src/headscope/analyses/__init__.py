"""The analyses: one folder for each question, all with the same layout; see `scans/declarations/analysis_list.py`."""
