"""Friction of joints: what it holds, and its rows; what is meant is written out in the generic path."""

FRICTION = r"""
auto friction_bounds = [&](int i, float& stick, float& slide) {
  const int d = dof0 + i;
  slide = m.dof_dynamic_friction.data[d];
  stick = greater(m.dof_static_friction.data[d], slide);
  if (w->flag[i] & BY_LOAD) stick = slide = m.dof_friction_coefficient.data[d] * w->cosine[i];
};
// |force| + |torque| of each joint: the rate of momentum of its subtree, if links go on changing their velocities as in
// the substep before, less what acts on the subtree otherwise; about the joint. Until positions move, `cosine` has it.
auto joint_loads = [&]() {
  if (lane == 0) {
    auto change = [&](int i) { return s.velocity_change.data[velocity0 + i] * (1.0f / h); };
    for (int l = 0; l < nl; l++) {
      V linear = V{0, 0, 0}, angular = V{0, 0, 0};
      if (l > 0) {
        const float* up = w->rate[tab(T_PARENT + l)];
        linear = load(up);
        angular = load(up + 3);
        for (int i = tab(T_FIRST + l); i < tab(T_FIRST + l + 1); i++) {
          linear = linear + load(w->motion[i]) * change(i);
          angular = angular + load(w->motion[i] + 3) * change(i);
        }
      } else if (NR == 6) {
        linear = V{change(0), change(1), change(2)};
        angular = V{change(3), change(4), change(5)};
      }
      store(w->rate[l], linear);
      store(w->rate[l] + 3, angular);
    }
    for (int l = 0; l < nl; l++) {
      float* to = w->rate[l];
      const float* inertia = w->inertia[l];
      const V c = load(w->com[l]), angular = load(to + 3);
      const V f = (load(to) + cross(angular, c)) * m.link_mass.data[link0 + l];
      const V spin = V{inertia[XX] * angular.x + inertia[XY] * angular.y + inertia[XZ] * angular.z,
                       inertia[XY] * angular.x + inertia[YY] * angular.y + inertia[YZ] * angular.z,
                       inertia[XZ] * angular.x + inertia[YZ] * angular.y + inertia[ZZ] * angular.z};
      store(to, f);
      store(to + 3, spin + cross(c, f));
    }
    for (int slot = slot0; slot < slot0 + nc; slot++) {
      const float* impulse = (const float*)&r.impulse.data[slot];
      const V n = load((const float*)&k.normal.data[slot]), t = tangent_of(n);
      const V force = (n * impulse[0] + t * impulse[1] + cross(n, t) * impulse[2]) * (1.0f / h);
      for (int side = 0; side < 2; side++) {
        const int body = side ? k.body1.data[slot] : k.body0.data[slot];
        if (body < 0) continue;
        float* to = w->rate[body - link0];
        const V f = force * (side ? -1.0f : 1.0f);
        const V lever = load(w->com[body - link0]) + load((const float*)&r.arm.data[2 * slot + side]);
        store(to, load(to) - f);
        store(to + 3, load(to + 3) - cross(lever, f));
      }
    }
    for (int l = nl - 1; l > 0; l--) {
      const V f = load(w->rate[l]), n = load(w->rate[l] + 3);
      float* up = w->rate[tab(T_PARENT + l)];
      store(up, load(up) + f);
      store(up + 3, load(up + 3) + n);
      const V given = f - load(w->sub[l] + FORCE);
      const V turned = n - load(w->sub[l] + TORQUE) - cross(joint_point(l) - origin, given);
      const float size = sqrtf(dot(given, given)) + sqrtf(dot(turned, turned));
      for (int i = tab(T_FIRST + l); i < tab(T_FIRST + l + 1); i++) w->cosine[i] = size;
    }
  }
  SYNC();
};
// Lock what friction holds at rest, unless contacts may pull it loose within the substep.
auto lock_resting = [&]() {
  if (rough && nc == 0 && MB == 0)
    for (int i = NR + lane; i < nv; i += G)
      if ((w->flag[i] & ROUGH) && s.dof_sliding.data[dof0 + i] == 0) w->flag[i] |= LOCKED;
  SYNC();
};
auto unlock = [&]() {
  int changed = 0;
  for (int i = NR + lane; i < nv; i += G) {
    changed |= w->flag[i] & LOCKED;
    w->flag[i] &= KINDS;
  }
  SYNC();
  return group_any(changed) ? 1 : 0;
};
// Unlock what takes more than the static bound.
auto release = [&]() {
  int changed = 0;
  for (int i = NR + lane; i < nv; i += G) {
    if (!(w->flag[i] & LOCKED)) continue;
    float stick, slide;
    friction_bounds(i, stick, slide);
    w->free_v[i] = 0.0f;
    s.dof_friction_force.data[dof0 + i] = w->friction[i] / h;
    if (magnitude(w->friction[i]) > h * stick) {
      w->flag[i] &= KINDS;
      changed = 1;
    }
  }
  SYNC();
  return group_any(changed) ? 1 : 0;
};
auto fastest_joint = [&]() {
  float result = 0.0f;
  for (int i = NR; i < nv; i++) result = greater(result, magnitude(w->free_v[i]));
  return result;
};
// A limit that another joint hits may throw this one to its own.
auto may_reach_limit = [&](int i, float fastest) {
  const int d = dof0 + i;
  const float reach = h * greater(4.0f * magnitude(w->free_v[i]), 2.0f * fastest);
  return w->q[i] - m.dof_lower.data[d] <= reach || m.dof_upper.data[d] - w->q[i] <= reach || w->limit_force[i] != 0.0f;
};
auto any_limit = [&]() {
  int any = 0;
  const float fastest = fastest_joint();
  for (int i = NR + lane; i < nv; i += G) any |= may_reach_limit(i, fastest) ? 1 : 0;
  return group_any(any);
};
"""

