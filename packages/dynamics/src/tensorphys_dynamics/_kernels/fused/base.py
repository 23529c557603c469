"""Scratch of an environment, small algebra, and the setting of one call."""

SCRATCH = r"""
struct V { float x, y, z;
  CUDA_CALLABLE V operator+(V b) const { return V{x + b.x, y + b.y, z + b.z}; }
  CUDA_CALLABLE V operator-(V b) const { return V{x - b.x, y - b.y, z - b.z}; }
  CUDA_CALLABLE V operator*(float s) const { return V{x * s, y * s, z * s}; }
};
struct Q { float x, y, z, w; };
struct Scratch {
  float root[7];                    // pose of the root link
  float joint[6];                   // momentum of the joint velocities alone
  float rot[LB][4], pos[LB + 1][3]; // link rotation; origin relative to that of the root
  float com[LB + 1][3];             // centre of mass relative to that of the root
  float motion[VB + 1][6];          // linear, angular motion of each velocity index
  float q[VB], v[VB], half_kick[VB], kick[VB], free_v[VB], sine[VB], cosine[VB];
  float inverse_root[VB], gain[VB], drive[VB], limit_force[VB], limit_impulse[VB], row_mass[VB];
  float friction[VB];               // impulse of friction
  float u[UB], drift[UB];           // D^1/2 L v after the last and after the biased pass
  float factor[EB];                 // M, then L and D
  int saturation[VB], flag[VB];     // bits of `flag`: see `dof_flags` and the enumeration in the setting
  {MIMICS}
  {TWO_ACTS}
};
"""

# What the smooth part and what the sweep need, in one place for a group, whose memory is short.
TWO_ACTS_CPU = r"""
  float inertia[LB][12];            // about the centre of mass, columns of four
  float rate[LB][16];               // angular and linear velocity, then their velocity-product rates
  float sub[LB][SUBTREE];           // of the subtree: mass, moment 3, inertia 6 (xx yy zz xy xz yz), force, torque
  float force[VB], response[EB];    // rows D^-1/2 L^-T e_i of limits and slacks
  float blocks[LOCAL_CONTACTS][BLOCK];
"""
TWO_ACTS_LANES = r"""
  union { float response[EB], rate[LB][12]; };  // V = R^-1, see `factor_lanes.py`; velocities are dead by then
  union {
    struct { float inertia[LB][6], sub[LB][SUBTREE], force[VB]; };
    alignas(16) float pool[POOL];
  };
"""

ALGEBRA = r"""
auto lesser = [](float a, float b) { return b < a ? b : a; };
auto greater = [](float a, float b) { return b > a ? b : a; };
auto magnitude = [](float a) { return a < 0.0f ? -a : a; };
auto dot = [](V a, V b) { return a.x * b.x + a.y * b.y + a.z * b.z; };
auto cross = [](V a, V b) { return V{a.y * b.z - a.z * b.y, a.z * b.x - a.x * b.z, a.x * b.y - a.y * b.x}; };
auto load = [](const float* p) { return V{p[0], p[1], p[2]}; };
auto store = [](float* p, V a) { p[0] = a.x; p[1] = a.y; p[2] = a.z; };
auto load_q = [](const float* p) { return Q{p[0], p[1], p[2], p[3]}; };
auto store_q = [](float* p, Q a) { p[0] = a.x; p[1] = a.y; p[2] = a.z; p[3] = a.w; };
auto multiply = [](Q a, Q b) {
  return Q{a.w * b.x + b.w * a.x + a.y * b.z - b.y * a.z, a.w * b.y + b.w * a.y + a.z * b.x - b.z * a.x,
           a.w * b.z + b.w * a.z + a.x * b.y - b.x * a.y, a.w * b.w - a.x * b.x - a.y * b.y - a.z * b.z};
};
// R(q) a = a + 2 w (v x a) + 2 v x (v x a)
auto rotate = [&](Q q, V a) {
  V v = V{q.x, q.y, q.z}, t = cross(v, a) * 2.0f;
  return a + t * q.w + cross(v, t);
};
auto normalize = [](Q q) {
  float n = q.x * q.x + q.y * q.y + q.z * q.z + q.w * q.w;
  // one Newton step of 1 / sqrt(n) from 1 is exact to rounding this near to 1
  float s = n > 0.9995f && n < 1.0005f ? 1.5f - 0.5f * n : 1.0f / sqrtf(n);
  return Q{q.x * s, q.y * s, q.z * s, q.w * s};
};
// symmetric 3x3 as xx yy zz xy xz yz
auto symmetric = [](const float* m, V a) {
  return V{m[0] * a.x + m[3] * a.y + m[4] * a.z, m[3] * a.x + m[1] * a.y + m[5] * a.z,
           m[4] * a.x + m[5] * a.y + m[2] * a.z};
};
"""

