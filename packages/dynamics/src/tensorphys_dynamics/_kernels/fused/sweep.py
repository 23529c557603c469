"""The sweep over the rows of an environment: drive bounds, contacts with friction, joint limits."""

DOF_ROWS = r"""
auto dof_velocity = [&](int i) {
  const float* y = w->response + row_start(i);
  const int* chain = T + T_CHAIN + row_start(i);
  float v = 0.0f;
  for (int p = lane; p <= depth_of(i); p += G) v += y[p] * w->u[LDG(chain + p)];
  return group_sum(v);
};
auto apply_dof = [&](int i, float impulse) {
  const float* y = w->response + row_start(i);
  const int* chain = T + T_CHAIN + row_start(i);
  for (int p = lane; p <= depth_of(i); p += G) w->u[LDG(chain + p)] += y[p] * impulse;
  moved = true;
  SYNC();
};
// Take back what an implicit drive exerts beyond its bound because a contact holds it. No row is needed while the
// force stays inside, which the velocity alone tells.
auto slack_pass = [&]() {
  from_u(w->u, w->sine);
  for (int i = NR; i < nv; i++) {
    if (!(w->flag[i] & 2)) continue;
    const float bound = effort_bound(i, w->free_v[i]), force = w->drive[i] - w->gain[i] * (w->sine[i] - w->free_v[i]);
    if (magnitude(force) <= bound) continue;
    float inverse = 0.0f;
    if (lane == 0) inverse = response_row(i, w->response);
    inverse = group_first(inverse);
    const float excess = (force > 0.0f ? bound : -bound) - force;
    const float impulse = h * excess / greater(1.0f - w->gain[i] * h * inverse, 1.0e-6f);
    SYNC();
    apply_dof(i, impulse);
    if (lane == 0) w->flag[i] |= impulse < 0.0f ? 32 : 64;
    from_u(w->u, w->sine);
  }
};
{FRICTION_ROWS}
{LIMIT_TURN}
// Two limits that are hit at once push each other's joint: passes are repeated until positions stand still. Beside
// contacts the passes over all rows are what repeats.
auto limit_pass = [&](const bool biased) {
  bool restless = false;
  if (!(rows & 1)) return 0;
  for (int turn = 0; turn < LIMIT_TURNS; turn++) {
    float far;
    if (limit_turn(biased, far, restless) < 2 || !(far > SETTLED) || nc > 0 || MB > 0) break;
    SYNC();
  }
  return what_changed(false, restless);
};
"""

LIMIT_TURN_CPU = r"""
// Friction, and q + h v inside the limits, without rebound.
auto limit_turn = [&](const bool biased, float& far, bool& restless) {
  int active = 0;
  far = 0.0f;
  restless = false;
  for (int i = NR; i < nv; i++) {
    if (w->flag[i] & 8) restless |= friction_step(i);
    if (!(w->flag[i] & 1)) continue;
    const float below = m.dof_lower.data[dof0 + i] - w->q[i], above = m.dof_upper.data[dof0 + i] - w->q[i];
    const float lowest = below > 0.0f ? (biased ? RECOVERY * below : 0.0f) : below / h;
    const float highest = above < 0.0f ? (biased ? RECOVERY * above : 0.0f) : above / h;
    const float old = w->limit_impulse[i], mass = w->row_mass[i], v = dof_velocity(i);
    if (old == 0.0f && v >= lowest && v <= highest) continue;
    const float free = v - old / mass;
    const float now = (lesser(greater(free, lowest), highest) - free) * mass;
    SYNC();
    apply_dof(i, now - old);
    if (lane == 0) w->limit_impulse[i] = now;
    far = greater(far, h * magnitude(now - old) / mass);
    restless |= is_restless(now, old);
    if (now != 0.0f) active++;
  }
  return active;
};
"""
# The lanes look at all rows together; the first one that acts is solved, and those after it are looked at again.
LIMIT_TURN_LANES = r"""
auto limit_range = [&](int i, const bool biased, float& lowest, float& highest) {
  const float below = m.dof_lower.data[dof0 + i] - w->q[i], above = m.dof_upper.data[dof0 + i] - w->q[i];
  lowest = below > 0.0f ? (biased ? RECOVERY * below : 0.0f) : below / h;
  highest = above < 0.0f ? (biased ? RECOVERY * above : 0.0f) : above / h;
};
// Friction, and q + h v inside the limits, without rebound.
auto limit_turn = [&](const bool biased, float& far, bool& restless) {
  int active = 0;
  far = 0.0f;
  restless = false;
  for (int base = NR; base < nv; base += G) {
    const int own = base + lane, flag = own < nv ? w->flag[own] : 0;
    float lowest = 0.0f, highest = 0.0f;
    if (flag & 1) limit_range(own, biased, lowest, highest);
    const unsigned rows_here = group_ballot((flag & (1 | 8)) != 0);
    int done = -1;
    // until no row is left to look at
    for (unsigned left = rows_here; left; left = rows_here & ~((2u << done) - 1u)) {
      float v = 0.0f;
      bool acts = false;
      if (lane > done && (flag & (1 | 8))) {
        v = along(w->response, own, w->u);
        acts = (flag & 8) || w->limit_impulse[own] != 0.0f || v < lowest || v > highest;
      }
      done = group_lowest(acts);
      if (done < 0) break;
      const int i = base + done;
      v = group_from(v, done);
      if (w->flag[i] & 8) {
        restless |= friction_step(i);
        v = dof_velocity(i);
      }
      if (w->flag[i] & 1) {
        const float least = group_from(lowest, done), most = group_from(highest, done);
        const float old = w->limit_impulse[i], mass = w->row_mass[i], free = v - old / mass;
        const float now = (lesser(greater(free, least), most) - free) * mass;
        if (old != 0.0f || now != 0.0f) {
          SYNC();
          apply_dof(i, now - old);
          if (lane == 0) w->limit_impulse[i] = now;
          far = greater(far, h * magnitude(now - old) / mass);
          restless |= is_restless(now, old);
          if (now != 0.0f) active++;
        }
      }
      SYNC();
    }
  }
  return active;
};
"""

