"""The kernel of a size class: the pieces joined, with the sizes as constants, compiled once a class."""

from __future__ import annotations

import functools
import hashlib
from dataclasses import dataclass
from typing import Any

import warp as wp

from tensorphys_dynamics._kernels.arrays import (
    ContactData,
    ContactRows,
    ControlData,
    MimicData,
    ModelData,
    StateData,
)
from tensorphys_dynamics._kernels.fused import (
    base,
    bodies,
    contact_cpu,
    contact_lanes,
    contact_setup,
    drives,
    factor_lanes,
    friction,
    loops,
    mass,
    mimic,
    motion,
    sweep,
)
from tensorphys_dynamics._kernels.thresholds import (
    AT_REST,
    ATTEMPTS,
    CANCELLED,
    CORRECTION,
    ENDLESS,
    EXTRA,
    FAST,
    FASTEST,
    FASTEST_TURN,
    HALF_TURN,
    IMPLICIT,
    LEAK,
    LEAST_GAIN,
    LIMIT_TURNS,
    OFF,
    OWN_SHARE,
    PUSH,
    RECOVERY,
    ROUNDING,
    SETTLED,
    SINGULAR,
    SOFT,
    SOUND,
    STEEP_SHARE,
    STEEP_SLOPE,
    SUDDEN,
    TENSION,
    UNBOUNDED,
    UNMOVED,
    UNRESOLVED,
    YIELD,
)

wp.set_module_options({"enable_backward": False})


