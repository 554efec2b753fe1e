"""Files and folders of results: whole or absent, held by one run at a time, and their troubles in words."""
