"""Device code, private to the package: one module for each kernel family."""
