"""Geometry and matching of contacts; what CPU and group rows share."""

CONTACT_COMMON = r"""
// Separation and arms of a contact at the positions where it was found.
auto place_contact = [&](int slot) {
  const int body0 = k.body0.data[slot], body1 = k.body1.data[slot];
  V p0 = load((const float*)&k.anchor0.data[slot]), p1 = load((const float*)&k.anchor1.data[slot]);
  V x0 = V{0, 0, 0}, x1 = V{0, 0, 0};
  if (body0 >= 0) {
    const float* pose = (const float*)&s.link_pose.data[body0];
    p0 = load(pose) + rotate(load_q(pose + 3), p0);
    x0 = load(pose) + rotate(load_q(pose + 3), load((const float*)&m.link_com.data[body0]));
  }
  if (body1 >= 0) {
    const float* pose = (const float*)&s.link_pose.data[body1];
    p1 = load(pose) + rotate(load_q(pose + 3), p1);
    x1 = load(pose) + rotate(load_q(pose + 3), load((const float*)&m.link_com.data[body1]));
  }
  const float gap = dot(load((const float*)&k.normal.data[slot]), p0 - p1);
  r.separation.data[slot] = gap - k.rest_distance.data[slot];
  // bodies that overlap share the middle of the overlap; those apart will touch with their own points
  if (gap < 0.0f) p0 = p1 = (p0 + p1) * 0.5f;
  store((float*)&r.arm.data[2 * slot], p0 - x0);
  store((float*)&r.arm.data[2 * slot + 1], p1 - x1);
};
// Impulses that the contacts of equal keys carried in the last substep of the previous step; lists sorted by key.
auto match_contacts = [&]() {
  int old = 0;
  const int before = r.previous_count.data[env];
  for (int at = lane; at < nc; at += G) {
    const int slot = slot0 + at;
    const auto key = k.key.data[slot];
    place_contact(slot);
    while (old < before && r.previous_key.data[slot0 + old] < key) old++;
    V force = V{0, 0, 0};
    if (old < before && r.previous_key.data[slot0 + old] == key)
      force = load((const float*)&r.previous_force.data[slot0 + old]);
    if (!(dot(force, force) < 3.0e38f)) force = V{0, 0, 0};
    V n = load((const float*)&k.normal.data[slot]), t = tangent_of(n);
    float* impulse = (float*)&r.impulse.data[slot];
    impulse[0] = h * dot(force, n);
    impulse[1] = h * dot(force, t);
    impulse[2] = h * dot(force, cross(n, t));
    store((float*)&r.total.data[slot], V{0, 0, 0});
    r.normal_total.data[slot] = 0.0f;
  }
  SYNC();
};
auto keep_contacts = [&]() {
  for (int at = lane; at < nc; at += G) {
    const int slot = slot0 + at;
    const float* impulse = (const float*)&r.impulse.data[slot];
    V n = load((const float*)&k.normal.data[slot]), t = tangent_of(n);
    V force = (n * impulse[0] + t * impulse[1] + cross(n, t) * impulse[2]) * (1.0f / h);
    r.previous_key.data[slot] = k.key.data[slot];
    store((float*)&r.previous_force.data[slot], force);
  }
  if (lane == 0) r.previous_count.data[env] = nc;
};
"""

TANGENT = r"""
// first tangent t1 of a unit normal, with t1 x t2 = n [Duff et al. 2017]
auto tangent_of = [](V n) {
  const float sign = n.z < 0.0f ? -1.0f : 1.0f, a = -1.0f / (sign + n.z), b = n.x * n.y * a;
  return V{1.0f + sign * n.x * n.x * a, sign * b, -sign * n.x};
};
"""

