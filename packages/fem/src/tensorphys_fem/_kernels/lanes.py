"""A group of lanes that works on one body or chunk: the threads of a block on CUDA, one thread on the CPU.

A kernel is launched with `lane_count` threads a group (`block_dim`), runs its loops as
`for i in range(first + lane(), end, lane_count())` and meets at `barrier()`. `group_sum` adds in a fixed order and
gives every lane the same bits.
"""

import warp as wp

wp.set_module_options({"enable_backward": False})


@wp.func_native("""
#if defined(__CUDA_ARCH__)
    return (int)threadIdx.x;
#else
    return 0;
#endif
""")
def lane() -> int: ...


@wp.func_native("""
#if defined(__CUDA_ARCH__)
    return (int)blockDim.x;
#else
    return 1;
#endif
""")
def lane_count() -> int: ...


@wp.func_native("""
#if defined(__CUDA_ARCH__)
    __syncthreads();
#endif
""")
def barrier(): ...


@wp.func_native("""
#if defined(__CUDA_ARCH__)
    return 4;
#else
    return 1;
#endif
""")
def team_size() -> int:
    """Lanes that share one node where its row is long; neighbours in a group."""
    ...


@wp.func_native("""
#if defined(__CUDA_ARCH__)
    const unsigned team = 0xfu << (threadIdx.x & 28);
    float x = value[0], y = value[1], z = value[2];
    for (int offset = 1; offset < 4; offset <<= 1) {
        x += __shfl_xor_sync(team, x, offset);
        y += __shfl_xor_sync(team, y, offset);
        z += __shfl_xor_sync(team, z, offset);
    }
    return wp::vec_t<3, float>(x, y, z);
#else
    return value;
#endif
""")
def team_sum(value: wp.vec3) -> wp.vec3: ...


@wp.func_native("""
#if defined(__CUDA_ARCH__)
    const unsigned team = 0xfu << (threadIdx.x & 28);
    double x = value[0], y = value[1], z = value[2];
    for (int offset = 1; offset < 4; offset <<= 1) {
        x += __shfl_xor_sync(team, x, offset);
        y += __shfl_xor_sync(team, y, offset);
        z += __shfl_xor_sync(team, z, offset);
    }
    return wp::vec_t<3, double>(x, y, z);
#else
    return value;
#endif
""")
def team_sumd(value: wp.vec3d) -> wp.vec3d: ...


@wp.func_native("""
#if defined(__CUDA_ARCH__)
    __shared__ double partial[32];
    for (int offset = 16; offset > 0; offset >>= 1)
        value += __shfl_xor_sync(0xffffffffu, value, offset);
    __syncthreads();
    if ((threadIdx.x & 31) == 0)
        partial[threadIdx.x >> 5] = value;
    __syncthreads();
    double sum = 0.0;
    for (int warp = 0; warp < (int)(blockDim.x >> 5); ++warp)
        sum += partial[warp];
    return sum;
#else
    return value;
#endif
""")
def group_sum(value: wp.float64) -> wp.float64: ...


@wp.func_native("""
#if defined(__CUDA_ARCH__)
    __shared__ double partial[3][32];
    double x = value[0], y = value[1], z = value[2];
    for (int offset = 16; offset > 0; offset >>= 1) {
        x += __shfl_xor_sync(0xffffffffu, x, offset);
        y += __shfl_xor_sync(0xffffffffu, y, offset);
        z += __shfl_xor_sync(0xffffffffu, z, offset);
    }
    __syncthreads();
    if ((threadIdx.x & 31) == 0) {
        partial[0][threadIdx.x >> 5] = x;
        partial[1][threadIdx.x >> 5] = y;
        partial[2][threadIdx.x >> 5] = z;
    }
    __syncthreads();
    double a = 0.0, b = 0.0, c = 0.0;
    for (int warp = 0; warp < (int)(blockDim.x >> 5); ++warp) {
        a += partial[0][warp];
        b += partial[1][warp];
        c += partial[2][warp];
    }
    return wp::vec_t<3, double>(a, b, c);
#else
    return value;
#endif
""")
def group_sum3(value: wp.vec3d) -> wp.vec3d: ...
