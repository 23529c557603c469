"""The fused path: the whole step of an environment in one native kernel, one module a stage of the source.

Each module holds named pieces of C++ text that `source.py` joins to the body of one `wp.func_native`. A group of
G lanes serves an environment; at G = 1 lane loops run over everything and barriers vanish. Names: `i`, `j`
velocity indices, `l` links, `c` contacts, `k`, `p` places in a chain. Quantities mean what they mean in the
generic path, whose modules hold the derivations.
"""