# Rows of friction in the sweep.
FRICTION_ROWS = r"""
auto is_restless = [&](float now, float old) { return magnitude(now - old) > UNMOVED * magnitude(now); };
auto friction_step = [&](int i) {
  float stick, slide;
  friction_bounds(i, stick, slide);
  const float old = w->friction[i], mass = w->row_mass[i], v = dof_velocity(i);
  const float stop = old - v * mass, free = v - old / mass;
  // at rest at the start of the substep, or somewhere within it without friction
  const bool rests = (s.dof_sliding.data[dof0 + i] == 0 || w->v[i] * free <= 0.0f) && magnitude(stop) <= h * stick;
  const float now = rests ? stop : lesser(greater(stop, -h * slide), h * slide);
  if (now == old) return false;
  SYNC();
  apply_dof(i, now - old);
  if (lane == 0) w->friction[i] = now;
  return is_restless(now, old);
};
auto start_friction = [&](int i) {
  float stick, slide;
  friction_bounds(i, stick, slide);
  const float impulse = lesser(greater(h * s.dof_friction_force.data[dof0 + i], -h * stick), h * stick);
  SYNC();
  if (impulse == 0.0f) return;
  if (lane == 0) w->friction[i] = impulse;
  apply_dof(i, impulse);
};
// Keep the forces of friction for the next substep, and whether joints rest.
auto keep_friction = [&]() {
  for (int i = NR; i < nv; i++) {
    if (!(w->flag[i] & 8)) continue;
    const float v = dof_velocity(i), impulse = w->friction[i];
    float stick, slide;
    friction_bounds(i, stick, slide);
    if (impulse != 0.0f) rubbed = true;
    if (lane == 0) {
      s.dof_friction_force.data[dof0 + i] = impulse / h;
      s.dof_sliding.data[dof0 + i] = magnitude(v) * w->row_mass[i] <= AT_REST * h * stick ? 0 : 1;
    }
  }
  SYNC();
};
"""
