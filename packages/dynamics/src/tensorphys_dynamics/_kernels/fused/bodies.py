"""Masses, velocities and wrenches of links."""

LINK_MASSES_CPU = r"""
// c = p + R com - origin; I = R I0 R^T by columns. R = (2 w w - 1) E + 2 v v^T + 2 w [v] for a unit quaternion (v, w).
auto link_masses = [&]() {
  for (int l = 0; l < nl; l++) {
    const F4 q = take4(w->rot[l]), twice = q + q;
    F4 a = twice * q[3];
    a[3] -= 1.0f;
    const F4 r0 = __builtin_shufflevector(a, a, 3, 2, 1, 1) * F4{1, 1, -1, 0} + q * twice[0];
    const F4 r1 = __builtin_shufflevector(a, a, 2, 3, 0, 0) * F4{-1, 1, 1, 0} + q * twice[1];
    const F4 r2 = __builtin_shufflevector(a, a, 1, 0, 3, 3) * F4{1, -1, 1, 0} + q * twice[2];
    const float* com = (const float*)&m.link_com.data[link0 + l];
    put(w->com[l], take(w->pos[l]) - take(&origin.x) + r0 * com[0] + r1 * com[1] + r2 * com[2]);
    const float* i0 = (const float*)&m.link_inertia.data[link0 + l];
    const F4 b0 = r0 * i0[0] + r1 * i0[3] + r2 * i0[6], b1 = r0 * i0[1] + r1 * i0[4] + r2 * i0[7];
    const F4 b2 = r0 * i0[2] + r1 * i0[5] + r2 * i0[8];
    put(w->inertia[l], b0 * r0[0] + b1 * r1[0] + b2 * r2[0]);
    put(w->inertia[l] + 4, b0 * r0[1] + b1 * r1[1] + b2 * r2[1]);
    put(w->inertia[l] + 8, b0 * r0[2] + b1 * r1[2] + b2 * r2[2]);
  }
};
"""
LINK_MASSES_LANES = r"""
// c = p + R com - origin; I = R I0 R^T
auto link_masses = [&]() {
  for (int l = lane; l < nl; l += G) {
    Q q = load_q(w->rot[l]);
    float x2 = q.x + q.x, y2 = q.y + q.y, z2 = q.z + q.z;
    float xx = q.x * x2, yy = q.y * y2, zz = q.z * z2, xy = q.x * y2, xz = q.x * z2, yz = q.y * z2;
    float wx = q.w * x2, wy = q.w * y2, wz = q.w * z2;
    V a = V{1.0f - (yy + zz), xy - wz, xz + wy}, b = V{xy + wz, 1.0f - (xx + zz), yz - wx};
    V d = V{xz - wy, yz + wx, 1.0f - (xx + yy)};
    V com = load((const float*)&m.link_com.data[link0 + l]);
    store(w->com[l], load(w->pos[l]) + V{dot(a, com), dot(b, com), dot(d, com)} - origin);
    const float* i0 = (const float*)&m.link_inertia.data[link0 + l];
    V c0 = V{i0[0], i0[3], i0[6]}, c1 = V{i0[1], i0[4], i0[7]}, c2 = V{i0[2], i0[5], i0[8]};
    V ta = V{dot(a, c0), dot(a, c1), dot(a, c2)}, tb = V{dot(b, c0), dot(b, c1), dot(b, c2)};
    V td = V{dot(d, c0), dot(d, c1), dot(d, c2)};
    float* o = w->inertia[l];
    o[0] = dot(ta, a); o[1] = dot(tb, b); o[2] = dot(td, d);
    o[3] = dot(ta, b); o[4] = dot(ta, d); o[5] = dot(tb, d);
  }
  MEET();
};
"""

KICK_MOMENTUM = r"""
auto kick_momentum = [&](V impulse, V turn) {
  // a velocity under load stands half a kick before the positions
  const float ahead = h * (root_synced == 0 && fresh == 0 ? 1.5f : 1.0f);
  momentum = momentum + impulse * ahead;
  spin_momentum = spin_momentum + turn * ahead;
  middle_step = (momentum - impulse * (0.5f * h)) * (h / total_mass);
};
"""

