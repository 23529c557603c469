"""How sparse grids store a block, and the native code that reads it, one source for the CPU and CUDA.

A block has a record of eight words: the distances at its corners ``000, 001, 010, ... 111`` (x first); or ``BRICK``
and the number of its brick; or ``ASK`` and the number of the record of its data, behind those of the blocks, where the
surface is asked too. The first two words are no distances: as floats both are NaN.

A brick has ``(subgrid + 1) * subgrid * subgrid`` quads: the values at ``(y, z), (y, z + 1), (y + 1, z), (y + 1, z + 1)``
of a layer x, in one, two or four words for 8, 16 or 32 bits. So a cell is a record of 32 bytes or two quads, and a query
waits for two rounds of loads instead of three. On an H200 this reads points at random 1.5 to 3 times as fast as tiles
and rows of nodes, for 1.9 times their memory; cells of all eight corners are 40 % faster still for points near a
surface, and no faster elsewhere, for 1.5 times the memory of quads.
"""

import warp as wp

wp.set_module_options({"enable_backward": False})

RECORD = wp.constant(8)  # words
BRICK = wp.constant(-1)
ASK = wp.constant(-2)

LANES = 256  # threads of a block of a batched query
POINTS = 2  # of a thread, so that the loads of one hide those of the other

_BEGIN = r"""
#if defined(__CUDA_ARCH__)
  #define SDF_LOAD4(p) __ldg(reinterpret_cast<const uint4*>(p))
  #define SDF_LOAD2(p) __ldg(reinterpret_cast<const uint2*>(p))
  #define SDF_LOAD1(p) __ldg(p)
  #define SDF_FLOAT(w) __uint_as_float(w)
  #define SDF_BITS(f) __float_as_uint(f)
  // bytes of a word below the exponent of 2^23, which is then taken off: faster than a conversion
  #define SDF_PART(w, bytes) (__uint_as_float(__byte_perm((w), 0x4B000000u, (bytes))) - 8388608.0f)
  #define SDF_LOW(w) SDF_PART(w, 0x7610)
  #define SDF_HIGH(w) SDF_PART(w, 0x7632)
  #define SDF_BYTE(w, k) SDF_PART(w, 0x7540 | (k))
  #define SDF_COUNT(p) atomicAdd((p), 1)
#else
  struct uint4 { unsigned int x, y, z, w; };
  struct uint2 { unsigned int x, y; };
  union sdf_word { float f; unsigned int u; };
  #define SDF_LOAD4(p) (*reinterpret_cast<const uint4*>(p))
  #define SDF_LOAD2(p) (*reinterpret_cast<const uint2*>(p))
  #define SDF_LOAD1(p) (*(p))
  auto SDF_FLOAT = [](unsigned int w) { sdf_word p; p.u = w; return p.f; };
  auto SDF_BITS = [](float f) { sdf_word p; p.f = f; return p.u; };
  #define SDF_LOW(w) (float)((w) & 0xFFFFu)
  #define SDF_HIGH(w) (float)((w) >> 16)
  #define SDF_BYTE(w, k) (float)(((w) >> (8 * (k))) & 0xFFu)
  #define SDF_COUNT(p) ((*(p))++)
#endif
  // the cell below u by rounding u - 1/2; on a face the even one of the two
  #define SDF_ROUND(u) (((u) - 0.5f) + 12582912.0f)
  #define SDF_INDEX(m) (int)(SDF_BITS(m) - 0x4B400000u)
    const unsigned int* words = (const unsigned int*)record.data;
    const unsigned int* quads = (const unsigned int*)fine.data;
"""

