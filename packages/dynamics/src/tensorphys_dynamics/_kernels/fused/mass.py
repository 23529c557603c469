"""Composite inertias, mass matrix, momentum of a floating base, and sparse factorisation."""

COMPOSITES = r"""
// Own mass, moment and inertia about the origin (implicit damping in them), to be summed over subtrees.
auto own_masses = [&]() {
  for (int l = lane; l < nl; l += G) {
    float* o = w->sub[l];
    const float* inertia = w->inertia[l];
    const float heavy = m.link_mass.data[link0 + l] * (1.0f + h * m.link_linear_damping.data[link0 + l]);
    const float turn = 1.0f + h * m.link_angular_damping.data[link0 + l];
    V x = load(w->com[l]), b = x * heavy;
    o[0] = heavy;
    store(o + 1, b);
    o[4] = inertia[XX] * turn + b.y * x.y + b.z * x.z;
    o[5] = inertia[YY] * turn + b.x * x.x + b.z * x.z;
    o[6] = inertia[ZZ] * turn + b.x * x.x + b.y * x.y;
    o[7] = inertia[XY] * turn - b.x * x.y;
    o[8] = inertia[XZ] * turn - b.x * x.z;
    o[9] = inertia[YZ] * turn - b.y * x.z;
  }
  MEET();
};
"""

# Components from `begin` to `end` summed from the leaves to the root: on the CPU a row at a time, in a group each
# lane carries its components through all links, which needs no barrier.
GATHER_CPU = r"""
auto gather = [&](const int begin, const int end) {
  for (int l = nl - 1; l > 0; l--) {
    float* to = w->sub[tab(T_PARENT + l)];
    const float* from = w->sub[l];
    for (int k = begin; k < end; k++) to[k] += from[k];
  }
};
"""
GATHER_LANES = r"""
auto gather = [&](const int begin, const int end) {
  for (int k = begin + lane; k < end; k += G)
    for (int l = nl - 1; l > 0; l--) w->sub[tab(T_PARENT + l)][k] += w->sub[l][k];
  MEET();
};
"""

MASS_ROWS = r"""
// Entries of the mass matrix by composite inertias [Featherstone 2008, section 6.2]. The motions of a floating root
// are unit vectors, so that the first six entries of a row are the components of the composite's momentum.
auto mass_rows = [&]() {
  for (int i = lane; i < nv; i += G) {
    const float* o = w->sub[tab(T_LINK + i)];
    V moment = load(o + 1), f, n;
    float* row = w->factor + row_start(i);
    const int depth = depth_of(i);
    if (i < NR) {
      float e[6] = {0, 0, 0, 0, 0, 0};
      for (int j = 0; j < NR; j++) e[j] = j == i ? 1.0f : 0.0f;
      V a = V{e[0], e[1], e[2]}, b = V{e[3], e[4], e[5]};
      n = symmetric(o + 4, b) + cross(moment, a);
      f = a * o[0] - cross(moment, b);
      const float all[6] = {f.x, f.y, f.z, n.x, n.y, n.z};
      for (int p = 0; p < 6; p++) if (p <= i) row[p] = all[p];
    } else {
      V a = load(w->motion[i]), b = load(w->motion[i] + 3);
      n = symmetric(o + 4, b) + cross(moment, a);
      f = a * o[0] - cross(moment, b);
      if (NR == 6) { store(row, f); store(row + 3, n); }
      UNROLL4
      for (int p = NR; p <= depth; p++) {
        const float* motion = w->motion[tab(T_CHAIN + row_start(i) + p)];
        row[p] = dot(load(motion), f) + dot(load(motion + 3), n);
      }
      row[depth] += m.dof_armature.data[dof0 + i];
    }
    w->inverse_root[i] = row[depth];  // what the factorisation measures its pivots by
  }
  MEET();
};
"""

