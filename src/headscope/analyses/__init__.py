"""The analyses: a folder for each question, all alike; `declarations/analysis_list.py` lists them."""
