"""Implicit drives, bounds of actuators and friction at rest: the smooth part of a substep."""

DRIVES = r"""
auto drive_type = [&](int i) { return m.dof_drive_type.data[dof0 + i]; };
auto max_force = [&](int i) { return m.dof_max_force.data[dof0 + i]; };
auto tab_smooth = [&](int i) { return (w->flag[i] & SMOOTH) != 0; };
// force of a drive of unit scale if the joint moves at v over the substep
auto drive_error = [&](int i, float v) {
  return m.dof_stiffness.data[dof0 + i] * (c.position_target.data[dof0 + i] - w->q[i] - h * v)
       + m.dof_damping.data[dof0 + i] * (c.velocity_target.data[dof0 + i] - v);
};
// Force that the bound is for: that of the drive, under a performance envelope with the actuation.
auto actuator_force = [&](int i, float v) {
  float force = drive_type(i) != 0 ? w->drive[i] * drive_error(i, v) : 0.0f;
  if (m.dof_envelope.data[dof0 + i] != 0) force += c.actuation.data[dof0 + i];
  return force;
};
// The line b0 - b1 |v| that bounds the force of an actuator at a speed, see `Model`.
auto effort_line = [&](int i, float speed, float& b0, float& b1) {
  b0 = max_force(i);
  b1 = 0.0f;
  if (m.dof_envelope.data[dof0 + i] == 0) return;
  b1 = m.dof_velocity_resistance.data[dof0 + i];
  const float top = m.dof_max_actuator_velocity.data[dof0 + i];
  if (!(top < UNBOUNDED)) return;
  const float gradient = greater(m.dof_speed_effort_gradient.data[dof0 + i], STEEP_SHARE * top / greater(b0, 1.0e-30f));
  const float slope = lesser(1.0f / greater(gradient, 1.0e-30f), STEEP_SLOPE);
  if (slope * (top - speed) < b0 - b1 * speed) { b0 = slope * top; b1 = slope; }
};
auto effort_bound = [&](int i, float v) {
  float b0, b1;
  effort_line(i, magnitude(v), b0, b1);
  return greater(b0 - b1 * magnitude(v), 0.0f);
};
// Force at its bound and its slope; a bound that falls with the speed that the force drives is implicit like damping,
// and the force is off (mark 3) where that would make it brake.
auto bounded_force = [&](int i, int saturation, float v, float& slope) {
  slope = 0.0f;
  if (saturation == OFF || saturation == -OFF) return 0.0f;
  float b0, b1;
  const float sign = saturation > 0 ? 1.0f : -1.0f, speed = magnitude(v);
  effort_line(i, speed, b0, b1);
  if (sign * v < 0.0f || saturation * saturation > 1) return sign * greater(b0 - b1 * speed, 0.0f);
  slope = b1;
  return sign * (b0 - b1 * speed);
};
// Right-hand side h tau, and on the diagonal what makes drives, passive springs and viscous friction implicit. `drive`
// holds the scale that turns gains into forces.
auto assemble = [&](bool first) {
  const float blend = first && !fresh ? 0.5f : 0.0f;
  for (int i = lane; i < nv; i += G) {
    float force = w->force[i];
    if (i >= NR) {
      const int d = dof0 + i;
      const float v = w->v[i] - w->half_kick[i];
      const float stiffness = m.dof_passive_stiffness.data[d];
      const float damping = m.dof_passive_damping.data[d] + m.dof_viscous_friction.data[d];
      float diagonal = h * (h * stiffness + damping), actuation = c.actuation.data[d];
      const int saturation = w->flag[i] & BOUNDED ? w->saturation[i] : 0;
      force += stiffness * (m.dof_spring_reference.data[d] - w->q[i] - h * v) - damping * v;
      if (m.dof_envelope.data[d] == 0 || saturation == 0)
        force += actuation + blend * (s.previous_actuation.data[d] - actuation);
      const float gain
          = drive_type(i) != 0 ? w->drive[i] * (h * m.dof_stiffness.data[d] + m.dof_damping.data[d]) : 0.0f;
      w->gain[i] = gain;
      if (saturation != 0) {
        float slope;
        force += bounded_force(i, saturation, v, slope);
        diagonal += h * slope;
      } else if (gain != 0.0f) {
        force += w->drive[i] * drive_error(i, v);
        diagonal += h * gain;
      }
      w->factor[row_start(i) + depth_of(i)] += diagonal;
    }
    w->kick[i] = h * force;
  }
  MEET();
};
// Velocity after the kick. The first kick of a new state is half as long.
auto kicked = [&]() {
  for (int i = lane; i < nv; i += G) {
    float weight = 1.0f;
    if (i < NR) { if (fresh || root_synced) weight = 0.5f; }
    else if (fresh && tab_smooth(i)) weight = 0.5f;
    w->free_v[i] = w->v[i] - w->half_kick[i] + weight * w->kick[i];
  }
  MEET();
};
// Mark actuators whose force would pass its bound; a mark made under contact load (2) stays until the load is solved.
auto saturate = [&]() {
  int changed = 0;
  for (int i = NR + lane; i < nv; i += G) {
    if (!(w->flag[i] & BOUNDED)) continue;
    const float bound = effort_bound(i, w->free_v[i]), force = actuator_force(i, w->free_v[i]);
    const int old = w->saturation[i], sign = old > 0 ? 1 : -1;
    if (old == 2 || old == -2) continue;
    int now = 0;
    if (old == 0) now = force > bound * 1.000001f ? 1 : force < -bound * 1.000001f ? -1 : 0;
    else if (force * sign >= bound) {
      const float before = w->v[i] - w->half_kick[i];
      float b0, b1;
      effort_line(i, magnitude(before), b0, b1);
      now = before * sign >= 0.0f && b0 - b1 * w->free_v[i] * sign < 0.0f ? OFF * sign : sign;
    }
    if (now != old) { w->saturation[i] = now; changed = 1; }
  }
  SYNC();
  return group_any(changed);
};
"""

