"""Link poses and joint motions; moving over a substep."""

# Sine and cosine of half the joint positions. On the CPU by polynomials after Cody and Waite's reduction, so that
# the compiler vectorises over the joints; positions too large for the reduction take the library's functions.
HALF_ANGLES_CPU = r"""
auto sine_cosine = [](float a, float& sine, float& cosine) { sine = sinf(a); cosine = cosf(a); };
auto half_angles = [&]() {
  float largest = 0.0f;
  for (int i = NR; i < nv; i++) {
    float a = 0.5f * w->q[i];
    float turns = (a * 0.636619772f + 12582912.0f) - 12582912.0f;
    float r = ((a - turns * 1.5703125f) - turns * 4.837512969970703125e-4f) - turns * 7.54978995489188e-8f;
    float z = r * r;
    float sn = r + r * z * (-1.6666654611e-1f + z * (8.3321608736e-3f - z * 1.9515295891e-4f));
    float cs = 1.0f - 0.5f * z + z * z * (4.166664568e-2f + z * (-1.388731625e-3f + z * 2.443315712e-5f));
    int quadrant = (int)turns;
    float a_sn = (quadrant & 1) ? cs : sn, a_cs = (quadrant & 1) ? sn : cs;
    w->sine[i] = (quadrant & 2) ? -a_sn : a_sn;
    w->cosine[i] = ((quadrant + 1) & 2) ? -a_cs : a_cs;
    largest = a > largest ? a : (-a > largest ? -a : largest);
  }
  if (!(largest < 8192.0f))
    for (int i = NR; i < nv; i++) { w->sine[i] = sinf(0.5f * w->q[i]); w->cosine[i] = cosf(0.5f * w->q[i]); }
};
"""
HALF_ANGLES_LANES = r"""
// By the polynomials of the CPU; the library's functions would be more code than all links take.
auto sine_cosine = [](float a, float& sine, float& cosine) {
  float turns = rintf(a * 0.636619772f);
  float r = ((a - turns * 1.5703125f) - turns * 4.837512969970703125e-4f) - turns * 7.54978995489188e-8f;
  if (!(a < 8192.0f && a > -8192.0f)) {
    const double whole = rint(a * 0.63661977236758134), rest = a - whole * 1.5707963267948966;
    r = (float)rest;
    turns = (float)(whole - 4.0 * floor(0.25 * whole));
  }
  const float z = r * r;
  const float sn = r + r * z * (-1.6666654611e-1f + z * (8.3321608736e-3f - z * 1.9515295891e-4f));
  const float cs = 1.0f - 0.5f * z + z * z * (4.166664568e-2f + z * (-1.388731625e-3f + z * 2.443315712e-5f));
  const int quadrant = (int)turns;
  const float a_sn = (quadrant & 1) ? cs : sn, a_cs = (quadrant & 1) ? sn : cs;
  sine = (quadrant & 2) ? -a_sn : a_sn;
  cosine = ((quadrant + 1) & 2) ? -a_cs : a_cs;
};
auto half_angles = [&]() {
  for (int i = NR + lane; i < nv; i += G) sine_cosine(0.5f * w->q[i], w->sine[i], w->cosine[i]);
  MEET();
};
"""

# Vectors and quaternions of the walk along the chains: four-vectors on the CPU (lane 3 of a vector means nothing, and
# a store spills into the next item, which is written later), plain structs in a group.
CHAIN_ALGEBRA_CPU = r"""
auto off_centre = [](F4 a) { return a[0] != 0.0f || a[1] != 0.0f || a[2] != 0.0f; };
auto turn3 = [](F4 a) { return __builtin_shufflevector(a, a, 1, 2, 0, 3); };
auto take = [](const float* p) { return F4{p[0], p[1], p[2], 0.0f}; };
auto take4 = [](const float* p) { return *(const F4*)p; };
auto put = [](float* p, F4 a) { *(F4*)p = a; };
auto put_q = put;
auto cross4 = [&](F4 a, F4 b) { return turn3(a * turn3(b) - turn3(a) * b); };
auto rotate4 = [&](F4 q, F4 a) {
  F4 t = cross4(q, a);
  t += t;
  return a + t * q[3] + cross4(q, t);
};
auto multiply4 = [](F4 a, F4 b) {
  const F4 sign = F4{1, 1, 1, -1};
  F4 ax = __builtin_shufflevector(a, a, 0, 1, 2, 0), bx = __builtin_shufflevector(b, b, 3, 3, 3, 0);
  F4 ay = __builtin_shufflevector(a, a, 1, 2, 0, 1), by = __builtin_shufflevector(b, b, 2, 0, 1, 1);
  F4 az = __builtin_shufflevector(a, a, 2, 0, 1, 2), bz = __builtin_shufflevector(b, b, 1, 2, 0, 2);
  return b * a[3] - az * bz + sign * (ax * bx + ay * by);
};
auto normalize4 = [](F4 q) {
  F4 n = q * q;
  n += __builtin_shufflevector(n, n, 1, 0, 3, 2);
  const float square = n[0] + n[2];
  return q * (square > 0.9995f && square < 1.0005f ? 1.5f - 0.5f * square : 1.0f / sqrtf(square));
};
auto turned4 = [](F4 axis, float sn, float cs) {
  F4 q = axis * sn;
  q[3] = cs;
  return q;
};
"""
CHAIN_ALGEBRA_LANES = r"""
auto off_centre = [](V a) { return a.x != 0.0f || a.y != 0.0f || a.z != 0.0f; };
auto take = load;
auto take4 = load_q;
auto put = store;
auto put_q = store_q;
auto cross4 = cross;
auto rotate4 = rotate;
auto multiply4 = multiply;
auto normalize4 = normalize;
auto turned4 = [](V axis, float sn, float cs) { return Q{axis.x * sn, axis.y * sn, axis.z * sn, cs}; };
"""

