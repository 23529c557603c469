"""Barriers between all blocks of one launch on CUDA, for kernels that walk through dependent stages.

A barrier waits for blocks that run at the same time, and nothing promises that all blocks of a launch do. So blocks take
seats as they start: the first one waits a little for the others and then closes the list. Blocks that come later do
nothing, and barriers count the seated ones alone. Results must therefore not depend on the number of seats.

The state of a launch is four integers that are zero before it and are zero again after it: seats taken, seats when the
list was closed, arrivals at barriers, and blocks that have left.
"""

import warp as wp

wp.set_module_options({"enable_backward": False})


@wp.func_native("""
#if defined(__CUDA_ARCH__)
    const int late = 1 << 20;
    const long long patience = 20000;  // cycles
    __shared__ int seat;
    __shared__ int seats;
    if (threadIdx.x == 0) {
        int* list = barrier.data;
        int mine = atomicAdd(list, 1);
        volatile int* closed = list + 1;
        if (mine == 0) {
            long long begin = clock64();
            while (*(volatile int*)list < (signed)gridDim.x && clock64() - begin < patience) {
            }
            *closed = atomicAdd(list, late);
        }
        if (mine < late) {
            while (*closed == 0) {
            }
        }
        seats = mine < late ? *closed : 0;
        seat = mine < late ? mine : -1;
    }
    __syncthreads();
    return wp::vec_t<2, int>(seat, seats);
#else
    return wp::vec_t<2, int>(0, 1);
#endif
""")
def take_seat(barrier: wp.array[wp.int32]) -> wp.vec2i:
    """Seat of this block, −1 for a late one, and the number of seats."""
    ...


@wp.func_native("""
#if defined(__CUDA_ARCH__)
    __syncthreads();
    if (threadIdx.x == blockDim.x - 1) {
        int* arrivals = barrier.data + 2;
        asm volatile("red.release.gpu.global.add.s32 [%0], 1;" ::"l"(arrivals) : "memory");
        int found = 0;
        do {
            asm volatile("ld.acquire.gpu.global.s32 %0, [%1];" : "=r"(found) : "l"(arrivals) : "memory");
        } while (found < awaited);
    }
    __syncthreads();
#endif
""")
def wait_for_all(barrier: wp.array[wp.int32], awaited: int):
    """Wait for all seated blocks, and see what they wrote; the last thread of a block does it for all.

    Args:
        barrier: State of the launch.
        awaited: The number of seats times the number of barriers so far, this one included.
    """
    ...


@wp.func_native("""
#if defined(__CUDA_ARCH__)
    __syncthreads();
    if (threadIdx.x == 0) {
        int* list = barrier.data;
        __threadfence();
        if (atomicAdd(list + 3, 1) == (signed)gridDim.x - 1) {
            list[0] = 0;
            list[1] = 0;
            list[2] = 0;
            list[3] = 0;
        }
    }
#endif
""")
def leave(barrier: wp.array[wp.int32]):
    """What every block does last, a late one too: the last one makes the state ready for the next launch."""
    ...


@wp.func_native("""
#if defined(__CUDA_ARCH__)
    const unsigned mask = 0xffu << (threadIdx.x & 24);
    for (int offset = 4; offset > 0; offset /= 2)
        for (int i = 0; i < 3; i++)
            value[i] += __shfl_xor_sync(mask, value[i], offset, 8);
#endif
    return value;
""")
def sum_of_lanes(value: wp.vec3) -> wp.vec3:
    """Sum over eight neighbouring threads, the same bits in each of them."""
    ...


@wp.func_native("""
#if defined(__CUDA_ARCH__)
    __syncwarp(0xffu << (threadIdx.x & 24));
#endif
""")
def wait_for_lanes():
    """Have eight neighbouring threads see what the others wrote."""
    ...


@wp.func_native("""
#if defined(__CUDA_ARCH__)
    const float4 v = *reinterpret_cast<const float4*>(source.data + index);
    return wp::vec_t<4, float>(v.x, v.y, v.z, v.w);
#else
    return source.data[index];
#endif
""")
def load_vec4(source: wp.array[wp.vec4], index: int) -> wp.vec4:
    """Four numbers by one load."""
    ...


@wp.func_native("""
#if defined(__CUDA_ARCH__)
    const int4 v = *reinterpret_cast<const int4*>(source.data + index);
    return wp::vec_t<4, int>(v.x, v.y, v.z, v.w);
#else
    return source.data[index];
#endif
""")
def load_vec4i(source: wp.array[wp.vec4i], index: int) -> wp.vec4i:
    """Four integers by one load."""
    ...
