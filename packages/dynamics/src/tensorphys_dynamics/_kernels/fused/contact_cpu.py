"""Contact rows on the CPU: rows of all velocities, padded to vectors of eight, so that a pass needs no index."""

# J of a contact is the scalar product of a motion with the wrenches (n, l x n), (t1, l x t1), (t2, l x t2). Lane d of
# the four-vectors is direction d, so that one backward substitution L^-T serves the three rows.
ROWS = r"""
auto block = [&](int at) { return at < LOCAL_CONTACTS ? w->blocks[at] : spill + (at - LOCAL_CONTACTS) * BLOCK; };
auto contact_row = [&](int at) {
  const int slot = slot0 + at;
  float* row = block(at);
  const Contact o = contact_geometry(slot);
  const V t2 = cross(o.n, o.t);
  auto wrenches_at = [&](V lever, F4* out) {
    const V n0 = cross(lever, o.n), n1 = cross(lever, o.t), n2 = cross(lever, t2);
    out[0] = F4{o.n.x, o.t.x, t2.x, 0}; out[1] = F4{o.n.y, o.t.y, t2.y, 0}; out[2] = F4{o.n.z, o.t.z, t2.z, 0};
    out[3] = F4{n0.x, n1.x, n2.x, 0}; out[4] = F4{n0.y, n1.y, n2.y, 0}; out[5] = F4{n0.z, n1.z, n2.z, 0};
    for (int e = 0; e < 6; e++) out[e] *= o.sign;
  };
  F4 wrench[6], other[6];
  wrenches_at(o.lever_a, wrench);
  if (o.nb) wrenches_at(o.lever_b, other);
  F4 y[VB + 1];
  const int* ca = T + T_CHAIN + (o.na ? row_start(o.a) : 0);
  const int* cb = T + T_CHAIN + (o.nb ? row_start(o.b) : 0);
  auto motion_row = [&](int i, const F4* f) {
    const float* e = w->motion[i];
    return f[0] * e[0] + f[1] * e[1] + f[2] * e[2] + f[3] * e[3] + f[4] * e[4] + f[5] * e[5];
  };
  int p = 0;
  if (NR == 6) for (; p < 6 && p < o.na; p++) y[p] = wrench[p];
  for (; p < o.na; p++) y[p] = motion_row(ca[p], wrench);
  for (p = 0; p < o.nb; p++) {
    const F4 value = p < NR ? other[p] : motion_row(cb[p], other);
    if (p < o.shared) y[p] -= value;
    else y[o.na + p - o.shared] = -value;
  }
  float approach = 0.0f;
  if (k.restitution.data[slot] > 0.0f) {
    for (p = 0; p < o.na; p++) approach += y[p][0] * w->v[ca[p]];
    for (p = o.shared; p < o.nb; p++) approach += y[o.na + p - o.shared][0] * w->v[cb[p]];
  }
  for (int q = 0; q < 3 * UB; q += 8) *(F8*)(row + HEAD_SIZE + q) = F8{0, 0, 0, 0, 0, 0, 0, 0};
  F4 a0 = F4{0, 0, 0, 0}, a1 = a0, a2 = a0;
  auto finish_entry = [&](F4 value, int i) {
    value *= w->inverse_root[i];
    a0 += value * value[0];
    a1 += value * value[1];
    a2 += value * value[2];
    float* to = row + HEAD_SIZE + i;
    to[0] = value[0];
    to[UB] = value[1];
    to[2 * UB] = value[2];
  };
  for (p = o.nb - 1; p >= o.shared; p--) {
    const float* factor = w->factor + row_start(cb[p]);
    const F4 value = y[o.na + p - o.shared];
    for (int q = 0; q < o.shared; q++) y[q] -= value * factor[q];
    for (int q = o.shared; q < p; q++) y[o.na + q - o.shared] -= value * factor[q];
    finish_entry(value, cb[p]);
  }
  for (p = o.na - 1; p >= 0; p--) {
    const float* factor = w->factor + row_start(ca[p]);
    const F4 value = y[p];
    for (int q = 0; q < p; q++) y[q] -= value * factor[q];
    finish_entry(value, ca[p]);
  }
  contact_head(row, slot, o, approach, a0[0], a0[1], a0[2], a1[1], a1[2], a2[2]);
};
"""