POSES = r"""
// Link poses and joint motions about the root's centre of mass; centres of mass and inertias in environment axes.
auto poses = [&]() {
  half_angles();
  origin = rotate(load_q(w->root + 3), load(com0));
  if (lane == 0) {
    store_q(w->rot[0], load_q(w->root + 3));
    store(w->pos[0], V{0, 0, 0});
  }
  MEET();
  for (int level = 1; level < level_count; level++) {
    for (int o = tab(T_LEVEL + level) + lane; o < tab(T_LEVEL + level + 1); o += G) {
      int l = tab(T_ORDER + o), parent = tab(T_PARENT + l);
      const int first = tab(T_FIRST + l), end = tab(T_FIRST + l + 1);
      const float* rest = (const float*)&m.link_rest_pose.data[link0 + l];
      const auto offset = take(rest);
      const auto turn = take4(rest + 3);
      // of the first joint, under way with the rest pose
      auto next_axis = take(first < end ? (const float*)&m.dof_axis.data[dof0 + first] : rest);
      auto next_anchor = take(first < end ? (const float*)&m.dof_anchor.data[dof0 + first] : rest);
      bool next_rotational = first < end && tab(T_ROTATIONAL + first);
      auto r = take4(w->rot[parent]);
      auto p = take(w->pos[parent]) + rotate4(r, offset);
      r = normalize4(multiply4(r, turn));
      for (int i = first; i < end; i++) {
        const auto local = next_axis, anchor = next_anchor;
        const bool rotational = next_rotational;
        if (i + 1 < end) {
          next_axis = take((const float*)&m.dof_axis.data[dof0 + i + 1]);
          next_anchor = take((const float*)&m.dof_anchor.data[dof0 + i + 1]);
          next_rotational = tab(T_ROTATIONAL + i + 1);
        }
        auto axis = rotate4(r, local);
        if (rotational) {
          const auto turned = multiply4(r, turned4(local, w->sine[i], w->cosine[i]));
          auto pivot = p;
          if (off_centre(anchor)) {
            pivot = p + rotate4(r, anchor);
            p = pivot - rotate4(turned, anchor);
          }
          r = turned;
          put(w->motion[i], cross4(pivot - take(&origin.x), axis));
          put(w->motion[i] + 3, axis);
        } else {
          p = p + axis * w->q[i];
          put(w->motion[i], axis);
          store(w->motion[i] + 3, V{0, 0, 0});
        }
      }
      put_q(w->rot[l], r);
      put(w->pos[l], p);
    }
    MEET();
  }
};
"""

MOVE = r"""
auto largest_speed = [&](int i) {
  const float bound = m.dof_max_velocity.data[dof0 + i];
  return tab(T_ROTATIONAL + i) ? lesser(bound, HALF_TURN / h) : bound;
};
// Have an articulation whose velocities are no numbers any more stand where it is, and mark it.
auto stop_diverged = [&](float* v) {
  int wrong = 0;
  for (int i = lane; i < nv; i += G) if (!(magnitude(v[i]) <= ENDLESS)) wrong = 1;
  if (!group_any(wrong)) return;
  known = 0;
  for (int i = lane; i < nv; i += G) {
    v[i] = w->kick[i] = w->limit_force[i] = 0.0f;
    w->saturation[i] = 0;
    if (i >= NR) s.dof_friction_force.data[dof0 + i] = 0.0f;
    if (!(magnitude(w->v[i]) <= ENDLESS)) w->v[i] = w->half_kick[i] = 0.0f;
  }
  if (lane == 0) s.diverged.data[env] = 1;
  SYNC();
};
// Bound the speeds of joints and of a floating root; tells whether the root was bounded.
auto clamp = [&](float* v) {
  int clamped = 0;
  for (int i = NR + lane; i < nv; i += G) {
    const float bound = largest_speed(i);
    v[i] = lesser(greater(v[i], -bound), bound);
  }
  if (NR == 6) {
    V a = load(v), b = load(v + 3);
    float linear = dot(a, a), angular = dot(b, b);
    float top = lesser(m.link_max_linear_velocity.data[link0], FASTEST), spin = lesser(m.link_max_angular_velocity.data[link0], HALF_TURN / h);
    MEET();
    if (linear > top * top) {
      clamped = 1;
      if (lane == 0) {
        store(v, a * (top / sqrtf(linear)));
        if (top == FASTEST) s.diverged.data[env] = 1;
      }
    }
    if (angular > spin * spin) { clamped = 1; if (lane == 0) store(v + 3, b * (spin / sqrtf(angular))); }
  }
  MEET();
  return clamped;
};
// The root's centre of mass moves along a line, its orientation turns at constant angular velocity.
auto move_root = [&](V linear, V angular) {
  Q q = load_q(w->root + 3);
  V com = load(com0), turn = angular * h;
  float half = 0.5f * sqrtf(dot(turn, turn)), square = half * half, scale, cs;
  if (half < 0.25f) {
    scale = 0.5f - square * (0.083333333f - square * (0.0041666667f - square * 0.0000992063f));
    cs = 1.0f - square * (0.5f - square * (0.041666667f - square * (0.0013888889f - square * 2.48016e-5f)));
  } else {
    sine_cosine(half, scale, cs);
    scale = 0.5f * scale / half;
  }
  q = multiply(Q{turn.x * scale, turn.y * scale, turn.z * scale, cs}, q);
  q = normalize(q);
  shift = linear * h;
  travel = travel + shift;  // summed apart, so that a step rounds the position once
  SYNC();
  if (lane == 0) {
    store(w->root, (centre - rotate(q, com)) + travel);
    store_q(w->root + 3, q);
  }
};
"""