VELOCITIES_LANES = r"""
// Velocities of links and their velocity-product rates [Featherstone 2008, section 5.3].
auto link_velocities = [&]() {
  if (lane == 0) {
    V linear, angular;
    if (NR == 6) {
      linear = load(w->v);
      angular = load(w->v + 3);
    } else {
      const float* root = (const float*)&s.root_velocity.data[env];
      linear = load(root);
      angular = load(root + 3);
    }
    store(w->rate[0], angular);
    store(w->rate[0] + 3, linear);
    store(w->rate[0] + 6, V{0, 0, 0});
    store(w->rate[0] + 9, cross(linear, angular));
  }
  MEET();
  for (int level = 1; level < level_count; level++) {
    for (int o = tab(T_LEVEL + level) + lane; o < tab(T_LEVEL + level + 1); o += G) {
      int l = tab(T_ORDER + o);
      const float* r = w->rate[tab(T_PARENT + l)];
      V angular = load(r), linear = load(r + 3), alpha = load(r + 6), a = load(r + 9);
      for (int i = tab(T_FIRST + l); i < tab(T_FIRST + l + 1); i++) {
        V dl = load(w->motion[i]) * w->v[i], da = load(w->motion[i] + 3) * w->v[i];
        angular = angular + da;
        linear = linear + dl;
        alpha = alpha + cross(angular, da);
        a = a + cross(angular, dl) + cross(linear, da);
      }
      float* to = w->rate[l];
      store(to, angular);
      store(to + 3, linear);
      store(to + 6, alpha);
      store(to + 9, a);
    }
    MEET();
  }
};
"""

WRENCHES_LANES = r"""
// Forces on links less their rate of momentum; half-kicks of the known momentum. In the first substep after a
// change of applied forces the kick straddles the change and takes their mean.
auto wrenches = [&](bool first) {
  const float blend = first && !fresh ? 0.5f : 0.0f;
  V impulse = V{0, 0, 0}, turn = V{0, 0, 0};
  float damped = 0.0f;
  for (int l = lane; l < nl; l += G) {
    const float* r = w->rate[l];
    const float mass = m.link_mass.data[link0 + l];
    V x = load(w->com[l]), angular = load(r), velocity = load(r + 3) + cross(angular, x), alpha = load(r + 6);
    V classical = load(r + 9) + cross(alpha, x) + cross(angular, velocity);
    V spin = symmetric(w->inertia[l], angular);
    V rate = symmetric(w->inertia[l], alpha) + cross(angular, spin);
    const V weight = gravity * (mass * m.link_gravity.data[link0 + l]);
    const V applied = load((const float*)&c.link_force.data[link0 + l]);
    const V applied_torque = load((const float*)&c.link_torque.data[link0 + l]);
    V force = applied, torque = applied_torque;
    if (blend != 0.0f) {
      force = force + (load((const float*)&s.previous_force.data[link0 + l]) - force) * blend;
      torque = torque + (load((const float*)&s.previous_torque.data[link0 + l]) - torque) * blend;
    }
    // the momentum stands at the time of the positions: what is applied now acts on it for the whole substep
    const V external = applied + weight, turning = applied + gravity * (mass * (m.link_gravity.data[link0 + l] - falling));
    const float ld = m.link_linear_damping.data[link0 + l], ad = m.link_angular_damping.data[link0 + l];
    V f = force + weight - classical * mass - velocity * (ld * mass);
    store(w->sub[l] + FORCE, f);
    store(w->sub[l] + TORQUE, torque - rate - spin * ad + cross(x, f));
    impulse = impulse + external;
    turn = turn + applied_torque + cross(x - middle + (velocity - middle_speed) * (0.5f * h), turning);
    damped += ld + ad;
  }
  if (NR == 6) {
    impulse = V{group_sum(impulse.x), group_sum(impulse.y), group_sum(impulse.z)};
    turn = V{group_sum(turn.x), group_sum(turn.y), group_sum(turn.z)};
    damped = group_sum(damped);
    kick_momentum(impulse, turn);
    known = damped == 0.0f;
  }
  MEET();
};
auto forces = [&](bool first) {
  link_velocities();
  wrenches(first);
};
"""