DOF_FLAGS = r"""
// Flags: 1 limit that may be reached, 2 drive that a contact may saturate, 4 drive saturated under load, 8 friction that
// is not locked, 16 friction that is, 32 and 64 drive that a contact has saturated from above and from below.
auto dof_flags = [&]() {
  int any = 0;
  const float fastest = fastest_joint();
  for (int i = NR + lane; i < nv; i += G) {
    int flag = w->flag[i] & (LOCKED | KINDS);
    if (may_reach_limit(i, fastest)) flag |= 1;
    if (w->flag[i] & BOUNDED) {
      if (w->saturation[i] == 2 || w->saturation[i] == -2) flag |= 4;
      else if (w->saturation[i] == 0 && !(flag & LOCKED)) flag |= 2;
    }
    if ((w->flag[i] & ROUGH) && !(flag & LOCKED)) flag |= 8;
    w->drive[i] = actuator_force(i, w->free_v[i]);
    w->flag[i] = flag;
    w->limit_impulse[i] = 0.0f;
    w->friction[i] = 0.0f;
    if (flag & (1 | 8)) w->row_mass[i] = 1.0f / greater(response_row(i, w->response), 1.0e-30f);
    any |= flag;
  }
  MEET();
  return (group_any(any & (1 | 8)) ? 1 : 0) | (group_any(any & 2) ? 2 : 0);
};
"""

# A synchronised root feels what is applied now: its half kick does not straddle the change of the applied forces.
UNBLEND = r"""
auto unblend_root = [&](bool wanted) {
  if (!warp_any(wanted)) return;
  int changed = 0;
  for (int l = lane; l < nl; l += G) {
    const float* now = (const float*)&c.link_force.data[link0 + l];
    const float* turned = (const float*)&c.link_torque.data[link0 + l];
    const V f = (load(now) - load((const float*)&s.previous_force.data[link0 + l])) * 0.5f;
    const V n = (load(turned) - load((const float*)&s.previous_torque.data[link0 + l])) * 0.5f;
    if (f.x != 0.0f || f.y != 0.0f || f.z != 0.0f || n.x != 0.0f || n.y != 0.0f || n.z != 0.0f) changed = 1;
    store(w->sub[l] + FORCE, f);
    store(w->sub[l] + TORQUE, n + cross(load(w->com[l]), f));
  }
  for (int i = NR + lane; i < nv; i += G)
    if (c.actuation.data[dof0 + i] != s.previous_actuation.data[dof0 + i]) changed = 1;
  changed = wanted && group_any(changed);
  MEET();
  if (!warp_any(changed)) return;
  link_forces();
  {SOLVE}
  unblended = changed;
  MEET();
};
"""

