"""Who and what a document is about, and how they are named so that a careful reader is never in doubt."""