PIVOTS = r"""
// A pivot that is never less than in exact arithmetic it can be: the inertia of the link itself, if the velocity is the
// last one of its link. With a heavy load on a light chain the subtractions of float32 may leave anything.
auto pivot_of = [&](int i, float pivot) {
  const float whole = w->inverse_root[i];
  if (pivot >= CANCELLED * whole) return pivot;
  float least = ROUNDING * whole;
  const int l = tab(T_LINK + i);
  if (i == tab(T_LAST + l)) {
    const float* inertia = w->inertia[l];
    V linear, angular;
    if (i < NR) {
      linear = V{0, 0, 0};
      angular = V{0, 0, 1};
    } else {
      linear = load(w->motion[i]);
      angular = load(w->motion[i] + 3);
    }
    linear = linear + cross(angular, load(w->com[l]));
    const V spin = V{inertia[XX] * angular.x + inertia[XY] * angular.y + inertia[XZ] * angular.z,
                     inertia[XY] * angular.x + inertia[YY] * angular.y + inertia[YZ] * angular.z,
                     inertia[XZ] * angular.x + inertia[YZ] * angular.y + inertia[ZZ] * angular.z};
    float own = m.link_mass.data[link0 + l] * dot(linear, linear) + dot(angular, spin);
    if (i >= NR) own += m.dof_armature.data[dof0 + i];
    least = greater(least, own);
  }
  return greater(pivot, least);
};
"""

TENSION = r"""
// Inertia against stiff transverse modes of heavily loaded light links, see `tension.py`.
auto joint_point = [&](int l) {
  V p = load(w->pos[l]);
  const int last = tab(T_FIRST + l + 1) - 1;
  if (last >= tab(T_FIRST + l) && tab(T_ROTATIONAL + last))
    p = p + rotate(load_q(w->rot[l]), load((const float*)&m.dof_anchor.data[dof0 + last]));
  return p;
};
auto add_tension = [&]() {
  if (NR == 6) return;
  if (lane == 0)
    for (int l = 1; l < nl; l++) {
      const int parent = tab(T_PARENT + l);
      if (parent == 0) continue;
      const V joint = joint_point(parent), arm = joint_point(l) - joint;
      const V lever = load(w->com[parent]) + origin - joint;
      const float* inertia = w->inertia[parent];
      const float own = m.link_mass.data[link0 + parent] * dot(lever, lever)
                      + 0.5f * (inertia[XX] + inertia[YY] + inertia[ZZ]);
      const float square = dot(arm, arm);
      const float wanted = TENSION * h * h * w->sub[l][0] * dot(gravity, arm) - OWN_SHARE * own;
      if (!(wanted > 0.0f && square > 0.0f)) continue;
      const V n = arm * (1.0f / sqrtf(square));
      for (int up = parent; up >= 0; up = tab(T_PARENT + up)) {
        float* o = w->sub[up];
        o[4] += wanted * (1.0f - n.x * n.x);
        o[5] += wanted * (1.0f - n.y * n.y);
        o[6] += wanted * (1.0f - n.z * n.z);
        o[7] -= wanted * n.x * n.y;
        o[8] -= wanted * n.x * n.z;
        o[9] -= wanted * n.y * n.z;
      }
    }
  SYNC();
};
"""