# M^-1 of half the change of the forces, h included.
UNBLEND_SOLVE_CPU = r"""
  if (lane == 0) {
    for (int i = 0; i < nv; i++) {
      float force = w->force[i];
      if (i >= NR) force += 0.5f * (c.actuation.data[dof0 + i] - s.previous_actuation.data[dof0 + i]);
      w->force[i] = h * force;
    }
    for (int i = nv - 1; i >= 0; i--)
      for (int p = 0; p < depth_of(i); p++)
        w->force[tab(T_CHAIN + row_start(i) + p)] -= w->factor[row_start(i) + p] * w->force[i];
    // the root is eliminated last, so that its part needs nothing of the joints; theirs is for the trail alone
    for (int i = 0; i < nv; i++) {
      float value = w->force[i] * w->inverse_root[i] * w->inverse_root[i];
      for (int p = 0; p < depth_of(i); p++)
        value -= w->factor[row_start(i) + p] * w->force[tab(T_CHAIN + row_start(i) + p)];
      w->force[i] = value;
      if (i >= NR || !changed) continue;
      w->free_v[i] += 0.5f * value;
      w->kick[i] += value;
    }
  }
"""
UNBLEND_SOLVE_LANES = r"""
  for (int i = lane; i < nv; i += G) {
    float force = w->force[i];
    if (i >= NR) force += 0.5f * (c.actuation.data[dof0 + i] - s.previous_actuation.data[dof0 + i]);
    w->force[i] = h * force;
  }
  MEET();
  // limit_impulse <- V^T force; it means nothing before the rows are made
  for (int i = lane; i < nv; i += G) {
    const int depth = depth_of(i);
    float value = 0.0f;
    if (i < NR) {
      for (int j = i; j < nv; j++) value += w->response[row_start(j) + depth] * w->force[j];
    } else {
      value = w->response[row_start(i) + depth] * w->force[i];
      for (int t = tab(T_BELOW + i); t < tab(T_BELOW + i + 1); t++) {
        const int below = tab(T_BELOW_ROW + t);
        value += w->response[(below >> 8) + depth] * w->force[below & 255];
      }
    }
    w->limit_impulse[i] = value;
  }
  MEET();
  for (int i = lane; i < nv; i += G) {
    const float value = along(w->response, i, w->limit_impulse);
    w->force[i] = value;
    if (i < NR && changed) {
      w->free_v[i] += 0.5f * value;
      w->kick[i] += value;
    }
  }
"""

# The smooth part of a substep; acceleration drives first need the inertia that each of them sees. After the last
# substep it ends with the velocities of links, so that each stage stands once in the code.
EVALUATE_CPU = r"""
    if (last) { velocities(); break; }
    forces(substep == 0);
"""
EVALUATE_LANES = r"""
    link_velocities();
    if (last) break;
    wrenches(substep == 0);
"""
SMOOTH = r"""
bool scaling = false;
for (int i = NR + lane; i < nv; i += G) {
  w->drive[i] = 1.0f;
  w->flag[i] &= KINDS;
  if (drive_type(i) == 2) scaling = true;
}
scaling = warp_any(scaling);
if (!scaling) lock_resting();
if (!last) add_tension();
for (int attempt = 0;;) {
  if (composed) mass_rows();
  if (!evaluated) {
    evaluated = true;
    if (NR == 6 && composed) momentum_root();
    {EVALUATE}
    {MIMIC_SPEED}
    link_forces();
    if (weighed) joint_loads();
  }
  if (!scaling) {
    if (attempt == ATTEMPTS - 1) unlock();
    assemble(substep == 0);
  }
  factorize();
  if (scaling) {
    {INVERT}
    for (int i = NR + lane; i < nv; i += G) if (drive_type(i) == 2) w->drive[i] = 1.0f / response_row(i, idle);
    scaling = false;
    lock_resting();
    continue;
  }
  back_substitute(w->kick);
  kicked();
  int changed = 0;
  if (rough) {
    changed = release();
    if (any_limit()) changed |= unlock();
  }
  if (attempt < ATTEMPTS - 1) changed |= saturate();
  if (!warp_any(changed)) break;  // once more changes nothing where nothing changed
  if (changed) attempt++;
}
if (last) break;
if (NR == 6 && substep == 0) unblend_root(!fresh && root_synced);
const int rows = dof_flags();
"""
