"""The CUDA kernels on a CPU: built by g++ for the tests that need no GPU (see `emulator`)."""