TRAIL = r"""
// Where an array of the trail has the first of `count` values of this environment and substep.
auto trail_row = [&](int substep, int count) {
  return ((long long)substep * s.root_synced.shape[0] + env) * count;
};
// Positions and velocities of a substep, and its kick over its whole length; the velocity after the sweep comes to it.
auto keep_substep = [&](int substep) {
  const long long at = trail_row(substep, nv), q_at = trail_row(substep, nv - NR) - NR;
  for (int i = lane; i < nv; i += G) {
    y.velocity.data[at + i] = w->v[i];
    y.velocity_change.data[at + i] = w->kick[i] - w->free_v[i] + (unblended && i >= NR ? w->force[i] : 0.0f);
    if (i >= NR) y.dof_position.data[q_at + i] = w->q[i];
  }
  float* pose = (float*)&y.root_pose.data[trail_row(substep, 1)];
  for (int i = lane; i < 7; i += G) pose[i] = w->root[i];
  unblended = 0;
};
"""

ADVANCE = r"""
// Positions by the velocity after the biased pass; then the velocity reported, synchronised with the positions:
// half a smooth kick more where nothing but smooth forces acted.
auto advance = [&](bool moved, bool rubbed, bool touched, int substep) {
  if (moved) from_u_twice(w->drift, w->sine, w->u, w->cosine);
  else for (int i = lane; i < nv; i += G) w->sine[i] = w->cosine[i] = w->free_v[i];
  MEET();
  for (int i = NR + lane; i < nv; i += G)
    if (w->flag[i] & 4) {
      float force = w->drive[i] - w->gain[i] * (w->cosine[i] - w->free_v[i]);
      if (magnitude(force) < effort_bound(i, w->free_v[i])) w->saturation[i] = 0;
    }
  // what friction changed belongs to the kick whose half synchronises the velocity
  if (rubbed) for (int i = lane; i < nv; i += G) w->kick[i] += w->cosine[i] - w->free_v[i];
  stop_diverged(w->sine);
  stop_diverged(w->cosine);
  clamp(w->sine);
  if (NR == 6) move_root(load(w->sine), load(w->sine + 3));
  else {
    const float* root = (const float*)&s.root_velocity.data[env];
    const V linear = load(root), angular = load(root + 3);
    // a root at rest stays to the last bit, see `advance.py`
    if (dot(linear, linear) + dot(angular, angular) > 0.0f) move_root(linear, angular);
  }
  for (int i = NR + lane; i < nv; i += G) w->q[i] += h * w->sine[i];
  const int clamped = clamp(w->cosine);
  if (clamped) known = 0;
  for (int i = lane; i < nv; i += G) {
    float half = loaded ? 0.0f : 0.5f * w->kick[i];
    if (i < NR) {
      if (clamped) half = 0.0f;
      if (i >= 3) half = lesser(greater(half, -HALF_TURN / h), HALF_TURN / h);
    } else if (tab_smooth(i)) {
      const float bound = largest_speed(i);
      half = lesser(greater(half, -bound - w->cosine[i]), bound - w->cosine[i]);
    } else half = 0.0f;
    const float change = y.velocity_change.data[trail_row(substep, nv) + i] + w->cosine[i];
    y.velocity_change.data[trail_row(substep, nv) + i] = magnitude(change) < 3.0e38f ? change : 0.0f;
    s.velocity_change.data[velocity0 + i] = w->cosine[i] - (w->v[i] - w->half_kick[i]);
    w->v[i] = w->cosine[i] + half;
    // a known momentum gives the synchronised root velocity; there is nothing to take back then
    w->half_kick[i] = i < NR && known && !touched ? 0.0f : half;
  }
  // limits act inside and leave the momentum as it is
  root_synced = known && !touched;
  if (touched) known = 0;
  fresh = 0;
  MEET();
};
"""