GEOMETRY = r"""
// The chains that move a contact, merged: first the chain `a`, whose point moves along its directions by `sign`, then
// the part of the chain `b` of the other end that is not shared. Levers reach from the root's centre of mass to the
// contact; they keep their place beside the centres of mass of the links and do not turn with them.
struct Contact { V n, t, lever_a, lever_b; float sign; int a, na, b, nb, shared; };
auto contact_geometry = [&](int slot) {
  Contact o;
  const int body0 = k.body0.data[slot], body1 = k.body1.data[slot];
  const int l0 = body0 - link0, l1 = body1 - link0;
  o.n = load((const float*)&k.normal.data[slot]);
  o.t = tangent_of(o.n);
  o.lever_a = o.lever_b = V{0, 0, 0};
  o.a = o.b = -1;
  o.sign = 1.0f;
  if (body0 >= 0) { o.a = tab(T_LAST + l0); o.lever_a = load(w->com[l0]) + load((float*)&r.arm.data[2 * slot]); }
  if (body1 >= 0) { o.b = tab(T_LAST + l1); o.lever_b = load(w->com[l1]) + load((float*)&r.arm.data[2 * slot + 1]); }
  if (o.a < 0) { o.a = o.b; o.b = -1; o.lever_a = o.lever_b; o.sign = -1.0f; }
  o.na = o.a < 0 ? 0 : depth_of(o.a) + 1;
  o.nb = o.b < 0 ? 0 : depth_of(o.b) + 1;
  o.shared = 0;
  if (o.nb > 0) {
    const int* ca = T + T_CHAIN + row_start(o.a);
    const int* cb = T + T_CHAIN + row_start(o.b);
    while (o.shared < o.na && o.shared < o.nb && LDG(ca + o.shared) == LDG(cb + o.shared)) o.shared++;
  }
  return o;
};
// Relative velocity of a contact from a root that is moved by hand.
auto prescribed_velocity = [&](int slot) {
  V v = V{0, 0, 0};
  if (NR == 0) {
    const float* root = (const float*)&s.root_velocity.data[env];
    for (int side = 0; side < 2; side++) {
      const int body = side ? k.body1.data[slot] : k.body0.data[slot];
      if (body < 0) continue;
      V lever = load(w->com[body - link0]) + load((float*)&r.arm.data[2 * slot + side]);
      v = v + (load(root) + cross(load(root + 3), lever)) * (side ? -1.0f : 1.0f);
    }
  }
  return v;
};
"""