@dataclass(frozen=True)
class SizeClass:
    """Bounds that a kernel is compiled for.

    Attributes:
        root: Root velocities, 0 or 6.
        links, velocities: Bounds of the numbers of links and of velocities.
        entries: Bound of the stored entries of the mass matrix, padding included.
        lanes: Lanes that serve an environment, 1 for the CPU.
        wide: Whether the source is that of the CPU, with vectors in place of lanes.
        pool: Floats for the rows of contacts in fast memory, without `wide`.
        row: Most velocities that move a contact, without `wide`.
        mimics: Bound of the number of mimic joints, 0 where there are none.
    """

    root: int
    links: int
    velocities: int
    entries: int
    lanes: int
    wide: bool = True
    pool: int = 0
    row: int = 0
    mimics: int = 0

    @property
    def tables(self) -> dict[str, int]:
        """Where each table of the topology starts."""
        sizes = {
            "COUNTS": 5,
            "PARENT": self.links,
            "FIRST": self.links + 1,
            "LAST": self.links,
            "ORDER": self.links,
            "LEVEL": self.links + 1,
            "LINK": self.velocities,
            "ROTATIONAL": self.velocities,
            "ROW": self.velocities,
            "DEPTH": self.velocities,
            "VORDER": self.velocities if self.wide else 0,
            "STAGE": self.velocities + 1 if self.wide else 0,
            "CHAIN": self.entries,
            "CHAIN_ROW": 0 if self.wide else self.entries,
            "WORD": 0 if self.wide else self.velocities,
            "WORDS": 0 if self.wide else self.entries // 4 + self.velocities,
            "BELOW": 0 if self.wide else self.velocities + 1,
            "BELOW_ROW": 0 if self.wide else self.entries,
            "MIMIC": 1 + 3 * self.mimics if self.mimics else 0,
        }
        places, at = {}, 0
        for name, size in sizes.items():
            places[name] = at
            at += size
        places["END"] = at
        return places

    @property
    def row_width(self) -> int:
        """Velocities padded to whole vectors of the CPU."""
        return -(-self.velocities // 8) * 8

    @property
    def block_size(self) -> int:
        """Floats of a contact's rows on the CPU."""
        return contact_setup.ROW_HEAD + 3 * self.row_width

    @property
    def scratch_floats(self) -> int:
        """Floats of an environment in fast memory, for a group; padding against bank conflicts included."""
        smooth = 22 * self.links + self.velocities
        rest = 13 + 10 * self.links + 6 + 22 * self.velocities + 6 + 2 * self.row_width
        rest += self.entries + 8 + max(self.entries + 8, 12 * self.links)
        rest += self.mimics * (self.row_width + self.mimics)
        return rest + max(smooth, self.pool) + 32


LOCAL_CONTACTS = 48

_PRELUDE_CPU = r"""
#define UNROLL
#define UNROLL4
#define LDG(p) (*(p))
#define SYNC()
#define MEET()
typedef float F4 __attribute__((vector_size(16), aligned(4), may_alias));
typedef float F8 __attribute__((vector_size(32), aligned(4), may_alias));
auto group_sum = [](float a) { return a; };
auto group_any = [](int a) { return a; };
auto group_first = [](float a) { return a; };
auto warp_any = [](bool a) { return a; };
"""
# Lanes of a group meet by SYNC. Where all groups of a warp take the same way they meet by MEET, which costs less; what
# one of them needs all go through then.
_PRELUDE_LANES = r"""
#if defined(__CUDA_ARCH__)
#define UNROLL _Pragma("unroll")
#define UNROLL4 _Pragma("unroll 4")
#define LDG(p) __ldg(p)
#define SYNC() do { if (G > 1) __syncwarp(mask_); } while (0)
#define MEET() do { if (G > 1) __syncwarp(); } while (0)
#define SHUFFLE(a, o) __shfl_xor_sync(mask_, a, o)
#define INVERSE_ROOT(a) rsqrtf(a)
const unsigned mask_ = G == 32 ? 0xffffffffu : ((1u << (G & 31)) - 1u) << (threadIdx.x & 31 & ~(G - 1));
auto group_any = [&](int a) { return G > 1 ? __any_sync(mask_, a) : a; };
auto warp_any = [&](bool a) { return G > 1 ? __any_sync(0xffffffffu, a) != 0 : a; };
auto warp_most = [&](int a) {
#if __CUDA_ARCH__ >= 800
  return G > 1 ? __reduce_max_sync(0xffffffffu, a) : a;
#else
  for (int o = G; o < 32; o *= 2) a = max(a, __shfl_xor_sync(0xffffffffu, a, o));
  return a;
#endif
};
auto group_first = [&](float a) { return G > 1 ? __shfl_sync(mask_, a, 0, G) : a; };
auto group_from = [&](float a, int from) { return G > 1 ? __shfl_sync(mask_, a, from, G) : a; };
// which lanes of the group say so, and the first of them, -1 for none
auto group_ballot = [&](bool a) {
  return G == 1 ? (int)a : (int)(__ballot_sync(mask_, a) >> (threadIdx.x & 31 & ~(G - 1))) & (int)((1ull << G) - 1);
};
auto lowest_bit = [](int a) { return __ffs(a) - 1; };
auto least_of = [](float a, float b) { return fminf(a, b); };
auto most_of = [](float a, float b) { return fmaxf(a, b); };
auto from_int = [](int a) { return __int_as_float(a); };
auto to_int = [](float a) { return __float_as_int(a); };
#else
#define UNROLL
#define UNROLL4
#define LDG(p) (*(p))
#define SYNC()
#define MEET()
#define SHUFFLE(a, o) 0
#define INVERSE_ROOT(a) (1.0f / sqrtf(a))
auto group_any = [](int a) { return a; };
auto warp_any = [](bool a) { return a; };
auto warp_most = [](int a) { return a; };
auto group_first = [](float a) { return a; };
auto group_from = [](float a, int) { return a; };
auto group_ballot = [](bool a) { return (int)a; };
auto lowest_bit = [](int a) { return a ? 0 : -1; };
auto least_of = [](float a, float b) { return b < a ? b : a; };
auto most_of = [](float a, float b) { return a < b ? b : a; };
auto from_int = [](int a) { return (float)a; };
auto to_int = [](float a) { return (int)a; };
#endif
auto group_lowest = [&](bool a) { return lowest_bit(group_ballot(a)); };
auto group_sum = [&](float a) {
  UNROLL
  for (int o = 1; o < G; o *= 2) a += SHUFFLE(a, o);
  return a;
};
auto group_sum3 = [&](float& a, float& b, float& d) {
  UNROLL
  for (int o = 1; o < G; o *= 2) {
    a += SHUFFLE(a, o);
    b += SHUFFLE(b, o);
    d += SHUFFLE(d, o);
  }
};
"""

# Scratch of the environments of a block of 32 threads; their starts are shifted against each other by G banks.
_MEMORY_SHARED = r"""
constexpr int FLOATS = sizeof(Scratch) / 4, PAD = 32 - (FLOATS + 32 - G % 32) % 32;
struct alignas(16) Padded { Scratch s; float pad[PAD]; };
__shared__ Padded scratch_[32 / G];
Scratch* w = &scratch_[(threadIdx.x & 31) / G].s;
SYNC();
"""
_MEMORY_LOCAL = "Scratch scratch_; Scratch* w = &scratch_;"
# groups of one warp walk as many contacts as the one that has most, so that they stay together
_MOST_CONTACTS = "const int most_contacts = warp_most(nc);"

_STEP = r"""
if (nc > 0 || r.previous_count.data[env] > 0) match_contacts();
for (int substep = 0;; substep++) {
  const bool last = substep == substeps, composed = NR == 6 || !last;
  bool evaluated = false;
  poses();
  link_masses();
  if (composed) {
    own_masses();
    gather(0, 10);
  }
  {SMOOTH}
  keep_substep(substep);
  if (warp_any(nc > 0 || (rows & 1) || MB > 0)) to_u(w->free_v, w->u);
  {SWEEP}
  advance(moved, rubbed, touched, substep);
}
keep_contacts();
"""


# places of an inertia's components, of the linear velocity in `rate`, and of the wrench in `sub`
_LAYOUT_CPU = {"XX": 0, "YY": 5, "ZZ": 10, "XY": 1, "XZ": 2, "YZ": 6, "RATE": 4}
_LAYOUT_CPU |= {"FORCE": 12, "TORQUE": 16, "SUBTREE": 20}
_LAYOUT_LANES = {"XX": 0, "YY": 1, "ZZ": 2, "XY": 3, "XZ": 4, "YZ": 5, "RATE": 3}
_LAYOUT_LANES |= {"FORCE": 10, "TORQUE": 13, "SUBTREE": 16}


def _constants(size: SizeClass) -> str:
    numbers = {
        "G": size.lanes,
        "NR": size.root,
        "LB": size.links,
        "VB": size.velocities,
        "EB": size.entries + 8,
        "UB": size.row_width,
        "MB": size.mimics,
        "LOCAL_CONTACTS": LOCAL_CONTACTS,
        "BLOCK": size.block_size if size.wide else contact_setup.ROW_HEAD + 4 * size.row,
        "HEAD_SIZE": contact_setup.ROW_HEAD,
        "POOL": size.pool,
        "EXTRA": int(EXTRA),
        "LIMIT_TURNS": int(LIMIT_TURNS),
        "ATTEMPTS": int(ATTEMPTS),
        "LOCKED": 16,
        "OFF": int(OFF),
        **(_LAYOUT_CPU if size.wide else _LAYOUT_LANES),
        **{f"T_{name}": place for name, place in size.tables.items()},
    }
    floats = {
        "PUSH": PUSH,
        "RECOVERY": RECOVERY,
        "SUDDEN": SUDDEN,
        "SINGULAR": SINGULAR,
        "SOFT": SOFT,
        "LEAK_SPEED": LEAK,
        "IMPLICIT": IMPLICIT,
        "LEAST_GAIN": LEAST_GAIN,
        "UNRESOLVED": UNRESOLVED,
        "UNBOUNDED": UNBOUNDED,
        "STEEP_SHARE": STEEP_SHARE,
        "STEEP_SLOPE": STEEP_SLOPE,
        "AT_REST": AT_REST,
        "SETTLED": SETTLED,
        "UNMOVED": UNMOVED,
        "HALF_TURN": HALF_TURN,
        "SOUND": SOUND,
        "ENDLESS": ENDLESS,
        "FASTEST": FASTEST,
        "FASTEST_TURN": FASTEST_TURN,
        "CANCELLED": CANCELLED,
        "ROUNDING": ROUNDING,
        "TENSION": TENSION,
        "OWN_SHARE": OWN_SHARE,
        "YIELD": YIELD,
        "CORRECTION": CORRECTION,
        "MIMIC_FAST": FAST,
    }
    lines = [f"constexpr int {name} = {value};" for name, value in numbers.items()]
    lines += [f"constexpr float {name} = {float(value)!r}f;" for name, value in floats.items()]
    return "\n".join(lines)


def pieces(size: SizeClass, *more: str) -> str:
    """Constants and scratch of a class, and what stands on them."""
    head = [
        _constants(size),
        _PRELUDE_CPU if size.wide else _PRELUDE_LANES,
        base.SCRATCH.replace("{TWO_ACTS}", base.TWO_ACTS_CPU if size.wide else base.TWO_ACTS_LANES).replace(
            "{MIMICS}", mimic.SCRATCH if size.mimics else ""
        ),
        _MEMORY_SHARED if size.lanes > 1 else _MEMORY_LOCAL,
    ]
    return "\n".join([*head, *more])


def _factors(wide: bool) -> list[str]:
    if wide:
        return [mass.FACTOR_CPU, mass.SOLVES]
    return [
        factor_lanes.FACTOR.replace("{ROOT}", factor_lanes.ROOT),
        factor_lanes.INVERSE,
        factor_lanes.SOLVES,
    ]


def _mimic_pieces(size: SizeClass) -> dict[str, str]:
    """What mimic joints put into the step; nothing where there are none."""
    return {
        "{MIMIC_SPEED}": mimic.SPEED,
        "{MIMIC_START}": "mimic_rows();\nmimic_pass(true);",
        "{MIMIC_PASS}": "if (on) mimic_pass(biased);",
        "{MIMIC_RELAX}": "if (moves) mimic_pass(false);",
        "{MIMIC_KEEP}": mimic.KEEP,
        "{MIMIC_KICK}": mimic.KICK,
    }


def source(size: SizeClass) -> str:
    """The C++ body for a class."""
    wide = size.wide
    contact = contact_cpu if wide else contact_lanes
    idle = "float* idle = w->response;" if wide else "float* idle = nullptr;"
    sizes = base.SIZES_CPU if wide else base.SIZES_LANES
    places = base.PLACES_CPU if wide else base.PLACES_LANES
    clear = "" if wide else factor_lanes.CLEAR
    solve = drives.UNBLEND_SOLVE_CPU if wide else drives.UNBLEND_SOLVE_LANES
    smooth = drives.SMOOTH.replace("{INVERT}", "" if wide else "invert();").replace(
        "{EVALUATE}", drives.EVALUATE_CPU if wide else drives.EVALUATE_LANES
    )
    step = (
        _STEP.replace("{SMOOTH}", smooth)
        .replace("{SWEEP}", sweep.SWEEP)
        .replace("{START}", sweep.START_CPU if wide else sweep.START_LANES)
        .replace("{DOF_ROWS}", sweep.DOF_ROWS)
        .replace("{LIMIT_TURN}", sweep.LIMIT_TURN_CPU if wide else sweep.LIMIT_TURN_LANES)
        .replace("{FRICTION_ROWS}", friction.FRICTION_ROWS)
        .replace("{CONTACT_PASS}", contact.PASS + (mimic.PASS if size.mimics else ""))
    )
    for place, text in _mimic_pieces(size).items():
        step = step.replace(place, text if size.mimics else "")
    mimic_rows = mimic.ROWS.replace("{COUNT}", mimic.COUNT_CPU if wide else mimic.COUNT_LANES).replace(
        "{RESPONSES}", mimic.RESPONSES_CPU if wide else ""
    )
    body = "\n".join(
        [
            pieces(size),
            "float* spill = spill_.data + (long long)env * spill_stride;",
            base.ALGEBRA,
            contact_setup.TANGENT,
            base.SETTING.replace("{IDLE}", idle)
            .replace("{DISABLED}", base.DISABLED)
            .replace("{CLEAR}", clear)
            .replace("{PLACES}", places)
            .replace("{SIZES}", sizes),
            "" if wide else _MOST_CONTACTS,
            motion.HALF_ANGLES_CPU if wide else motion.HALF_ANGLES_LANES,
            motion.CHAIN_ALGEBRA_CPU if wide else motion.CHAIN_ALGEBRA_LANES,
            motion.POSES,
            bodies.LINK_MASSES_CPU if wide else bodies.LINK_MASSES_LANES,
            mass.COMPOSITES,
            mass.GATHER_CPU if wide else mass.GATHER_LANES,
            bodies.KICK_MOMENTUM,
            bodies.BODY_CPU if wide else bodies.VELOCITIES_LANES + bodies.WRENCHES_LANES,
            bodies.FORCE_OF_LINKS,
            mass.MASS_ROWS if wide else factor_lanes.MASS_ROWS,
            mass.MOMENTUM,
            mass.PIVOTS,
            mass.TENSION,
            *_factors(wide),
            drives.DRIVES,
            friction.FRICTION,
            drives.UNBLEND.replace("{SOLVE}", solve),
            drives.DOF_FLAGS,
            motion.MOVE,
            motion.TRAIL,
            motion.ADVANCE,
            contact_setup.CONTACT_COMMON,
            contact_setup.GEOMETRY,
            contact_setup.HEAD,
            contact.ROWS,
            mimic.SETTING + mimic_rows if size.mimics else "",
            step,
            base.FINISH,
        ]
    )
    return body if wide else loops.DEFINITIONS + loops.rolled(body)


def compile_options(cuda: bool) -> dict[str, Any]:
    """On CUDA divisions and roots are those of the hardware, good to two units in the last place."""
    return {"module_options": {"fast_math": True}} if cuda else {}


@functools.cache
def step_kernel(size: SizeClass, *, cuda: bool = False) -> Any:
    """The kernel of a class; its module is named by its content, so that the cache on disk serves it."""
    text = source(size)
    name = hashlib.sha1(text.encode()).hexdigest()[:12]

    def body(
        env: int,
        lane: int,
        table: wp.array[wp.int32],
        m: ModelData,
        k: ContactData,
        mimic: MimicData,
        time_step: wp.array[wp.float32],
        bounce_threshold: wp.array[wp.float32],
        substeps: int,
        relaxations: int,
        spill_stride: int,
        s: StateData,
        c: ControlData,
        r: ContactRows,
        y: StateData,
        spill_: wp.array[wp.float32],
    ): ...

    body.__name__ = body.__qualname__ = f"fused_body_{name}"
    native = wp.func_native(text)(body)

    def fused_step(
        table: wp.array[wp.int32],
        m: ModelData,
        k: ContactData,
        mimic: MimicData,
        time_step: wp.array[wp.float32],
        bounce_threshold: wp.array[wp.float32],
        substeps: wp.int32,
        relaxations: wp.int32,
        spill_stride: wp.int32,
        first: wp.int32,
        # outputs
        s: StateData,
        c: ControlData,
        r: ContactRows,
        y: StateData,
        spill: wp.array[wp.float32],
    ):
        thread = wp.tid()
        native(
            first + thread // wp.static(size.lanes),
            thread % wp.static(size.lanes),
            table,
            m,
            k,
            mimic,
            time_step,
            bounce_threshold,
            substeps,
            relaxations,
            spill_stride,
            s,
            c,
            r,
            y,
            spill,
        )

    fused_step.__name__ = fused_step.__qualname__ = f"fused_step_{name}"
    # more lanes than eight an environment would leave a multiprocessor short of registers
    bounds = {"launch_bounds": (32, 16)} if size.lanes > 8 else {}
    options = compile_options(cuda)
    return wp.kernel(fused_step, module="unique", enable_backward=False, **options, **bounds)