BODY_CPU = r"""
// Velocities, velocity-product rates [Featherstone 2008, section 5.3], and forces on links less their rate of momentum,
// link by link; half-kicks of the known momentum. What is meant is written out in the source for groups.
auto root_motion = [&](F4& angular, F4& linear) {
  const float* from = NR == 6 ? w->v : (const float*)&s.root_velocity.data[env];
  linear = take(from);
  angular = take(from + 3);
};
auto velocities = [&]() {
  for (int l = 0; l < nl; l++) {
    F4 angular, linear;
    if (l == 0) root_motion(angular, linear);
    else {
      const float* r = w->rate[tab(T_PARENT + l)];
      angular = take4(r);
      linear = take4(r + 4);
      for (int i = tab(T_FIRST + l); i < tab(T_FIRST + l + 1); i++) {
        linear += take4(w->motion[i]) * w->v[i];
        angular += take4(w->motion[i] + 3) * w->v[i];
      }
    }
    put(w->rate[l], angular);
    put(w->rate[l] + 4, linear);
  }
};
auto forces = [&](bool first) {
  const float blend = first && !fresh ? 0.5f : 0.0f;
  const F4 fall = F4{gravity.x, gravity.y, gravity.z, 0}, at = F4{middle.x, middle.y, middle.z, 0};
  const F4 speed = F4{middle_speed.x, middle_speed.y, middle_speed.z, 0};
  F4 impulse = F4{0, 0, 0, 0}, spin_impulse = impulse;
  float damped = 0.0f;
  for (int l = 0; l < nl; l++) {
    F4 angular, linear, alpha = F4{0, 0, 0, 0}, a;
    if (l == 0) {
      root_motion(angular, linear);
      a = cross4(linear, angular);
    } else {
      const float* r = w->rate[tab(T_PARENT + l)];
      angular = take4(r);
      linear = take4(r + 4);
      alpha = take4(r + 8);
      a = take4(r + 12);
      for (int i = tab(T_FIRST + l); i < tab(T_FIRST + l + 1); i++) {
        const F4 dl = take4(w->motion[i]) * w->v[i], da = take4(w->motion[i] + 3) * w->v[i];
        angular += da;
        linear += dl;
        alpha += cross4(angular, da);
        a += cross4(angular, dl) + cross4(linear, da);
      }
    }
    put(w->rate[l], angular);
    put(w->rate[l] + 4, linear);
    put(w->rate[l] + 8, alpha);
    put(w->rate[l] + 12, a);
    const float mass = m.link_mass.data[link0 + l];
    const F4 x = take4(w->com[l]), i0 = take4(w->inertia[l]), i1 = take4(w->inertia[l] + 4);
    const F4 i2 = take4(w->inertia[l] + 8);
    const F4 velocity = linear + cross4(angular, x);
    const F4 classical = a + cross4(alpha, x) + cross4(angular, velocity);
    const F4 spin = i0 * angular[0] + i1 * angular[1] + i2 * angular[2];
    const F4 rate = i0 * alpha[0] + i1 * alpha[1] + i2 * alpha[2] + cross4(angular, spin);
    const F4 weight = fall * (mass * m.link_gravity.data[link0 + l]);
    const F4 applied = take((const float*)&c.link_force.data[link0 + l]);
    const F4 applied_torque = take((const float*)&c.link_torque.data[link0 + l]);
    F4 force = applied, torque = applied_torque;
    if (blend != 0.0f) {
      force += (take((const float*)&s.previous_force.data[link0 + l]) - force) * blend;
      torque += (take((const float*)&s.previous_torque.data[link0 + l]) - torque) * blend;
    }
    const F4 external = applied + weight, turning = applied + fall * (mass * (m.link_gravity.data[link0 + l] - falling));
    const float ld = m.link_linear_damping.data[link0 + l], ad = m.link_angular_damping.data[link0 + l];
    const F4 f = force + weight - classical * mass - velocity * (ld * mass);
    put(w->sub[l] + FORCE, f);
    put(w->sub[l] + TORQUE, torque - rate - spin * ad + cross4(x, f));
    impulse += external;
    spin_impulse += applied_torque + cross4(x - at + (velocity - speed) * (0.5f * h), turning);
    damped += ld + ad;
  }
  if (NR == 6) {
    kick_momentum(V{impulse[0], impulse[1], impulse[2]}, V{spin_impulse[0], spin_impulse[1], spin_impulse[2]});
    known = damped == 0.0f;
  }
};
"""

FORCE_OF_LINKS = r"""
// Generalized forces of the wrenches of subtrees.
auto link_forces = [&]() {
  gather(FORCE, SUBTREE);
  for (int i = lane; i < nv; i += G) {
    const float* f = w->sub[tab(T_LINK + i)] + FORCE;
    const float* n = w->sub[tab(T_LINK + i)] + TORQUE;
    if (i < NR) w->force[i] = i < 3 ? f[i] : n[i - 3];
    else w->force[i] = dot(load(w->motion[i]), load(f)) + dot(load(w->motion[i] + 3), load(n));
  }
  MEET();
};
"""