MOMENTUM = r"""
// Momentum, and angular momentum about the centre of mass: measured and, where it is known, the root velocity corrected so
// that it holds: with the composite mass, centre x and inertia I about it, dw = I^-1 dL, dv = dp / mass - dw cross x
// [Featherstone 2008, section 2.13], and the root carried so that the centre has moved by it. The columns of the root in the
// mass matrix give the part of the joints. That what is set is what is measured at the next step keeps rounding from adding up.
auto momentum_root = [&]() {
  for (int p = lane; p < 6; p += G) {
    float sum = 0.0f;
    UNROLL4
    for (int i = 6; i < nv; i++) sum += w->factor[row_start(i) + p] * w->v[i];
    w->joint[p] = sum;
  }
  MEET();
  const float* o = w->sub[0];
  V b = load(o + 1), x = b * (1.0f / o[0]), linear = load(w->v), angular = load(w->v + 3);
  V joint = load(w->joint), joint_spin = load(w->joint + 3) - cross(x, joint);
  const float about[6] = {o[4] - b.y * x.y - b.z * x.z, o[5] - b.x * x.x - b.z * x.z, o[6] - b.x * x.x - b.y * x.y,
                          o[7] + b.x * x.y, o[8] + b.x * x.z, o[9] + b.y * x.z};
  auto measured = [&]() { return linear * o[0] - cross(b, angular) + joint; };
  auto measured_spin = [&]() { return symmetric(about, angular) + joint_spin; };
  const float xx = about[0], yy = about[1], zz = about[2], xy = about[3], xz = about[4], yz = about[5];
  float cxx = yy * zz - yz * yz, cxy = xz * yz - xy * zz, cxz = xy * yz - xz * yy;
  const float determinant = xx * cxx + xy * cxy + xz * cxz, size = xx + yy + zz;
  // rounding of a heavy load far from the root may leave no inertia to invert
  const V held = linear, held_turn = angular;
  bool sound = known && determinant > SOUND * size * size * size;
  if (sound) {
    const float over = 1.0f / determinant;
    const float adjugate[6] = {cxx, xx * zz - xz * xz, xx * yy - xy * xy, cxy, cxz, xy * xz - xx * yz};
    for (int round = 0; round < 2; round++) {
      V dp = momentum - measured(), d = symmetric(adjugate, spin_momentum - measured_spin()) * over;
      linear = linear + (dp * (1.0f / o[0]) - cross(d, x));
      angular = angular + d;
    }
    sound = dot(angular, angular) <= FASTEST_TURN * FASTEST_TURN && dot(linear, linear) <= FASTEST * FASTEST;
    if (sound && nl > 1) travel = travel - (shift + x - middle - middle_step);
  }
  MEET();
  if (sound && lane == 0) {
    store(w->v, linear);
    store(w->v + 3, angular);
    if (nl > 1) store(w->root, (centre - origin) + travel);
  }
  MEET();
  if (!sound) {
    linear = held;
    angular = held_turn;
    momentum = measured();
    spin_momentum = measured_spin();
  }
  middle = x;
  middle_speed = momentum * (1.0f / o[0]);
};
"""