# What the sweep needs of a contact beside its rows; a block starts with these.
ROW_HEAD = 24
HEAD = r"""
enum { IMPULSE = 0, NORMAL = 3, TXX = 4, TXY = 5, TYY = 6, SLIDE = 7, COUPLE_X = 8, COUPLE_Y = 9, STICK_MU = 10,
       SLIDE_MU = 11, BIASED = 12, BOUNCE = 13, LEAK = 14, COMPLIANCE = 15, PRESCRIBED = 16, SEPARATION = 19, APPROACH = 20,
       LENGTH = 21 };
auto contact_head = [&](float* row, int slot, const Contact& o, float approach, float ann, float atn, float asn,
                        float axx, float axy, float ayy) {
  // what is read stands before what is written, so that the loads are under way together
  const V impulse = load((const float*)&r.impulse.data[slot]);
  const float gap = r.separation.data[slot], stiffness = k.stiffness.data[slot];
  const float stick = k.static_friction.data[slot], slide = k.dynamic_friction.data[slot];
  const int body0 = k.body0.data[slot], body1 = k.body1.data[slot];
  const float bound0 = body0 >= 0 ? m.link_max_depenetration_velocity.data[body0] : 1.0e30f;
  const float bound1 = body1 >= 0 ? m.link_max_depenetration_velocity.data[body1] : 1.0e30f;
  store(row, impulse);
  // A response that is rounding beside the others is none: the chain does not move the contact that way. The
  // tangential block of a chain of one or two joints is singular; a little more on its diagonal makes it regular.
  const float trace = axx + ayy, regular = greater(1.0e-4f * trace, 1.0e-12f);
  axx += regular;
  ayy += regular;
  const float over = 1.0f / (axx * ayy - axy * axy), difference = axx - ayy;
  // A normal along which the contact hardly moves would need any impulse to move it; below a share of the response
  // across it the contact is compliant instead.
  row[COMPLIANCE] = greater(SINGULAR * trace - ann, 0.0f);
  row[NORMAL] = ann > 1.0e-9f * trace && ann > 0.0f ? 1.0f / greater(ann + row[COMPLIANCE], 1.0e-30f) : 0.0f;
  row[TXX] = ayy * over;
  row[TXY] = -axy * over;
  row[TYY] = axx * over;
  row[COUPLE_X] = atn;
  row[COUPLE_Y] = asn;
  row[SLIDE] = 1.0f / (0.5f * (axx + ayy) + sqrtf(0.25f * difference * difference + axy * axy));
  V v = prescribed_velocity(slot);
  v = V{dot(v, o.n), dot(v, o.t), dot(v, cross(o.n, o.t))};
  store(row + PRESCRIBED, v);
  row[APPROACH] = approach + v.x;
  row[BOUNCE] = 0.0f;
  row[SEPARATION] = gap;
  row[LEAK] = 0.0f;
  row[BIASED] = -gap / h;
  if (!(gap > 0.0f)) {
    const float bound = lesser(bound0, bound1);
    // never more energy than a push across the contact would cost
    const float ratio = 3.0f * ann / greater(ann + trace, 1.0e-30f);
    row[BIASED] = lesser(-PUSH * gap / h, bound * sqrtf(lesser(ratio, 1.0f)));
    row[LEAK] = LEAK_SPEED * h * sqrtf(dot(gravity, gravity)) * row[NORMAL];
  }
  if (stiffness > 0.0f && ann > 0.0f) {
    // the row of a spring, see `spring_law` in surfaces.py; it holds in passes without bias as well, see `stiffen`
    const float share = k.spring_per_mass.data[slot] == 1 ? 1.0f / ann : 1.0f;
    const float z = IMPLICIT * h * h * stiffness * share * ann;
    float gain = h * h * stiffness * share * z / (1.0f + z);
    if (gap <= 0.0f) gain += h * k.damping.data[slot] * share;
    gain = greater(gain, LEAST_GAIN / ann);
    row[COMPLIANCE] = 1.0f / gain;
    row[NORMAL] = 1.0f / (ann + row[COMPLIANCE]);
    row[BIASED] = row[BOUNCE] = -h * stiffness * share * gap / gain;
    row[LEAK] = 0.0f;
  }
  row[STICK_MU] = stick;
  row[SLIDE_MU] = slide;
};
// What a pass over the rows tells: whether a normal impulse changed suddenly, and whether any impulse did not stay.
enum { WAS_SUDDEN = 1, IS_RESTLESS = 2 };
auto what_changed = [](bool suddenly, bool moved) { return (suddenly ? WAS_SUDDEN : 0) | (moved ? IS_RESTLESS : 0); };
// Tangential impulse: the one that stops the contact inside the static cone, else one on the dynamic cone.
auto friction = [&](const float* row, float vx, float vy, float dn, float normal, float& x, float& y) {
  vx += row[COUPLE_X] * dn;
  vy += row[COUPLE_Y] * dn;
  x = row[1] - (row[TXX] * vx + row[TXY] * vy);
  y = row[2] - (row[TXY] * vx + row[TYY] * vy);
  const float bound = row[STICK_MU] * normal;
  if (x * x + y * y > bound * bound) {
    x = row[1] - vx * row[SLIDE];
    y = row[2] - vy * row[SLIDE];
    const float square = x * x + y * y, slide = row[SLIDE_MU] * normal;
    if (square > slide * slide) {
      const float scale = slide / sqrtf(square);
      x *= scale;
      y *= scale;
    }
  }
};
// Advance the separation with the positions, and let a contact that was hit fast enough rebound.
auto move_contact = [&](float* row, int slot, float vn) {
  row[SEPARATION] += h * (vn + row[PRESCRIBED]);
  r.separation.data[slot] = row[SEPARATION];
  const float stiffness = k.stiffness.data[slot];
  if (stiffness > 0.0f && row[NORMAL] > 0.0f) {
    const float ann = 1.0f / row[NORMAL] - row[COMPLIANCE];
    if (h * h * stiffness * (k.spring_per_mass.data[slot] == 1 ? 1.0f : ann) > UNRESOLVED) {
      row[NORMAL] = 1.0f / ann;
      row[COMPLIANCE] = row[BOUNCE] = 0.0f;
    }
  }
  if (row[0] > 0.0f && k.restitution.data[slot] > 0.0f && row[APPROACH] < -bounce_threshold.data[0])
    row[BOUNCE] = -k.restitution.data[slot] * row[APPROACH];
};
// Impulses back to where the next substep finds them, and into the sums over the step; tells whether one bears load.
auto keep_impulse = [&](const float* row, int slot) {
  float* impulse = (float*)&r.impulse.data[slot];
  impulse[0] = row[0]; impulse[1] = row[1]; impulse[2] = row[2];
  if (!(row[0] > 0.0f)) return 0;
  V n = load((const float*)&k.normal.data[slot]), t = tangent_of(n);
  float* total = (float*)&r.total.data[slot];
  store(total, load(total) + n * row[0] + t * row[1] + cross(n, t) * row[2]);
  r.normal_total.data[slot] += row[0];
  return 1;
};
"""
