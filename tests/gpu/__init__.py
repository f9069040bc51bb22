"""The acceptance of the CuPy backend on a GPU (see `accept`), and what of it can be tested without one."""