# M = L^T D L over the chains, rows overwritten by L, the right-hand side `kick` eliminated along
# [Featherstone 2008, section 6.5]. Rows are padded, so that the CPU takes eight entries at a time; what it writes
# beyond the end of a row is never read as an entry.
FACTOR_CPU = r"""
auto factorize = [&]() {
  for (int i = nv - 1; i >= 0; i--) {
    if (w->flag[i] & LOCKED) {  // its row waits for the holding impulse
      w->inverse_root[i] = 0.0f;
      continue;
    }
    float* row = w->factor + row_start(i);
    const int depth = depth_of(i), chain = T_CHAIN + row_start(i);
    const float over = 1.0f / pivot_of(i, row[depth]), x = w->kick[i];
    w->inverse_root[i] = sqrtf(over);
    // the row stays M's until all others have had it: a scalar store among vector loads would stall each of them
    for (int p = depth - 1; p >= 0; p--) {
      const int j = tab(chain + p);
      float* other = w->factor + row_start(j);
      const float ratio = row[p] * over;
      for (int q = 0; q <= p; q += 8) *(F8*)(other + q) = *(F8*)(other + q) - *(F8*)(row + q) * ratio;
      w->kick[j] -= ratio * x;
    }
    for (int q = 0; q < depth; q += 8) *(F8*)(row + q) = *(F8*)(row + q) * over;
  }
};
"""
SOLVES = r"""
// x <- L^-1 D^-1 x for the right-hand side that `factorize` has eliminated; what friction holds stays at zero, its row
// gives the impulse for that and is a row of L from then on
auto back_substitute = [&](float* x) {
  for (int stage = 0; stage < stage_count; stage++) {
    for (int o = tab(T_STAGE + stage) + lane; o < tab(T_STAGE + stage + 1); o += G) {
      const int i = tab(T_VORDER + o), depth = depth_of(i);
      float* row = w->factor + row_start(i);
      const int* chain = T + T_CHAIN + row_start(i);
      if (w->flag[i] & LOCKED) {
        float hold = -x[i];
        for (int p = 0; p < depth; p++) {
          hold += row[p] * x[LDG(chain + p)];
          row[p] = 0.0f;
        }
        w->friction[i] = hold;
        x[i] = 0.0f;
        continue;
      }
      float value = x[i] * w->inverse_root[i] * w->inverse_root[i];
      UNROLL4
      for (int p = 0; p < depth; p++) value -= row[p] * x[LDG(chain + p)];
      x[i] = value;
    }
    SYNC();
  }
};
// u = D^1/2 L v, in which the kinetic energy is |u|^2 / 2
auto to_u = [&](const float* v, float* u) {
  for (int i = lane; i < nv; i += G) {
    const int depth = depth_of(i);
    const float* row = w->factor + row_start(i);
    const int* chain = T + T_CHAIN + row_start(i);
    float value = v[i];
    UNROLL4
    for (int p = 0; p < depth; p++) value += row[p] * v[LDG(chain + p)];
    u[i] = w->flag[i] & LOCKED ? 0.0f : value / w->inverse_root[i];
  }
  SYNC();
};
auto from_u = [&](const float* u, float* v) {
  for (int stage = 0; stage < stage_count; stage++) {
    for (int o = tab(T_STAGE + stage) + lane; o < tab(T_STAGE + stage + 1); o += G) {
      const int i = tab(T_VORDER + o), depth = depth_of(i);
      const float* row = w->factor + row_start(i);
      const int* chain = T + T_CHAIN + row_start(i);
      float value = u[i] * w->inverse_root[i];
      UNROLL4
      for (int p = 0; p < depth; p++) value -= row[p] * v[LDG(chain + p)];
      v[i] = value;
    }
    SYNC();
  }
};
auto from_u_twice = [&](const float* u0, float* v0, const float* u1, float* v1) {
  for (int stage = 0; stage < stage_count; stage++) {
    for (int o = tab(T_STAGE + stage) + lane; o < tab(T_STAGE + stage + 1); o += G) {
      const int i = tab(T_VORDER + o), depth = depth_of(i);
      const float* row = w->factor + row_start(i);
      const int* chain = T + T_CHAIN + row_start(i);
      float value0 = u0[i] * w->inverse_root[i], value1 = u1[i] * w->inverse_root[i];
      UNROLL4
      for (int p = 0; p < depth; p++) {
        const int j = LDG(chain + p);
        value0 -= row[p] * v0[j];
        value1 -= row[p] * v1[j];
      }
      v0[i] = value0;
      v1[i] = value1;
    }
    SYNC();
  }
};
// Row D^-1/2 L^-T e_i; returns its square, the inverse inertia of the velocity.
auto response_row = [&](int i, float* store_) {
  const int depth = depth_of(i);
  float* y = store_ + row_start(i);
  const int* chain = T + T_CHAIN + row_start(i);
  for (int p = 0; p < depth; p++) y[p] = 0.0f;
  y[depth] = 1.0f;
  float total = 0.0f;
  for (int p = depth; p >= 0; p--) {
    const int j = LDG(chain + p);
    const float* row = w->factor + row_start(j);
    float value = y[p];
    for (int q = 0; q < p; q++) y[q] -= row[q] * value;
    value *= w->inverse_root[j];
    y[p] = value;
    total += value * value;
  }
  return total;
};
"""
