"""The performance report: its figures, the charts made of them, and the page around those."""