START_CPU = r"""
  for (int i = NR; i < nv; i++) {
    if ((w->flag[i] & 1) && w->limit_force[i] != 0.0f) {
      const float impulse = h * w->limit_force[i];
      if (lane == 0) w->limit_impulse[i] = impulse;
      apply_dof(i, impulse);
    }
    if (w->flag[i] & 8) start_friction(i);
  }
"""
START_LANES = r"""
  for (int base = NR; base < nv; base += G) {
    const int own = base + lane, flag = own < nv ? w->flag[own] : 0;
    int todo = group_ballot((flag & 8) || ((flag & 1) && w->limit_force[own] != 0.0f));
    for (; todo; todo &= todo - 1) {
      const int i = base + lowest_bit(todo);
      const float impulse = w->flag[i] & 1 ? h * w->limit_force[i] : 0.0f;
      if (impulse != 0.0f) {
        if (lane == 0) w->limit_impulse[i] = impulse;
        apply_dof(i, impulse);
      }
      if (w->flag[i] & 8) start_friction(i);
    }
  }
"""

SWEEP = r"""
bool moved = false, rubbed = false;
{DOF_ROWS}
{CONTACT_PASS}
moved |= contact_start();
if (rows & 1) {
{START}
}
if (moved && (rows & 2)) slack_pass();
{MIMIC_START}
// Biased passes, after which positions move, and passes without bias; more of both where an impulse came suddenly, until
// impulses stay.
int biased_passes = 1, passes = nc > 0 || (rows & 1) || MB > 0 ? 1 + relaxations : 1;
for (int pass = 0; warp_any(pass < passes); pass++) {
  const bool on = pass < passes, biased = pass < biased_passes;
  int told = contact_pass(biased, on);
  if ((told & WAS_SUDDEN) && pass == 0) {
    biased_passes += EXTRA;
    passes += 2 * EXTRA;
  }
  if (on) told |= limit_pass(biased);
  {MIMIC_PASS}
  if (on && MB == 0 && !(told & IS_RESTLESS)) {
    if (biased) {
      passes -= biased_passes - (pass + 1);
      biased_passes = pass + 1;
    } else if (pass + 1 >= biased_passes + relaxations) {
      passes = pass + 1;
    }
  }
  const bool moves = pass + 1 == biased_passes;
  if (!warp_any(moves)) continue;
  if (moves)
    for (int i = lane; i < nv; i += G) w->drift[i] = w->u[i];
  MEET();
  contact_move(moves);
  {MIMIC_RELAX}
}
const bool touched = group_any(contact_keep()) != 0;
loaded = touched;
if (rough) keep_friction();
{MIMIC_KEEP}
for (int i = NR + lane; i < nv; i += G) {
  w->limit_force[i] = w->limit_impulse[i] / h;
  if (w->limit_impulse[i] != 0.0f) loaded = 1;
  if (w->flag[i] & (32 | 64)) w->saturation[i] = w->flag[i] & 32 ? 2 : -2;
}
loaded = group_any(loaded);
{MIMIC_KICK}
MEET();
"""
