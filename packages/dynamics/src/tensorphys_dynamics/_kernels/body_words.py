"""Velocities of bodies as words that each tell their age, for kernels in which manifolds wait for each other on CUDA.

A body has eight words of 64 bits: six velocities and a mark, each in the lower half, in the upper half its version. A word is
written and read at once, so that whoever reads the version it waits for has read the value that goes with it, without
a barrier or a fence. Words are written and read where all multiprocessors see them.
"""

import warp as wp

wp.set_module_options({"enable_backward": False})

WORDS = wp.constant(8)
"""Words of a body."""
MARK = wp.constant(6)
"""Index of the mark."""


@wp.func_native("""
#if defined(__CUDA_ARCH__)
    unsigned long long word;
    asm volatile("ld.relaxed.gpu.global.u64 %0, [%1];" : "=l"(word) : "l"(words.data + index) : "memory");
    return wp::vec_t<2, int>((int)(unsigned)word, (int)(unsigned)(word >> 32));
#else
    const unsigned long long word = (unsigned long long)words.data[index];
    return wp::vec_t<2, int>((int)(unsigned)word, (int)(unsigned)(word >> 32));
#endif
""")
def load_word(words: wp.array[wp.int64], index: int) -> wp.vec2i:
    """Bits of the value and the version of a word."""
    ...


@wp.func_native("""
    const unsigned long long word = ((unsigned long long)(unsigned)version << 32) | (unsigned)value;
#if defined(__CUDA_ARCH__)
    asm volatile("st.relaxed.gpu.global.u64 [%0], %1;" ::"l"(words.data + index), "l"(word) : "memory");
#else
    words.data[index] = (long long)word;
#endif
""")
def store_word(words: wp.array[wp.int64], index: int, value: int, version: int):
    """Write the bits of a value and its version at once."""
    ...


@wp.func_native("""
#if defined(__CUDA_ARCH__)
    int first = 0;
    if ((threadIdx.x & 31) == 0)
        first = atomicAdd(state.data, 4);
    return __shfl_sync(0xffffffffu, first, 0) + ((threadIdx.x >> 3) & 3);
#else
    return 0;
#endif
""")
def take_place(state: wp.array[wp.int32]) -> int:
    """Next place of eight threads; a warp takes four at once. Whoever holds a place runs, so that waiting for a lower
    place always ends."""
    ...


@wp.func_native("""
#if defined(__CUDA_ARCH__)
    return __any_sync(0xffffffffu, value) ? 1 : 0;
#else
    return value;
#endif
""")
def any_of_warp(value: int) -> int:
    """Whether the value is not 0 in any thread of the warp."""
    ...


@wp.func_native("""
#if defined(__CUDA_ARCH__)
    return __all_sync(0xffu << (threadIdx.x & 24), value) ? 1 : 0;
#else
    return value;
#endif
""")
def all_of_lanes(value: int) -> int:
    """Whether the value is not 0 in all of eight neighbouring threads."""
    ...


@wp.func_native("""
#if defined(__CUDA_ARCH__)
    return __shfl_sync(0xffu << (threadIdx.x & 24), value, lane, 8);
#else
    return value;
#endif
""")
def from_lane(value: int, lane: int) -> int:
    """The value of one of eight neighbouring threads."""
    ...


@wp.func_native("""
    int bits;
    memcpy(&bits, &value, 4);
    return bits;
""")
def bits_of_float(value: float) -> int:
    """Bits of a number."""
    ...


@wp.func_native("""
    float value;
    memcpy(&value, &bits, 4);
    return value;
""")
def float_of_bits(bits: int) -> float:
    """The number that has these bits."""
    ...
