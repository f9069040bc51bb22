"""Benchmarks of xpreduce: cases, data and peers are tables, the other modules time them."""