SIZES_CPU = "const int nl = tab(0), nv = tab(1);"
SIZES_LANES = "constexpr int nl = LB, nv = VB;"

# Where a row starts and its last place; groups read both at once.
PLACES_CPU = r"""
auto row_start = [&](int i) { return LDG(T + T_ROW + i); };
auto depth_of = [&](int i) { return LDG(T + T_DEPTH + i); };
"""
PLACES_LANES = r"""
auto row_start = [&](int i) { return LDG(T + T_ROW + i) & 0xffff; };
auto depth_of = [&](int i) { return LDG(T + T_ROW + i) >> 16; };
"""

SETTING = r"""
{DISABLED}
const int* T = table.data;
auto tab = [&](int at) { return LDG(T + at); };
{PLACES}
{SIZES}
const int level_count = tab(2), stage_count = tab(3), entry_count = tab(4);
const int link0 = env * nl, dof0 = env * (nv - NR) - NR, velocity0 = env * nv;  // dof0 + i: row of index i
const float h = time_step.data[0] / (float)substeps;
const int slot0 = k.slot_start.data[env], nc = k.count.data[env];
const float* gravity_ = (const float*)&m.gravity.data[env];
const V gravity = V{gravity_[0], gravity_[1], gravity_[2]};
const float* com0 = (const float*)&m.link_com.data[link0];
int fresh = s.fresh.data[env], root_synced = s.root_synced.data[env], known = 0, loaded = 0, unblended = 0;
V momentum = V{0, 0, 0}, spin_momentum = V{0, 0, 0}, shift = V{0, 0, 0}, origin = V{0, 0, 0};
// centre of mass relative to that of the root, how it moves, and its way in the substep by the momentum
V middle = V{0, 0, 0}, middle_speed = V{0, 0, 0}, middle_step = V{0, 0, 0};

for (int i = lane; i < 7; i += G) w->root[i] = ((const float*)&s.root_pose.data[env])[i];
for (int i = lane; i < entry_count; i += G) w->factor[i] = 0.0f;
{CLEAR}
for (int i = lane; i < UB; i += G) { w->u[i] = 0.0f; w->drift[i] = 0.0f; }
// What acts on a degree of freedom; friction with a coefficient goes by the load of the joint.
enum { ROUGH = 256, BY_LOAD = 512, BOUNDED = 1024, SMOOTH = 2048, KINDS = 0xF00 };
int kinds = 0;
for (int i = lane; i < nv; i += G) {
  w->v[i] = s.velocity.data[velocity0 + i];
  w->half_kick[i] = s.half_kick.data[velocity0 + i];
  w->flag[i] = 0;
  if (i >= NR) {
    const int d = dof0 + i;
    const float resting = m.dof_static_friction.data[d], viscous = m.dof_viscous_friction.data[d];
    const bool given = resting != 0.0f || viscous != 0.0f, driven = m.dof_drive_type.data[d] != 0;
    const bool by_load = !given && m.dof_friction_coefficient.data[d] > 0.0f;
    const bool rough = by_load || (given && resting + m.dof_dynamic_friction.data[d] > 0.0f);
    const bool envelope = m.dof_envelope.data[d] != 0;
    const bool bounded = envelope || (driven && m.dof_max_force.data[d] < UNBOUNDED);
    // a drive without gains is none
    const bool idle_drive = m.dof_stiffness.data[d] == 0.0f && m.dof_damping.data[d] == 0.0f;
    const bool smooth = (!driven || idle_drive) && !envelope && !rough && viscous == 0.0f && m.dof_passive_stiffness.data[d] == 0.0f
                     && m.dof_passive_damping.data[d] == 0.0f;
    w->flag[i] = (rough ? ROUGH : 0) | (by_load ? BY_LOAD : 0) | (bounded ? BOUNDED : 0) | (smooth ? SMOOTH : 0);
    kinds |= w->flag[i];
    w->q[i] = s.dof_position.data[dof0 + i];
    w->saturation[i] = s.dof_saturation.data[dof0 + i];
    w->limit_force[i] = s.dof_limit_force.data[dof0 + i];
  }
}
const bool rough = group_any(kinds & ROUGH), weighed = group_any(kinds & BY_LOAD);
SYNC();
{IDLE}
// share of the mass that falls
float falling = 0.0f, total_mass = 0.0f;
if (NR == 6) {
  for (int l = lane; l < nl; l += G) {
    falling += m.link_mass.data[link0 + l] * m.link_gravity.data[link0 + l];
    total_mass += m.link_mass.data[link0 + l];
  }
  total_mass = group_sum(total_mass);
  falling = group_sum(falling) / total_mass;
}
// centre of mass of the root at the start of the step, and how far it has come, with what rounding of its place left out
const V centre = load(w->root) + rotate(load_q(w->root + 3), load(com0));
V travel = load((const float*)&s.root_remainder.data[env]);
"""