PASS = r"""
auto apply_contact = [&](const float* row, float x, float y, float z) {
  const float* e = row + HEAD_SIZE;
  for (int q = 0; q < UB; q += 8)
    *(F8*)(w->u + q) += *(F8*)(e + q) * x + *(F8*)(e + UB + q) * y + *(F8*)(e + 2 * UB + q) * z;
};
// Sums of three vectors of eight.
auto sum3 = [](F8 a, F8 b, F8 d, float& x, float& y, float& z) {
  F4 a4 = __builtin_shufflevector(a, a, 0, 1, 2, 3) + __builtin_shufflevector(a, a, 4, 5, 6, 7);
  F4 b4 = __builtin_shufflevector(b, b, 0, 1, 2, 3) + __builtin_shufflevector(b, b, 4, 5, 6, 7);
  F4 d4 = __builtin_shufflevector(d, d, 0, 1, 2, 3) + __builtin_shufflevector(d, d, 4, 5, 6, 7);
  F4 ab = __builtin_shufflevector(a4, b4, 0, 4, 1, 5) + __builtin_shufflevector(a4, b4, 2, 6, 3, 7);
  F4 dd = __builtin_shufflevector(d4, d4, 0, 0, 1, 1) + __builtin_shufflevector(d4, d4, 2, 2, 3, 3);
  x = ab[0] + ab[2];
  y = ab[1] + ab[3];
  z = dd[0] + dd[2];
};
// Rows of all contacts at the positions of this substep; u starts from the impulses of the last one.
auto contact_start = [&]() {
  bool any = false;
  for (int at = 0; at < nc; at++) contact_row(at);
  for (int at = 0; at < nc; at++) {
    const float* row = block(at);
    if (row[0] == 0.0f && row[1] == 0.0f && row[2] == 0.0f) continue;
    apply_contact(row, row[0], row[1], row[2]);
    any = true;
  }
  return any;
};
// One block step of every contact in the order of the keys: normal first, then friction with the new normal impulse.
// Returns whether it changed an impulse suddenly.
auto contact_pass = [&](const bool biased, bool) {
  float change = 0.0f, shift = 0.0f, largest = 0.0f;
  int active = 0;
  for (int at = 0; at < nc; at++) {
    float* row = block(at);
    // what was not touched in this substep is the business of the next
    if (!biased && row[0] == 0.0f && row[BOUNCE] == 0.0f && row[SEPARATION] > 0.0f) continue;
    const float* e = row + HEAD_SIZE;
    F8 a = F8{0, 0, 0, 0, 0, 0, 0, 0}, b = a, d = a;
    for (int q = 0; q < UB; q += 8) {
      const F8 u = *(F8*)(w->u + q);
      a += *(F8*)(e + q) * u;
      b += *(F8*)(e + UB + q) * u;
      d += *(F8*)(e + 2 * UB + q) * u;
    }
    float vn, vx, vy;
    sum3(a, b, d, vn, vx, vy);
    vn += row[PRESCRIBED] - (biased ? row[BIASED] : row[BOUNCE]);
    const float old = row[0];
    if (old == 0.0f && vn >= 0.0f) continue;  // stays open
    const float rigid = old - (vn + row[COMPLIANCE] * old) * row[NORMAL];
    const float normal = greater(0.0f, rigid - (biased ? lesser(SOFT * rigid, row[LEAK]) : 0.0f)), dn = normal - old;
    float x, y;
    friction(row, vx + row[PRESCRIBED + 1], vy + row[PRESCRIBED + 2], dn, normal, x, y);
    const float dx = x - row[1], dy = y - row[2];
    apply_contact(row, dn, dx, dy);
    row[0] = normal;
    row[1] = x;
    row[2] = y;
    moved = true;
    change = greater(change, magnitude(dn));
    shift = greater(shift, greater(magnitude(dx), magnitude(dy)));
    largest = greater(largest, normal);
    active++;
  }
  return what_changed(active > 0 && change > SUDDEN * largest, greater(change, shift) > UNMOVED * largest);
};
auto contact_move = [&](bool) {
  for (int at = 0; at < nc; at++) {
    float* row = block(at);
    F8 a = F8{0, 0, 0, 0, 0, 0, 0, 0};
    for (int q = 0; q < UB; q += 8) a += *(F8*)(row + HEAD_SIZE + q) * *(F8*)(w->u + q);
    F4 b = __builtin_shufflevector(a, a, 0, 1, 2, 3) + __builtin_shufflevector(a, a, 4, 5, 6, 7);
    move_contact(row, slot0 + at, b[0] + b[1] + (b[2] + b[3]));
  }
};
auto contact_keep = [&]() {
  int any = 0;
  for (int at = 0; at < nc; at++) any |= keep_impulse(block(at), slot0 + at);
  return any;
};
"""
