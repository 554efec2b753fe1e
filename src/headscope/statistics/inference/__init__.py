"""From sums by group to numbers with intervals: estimates, confidence, significance, selection and thresholds."""
