"""Files and folders of results: whole or absent, written by one run at a time, with readable errors."""