# From the words a and b of a record and fractions tx, ty, tz of the block: distance d and derivative gx, gy, gz.
_SAMPLE = r"""
        float v0, v1, v2, v3, v4, v5, v6, v7, unit = 1.0f, base = 0.0f, slope = inv;
        if (a.x == 0xFFFFFFFFu) {
            const float ux = tx * (float)(subgrid), uy = ty * (float)(subgrid), uz = tz * (float)(subgrid);
            const float mx = SDF_ROUND(ux), my = SDF_ROUND(uy), mz = SDF_ROUND(uz);
            int ix = SDF_INDEX(mx), iy = SDF_INDEX(my), iz = SDF_INDEX(mz);
            ix = ix < subgrid ? ix : subgrid - 1;
            iy = iy < subgrid ? iy : subgrid - 1;
            iz = iz < subgrid ? iz : subgrid - 1;
            tx = ux - (float)(ix); ty = uy - (float)(iy); tz = uz - (float)(iz);
            const int quad = (((int)(a.y) * (subgrid + 1) + ix) * subgrid + iy) * subgrid + iz;
            const int layer = subgrid * subgrid;
            if (bits == 16) {
                const uint2 p = SDF_LOAD2(quads + 2 * quad), q = SDF_LOAD2(quads + 2 * (quad + layer));
                v0 = SDF_LOW(p.x); v1 = SDF_HIGH(p.x); v2 = SDF_LOW(p.y); v3 = SDF_HIGH(p.y);
                v4 = SDF_LOW(q.x); v5 = SDF_HIGH(q.x); v6 = SDF_LOW(q.y); v7 = SDF_HIGH(q.y);
            } else if (bits == 32) {
                const uint4 p = SDF_LOAD4(quads + 4 * quad), q = SDF_LOAD4(quads + 4 * (quad + layer));
                v0 = SDF_FLOAT(p.x); v1 = SDF_FLOAT(p.y); v2 = SDF_FLOAT(p.z); v3 = SDF_FLOAT(p.w);
                v4 = SDF_FLOAT(q.x); v5 = SDF_FLOAT(q.y); v6 = SDF_FLOAT(q.z); v7 = SDF_FLOAT(q.w);
            } else {
                const unsigned int p = SDF_LOAD1(quads + quad), q = SDF_LOAD1(quads + quad + layer);
                v0 = SDF_BYTE(p, 0); v1 = SDF_BYTE(p, 1); v2 = SDF_BYTE(p, 2); v3 = SDF_BYTE(p, 3);
                v4 = SDF_BYTE(q, 0); v5 = SDF_BYTE(q, 1); v6 = SDF_BYTE(q, 2); v7 = SDF_BYTE(q, 3);
            }
            unit = scale; base = offset; slope = inv * (float)(subgrid) * scale;
        } else {
            v0 = SDF_FLOAT(a.x); v1 = SDF_FLOAT(a.y); v2 = SDF_FLOAT(a.z); v3 = SDF_FLOAT(a.w);
            v4 = SDF_FLOAT(b.x); v5 = SDF_FLOAT(b.y); v6 = SDF_FLOAT(b.z); v7 = SDF_FLOAT(b.w);
        }
        const float a00 = v4 - v0, a01 = v5 - v1, a10 = v6 - v2, a11 = v7 - v3;
        const float c00 = v0 + a00 * tx, c01 = v1 + a01 * tx;
        const float b0 = v2 + a10 * tx - c00, b1 = v3 + a11 * tx - c01;
        const float d0 = c00 + b0 * ty, e0 = a00 + (a10 - a00) * ty, dz = c01 + b1 * ty - d0;
        const float gx = (e0 + (a01 + (a11 - a01) * ty - e0) * tz) * slope;
        const float gy = (b0 + (b1 - b0) * tz) * slope, gz = dz * slope;
        const float d = base + unit * (d0 + dz * tz);
"""

_NAMES = "LOAD4 LOAD2 LOAD1 PART FLOAT BITS LOW HIGH BYTE COUNT ROUND INDEX"
_END = "".join(f"\n#undef SDF_{name}" for name in _NAMES.split()) + "\n"