# An environment whose articulation is out of the simulation stands still; inputs of one step are cleared.
DISABLED = r"""
if (m.link_disabled.data[env * table.data[0]]) {
  const int links = table.data[0], velocities = table.data[1];
  for (int l = lane; l < links; l += G) {
    const int at = env * links + l;
    for (int e = 0; e < 6; e++) ((float*)&s.link_velocity.data[at])[e] = 0.0f;
    for (int e = 0; e < 3; e++) {
      float* force = (float*)&c.link_force.data[at];
      float* torque = (float*)&c.link_torque.data[at];
      ((float*)&s.previous_force.data[at])[e] = force[e];
      ((float*)&s.previous_torque.data[at])[e] = torque[e];
      force[e] = torque[e] = 0.0f;
    }
  }
  for (int i = lane; i < velocities; i += G) {
    const int at = env * velocities + i;
    s.velocity.data[at] = s.half_kick.data[at] = s.velocity_change.data[at] = 0.0f;
  }
  if (lane == 0) {
    s.fresh.data[env] = 0;
    s.root_synced.data[env] = 0;
    r.previous_count.data[env] = 0;
  }
  return;
}
"""

FINISH = r"""
// ---- state that the user sees; inputs of one step are remembered and cleared
for (int l = lane; l < nl; l += G) {
  const float* r = w->rate[l];
  V angular = load(r), linear = load(r + RATE) + cross(angular, load(w->com[l]));
  V p = load(w->root) + load(w->pos[l]);
  float* pose = (float*)&s.link_pose.data[link0 + l];
  float* velocity = (float*)&s.link_velocity.data[link0 + l];
  store(pose, p);
  store_q(pose + 3, load_q(w->rot[l]));
  store(velocity, linear);
  store(velocity + 3, angular);
  float* force = (float*)&c.link_force.data[link0 + l];
  float* torque = (float*)&c.link_torque.data[link0 + l];
  store((float*)&s.previous_force.data[link0 + l], load(force));
  store((float*)&s.previous_torque.data[link0 + l], load(torque));
  store(force, V{0, 0, 0});
  store(torque, V{0, 0, 0});
}
for (int i = lane; i < nv; i += G) {
  s.velocity.data[velocity0 + i] = w->v[i];
  s.half_kick.data[velocity0 + i] = w->half_kick[i];
  if (i >= NR) {
    s.dof_position.data[dof0 + i] = w->q[i];
    s.dof_saturation.data[dof0 + i] = w->saturation[i];
    s.dof_limit_force.data[dof0 + i] = w->limit_force[i];
    s.previous_actuation.data[dof0 + i] = c.actuation.data[dof0 + i];
  }
}
for (int i = lane; i < 7; i += G) ((float*)&s.root_pose.data[env])[i] = w->root[i];
if (lane == 0) {
  if (NR == 6)
    store((float*)&s.root_remainder.data[env], (centre - (load(w->root) + rotate(load_q(w->root + 3), load(com0)))) + travel);
  s.root_synced.data[env] = root_synced;
  s.fresh.data[env] = fresh;
}
"""