_ONE = (
    _BEGIN
    + r"""
    words += 8 * at;
    quads += first_fine;
    const uint4 a = SDF_LOAD4(words), b = SDF_LOAD4(words + 4);
    float tx = f[0], ty = f[1], tz = f[2];
"""
    + _SAMPLE
    + "        return wp::vec4(d, gx, gy, gz);"
    + _END
)

_MANY = (
    _BEGIN
    + r"""
    const float* position = (const float*)points.data;
    const int count = (int)(points.shape[0]);
    const int first = (tid / LANES) * LANES * POINTS + tid % LANES;
    float x[POINTS], y[POINTS], z[POINTS];
    int at[POINTS];
    bool core[POINTS];
    uint4 front[POINTS], back[POINTS];
#pragma unroll
    for (int k = 0; k < POINTS; ++k) {
        int i = first + k * LANES;
        i = i < count ? i : count - 1;
        x[k] = position[3 * i]; y[k] = position[3 * i + 1]; z[k] = position[3 * i + 2];
    }
#pragma unroll
    for (int k = 0; k < POINTS; ++k) {
        const float ux = (x[k] - origin[0]) * inv, uy = (y[k] - origin[1]) * inv, uz = (z[k] - origin[2]) * inv;
        const float rim = (float)(blend);
        core[k] = ux >= rim && uy >= rim && uz >= rim && ux <= (float)(blocks[0]) - rim
            && uy <= (float)(blocks[1]) - rim && uz <= (float)(blocks[2]) - rim;
        const float cx = core[k] ? ux : 0.5f, cy = core[k] ? uy : 0.5f, cz = core[k] ? uz : 0.5f;
        const float mx = SDF_ROUND(cx), my = SDF_ROUND(cy), mz = SDF_ROUND(cz);
        int ix = SDF_INDEX(mx), iy = SDF_INDEX(my), iz = SDF_INDEX(mz);
        ix = ix < blocks[0] ? ix : blocks[0] - 1;
        iy = iy < blocks[1] ? iy : blocks[1] - 1;
        iz = iz < blocks[2] ? iz : blocks[2] - 1;
        x[k] = cx - (float)(ix); y[k] = cy - (float)(iy); z[k] = cz - (float)(iz);
        at[k] = ((ix * blocks[1] + iy) * blocks[2] + iz) * 8;
    }
#pragma unroll
    for (int k = 0; k < POINTS; ++k) {
        front[k] = SDF_LOAD4(words + at[k]);
        back[k] = SDF_LOAD4(words + at[k] + 4);
    }
#pragma unroll
    for (int k = 0; k < POINTS; ++k) {
        const int i = first + k * LANES;
        if (i >= count) continue;
        const uint4 a = front[k], b = back[k];
        if (!core[k] || a.x == 0xFFFFFFFEu) {
            rim_out.data[SDF_COUNT((int*)rim_count_inout.data)] = i;
            continue;
        }
        float tx = x[k], ty = y[k], tz = z[k];
"""
    + _SAMPLE
    + "STORE\n    }"
    + _END
)

# One store of 16 bytes; the caller sees to it that results are aligned and dense.
_STORE_FIELD = r"""
#if defined(__CUDA_ARCH__)
        reinterpret_cast<float4*>(field_out.data)[i] = make_float4(d, gx, gy, gz);
#else
        field_out.data[i] = wp::vec4(d, gx, gy, gz);
#endif
"""
_STORE_DISTANCE = "        distance_out.data[i] = d;"


def _many(store: str) -> str:
    return _MANY.replace("LANES", str(LANES)).replace("POINTS", str(POINTS)).replace("STORE", store)


@wp.func_native(_ONE)
def sample_record(
    record: wp.array[wp.int32],
    fine: wp.array[wp.uint32],
    at: int,
    first_fine: int,
    subgrid: int,
    bits: int,
    f: wp.vec3,
    inv: float,
    offset: float,
    scale: float,
) -> wp.vec4:
    """Distance and its exact derivative at fractions ``f`` of a block whose data are in record ``at``."""
    ...


@wp.func_native(_many(_STORE_FIELD))
def sample_many_fields(
    record: wp.array[wp.int32],
    fine: wp.array[wp.uint32],
    points: wp.array[wp.vec3],
    origin: wp.vec3,
    inv: float,
    blocks: wp.vec3i,
    blend: int,
    subgrid: int,
    bits: int,
    offset: float,
    scale: float,
    tid: int,
    field_out: wp.array[wp.vec4],
    rim_count_inout: wp.array[wp.int32],
    rim_out: wp.array[wp.int32],
):
    """What a thread does of a query of many points; those that stored data do not decide are noted."""
    ...


@wp.func_native(_many(_STORE_DISTANCE))
def sample_many_distances(
    record: wp.array[wp.int32],
    fine: wp.array[wp.uint32],
    points: wp.array[wp.vec3],
    origin: wp.vec3,
    inv: float,
    blocks: wp.vec3i,
    blend: int,
    subgrid: int,
    bits: int,
    offset: float,
    scale: float,
    tid: int,
    distance_out: wp.array[wp.float32],
    rim_count_inout: wp.array[wp.int32],
    rim_out: wp.array[wp.int32],
):
    """The same without the derivative."""
    ...


@wp.func
def data_record(record: wp.array[wp.int32], first: int, block: int) -> int:
    """Record that holds the data of a block of the grid whose records begin with ``first``."""
    at = first + block
    if record[RECORD * at] == ASK:
        at = first + record[RECORD * at + 1]
    return at


@wp.kernel
def pack_records(
    corner_values: wp.array3d[wp.float32],
    brick: wp.array[wp.int32],
    aside: wp.array[wp.int32],
    record_out: wp.array2d[wp.int32],
):
    """Records of all blocks; ``aside`` is the record of the data of a block in which the surface is asked, else -1."""
    x, y, z = wp.tid()
    block = (x * (corner_values.shape[1] - 1) + y) * (corner_values.shape[2] - 1) + z
    at = block
    if aside[block] >= 0:
        at = aside[block]
        record_out[block, 0] = ASK
        record_out[block, 1] = at
    if brick[block] >= 0:
        record_out[at, 0] = BRICK
        record_out[at, 1] = brick[block]
    else:
        for k in range(8):
            v = corner_values[x + (k >> 2), y + ((k >> 1) & 1), z + (k & 1)]
            record_out[at, k] = wp.cast(v, wp.int32)


@wp.func
def quantised(value: float, offset: float, scale: float, top: float) -> wp.uint32:
    return wp.uint32(wp.clamp(wp.round((value - offset) / scale), 0.0, top))


@wp.kernel
def pack_quads(
    node_values: wp.array[wp.float32],
    subgrid: int,
    bits: int,
    offset: float,
    scale: float,
    word_out: wp.array[wp.uint32],
):
    """Quads of all bricks from the values at their nodes, ``(subgrid + 1)^3`` a brick."""
    quad = wp.tid()
    n = subgrid + 1
    y = (quad // subgrid) % subgrid
    node = ((quad // (subgrid * subgrid)) * n + y) * n + quad % subgrid
    for k in range(4):
        value = node_values[node + (k >> 1) * n + (k & 1)]
        if bits == 32:
            word_out[4 * quad + k] = wp.cast(value, wp.uint32)
        elif bits == 16:
            part = quantised(value, offset, scale, 65535.0) << wp.uint32(16 * (k & 1))
            if (k & 1) == 0:
                word_out[2 * quad + (k >> 1)] = part
            else:
                word_out[2 * quad + (k >> 1)] = word_out[2 * quad + (k >> 1)] | part
        else:
            part = quantised(value, offset, scale, 255.0) << wp.uint32(8 * k)
            if k == 0:
                word_out[quad] = part
            else:
                word_out[quad] = word_out[quad] | part
