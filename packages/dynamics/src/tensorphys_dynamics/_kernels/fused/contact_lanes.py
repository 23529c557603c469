"""Contact rows for a group of lanes: rows of the chains alone, in fast memory as far as it reaches."""

# Blocks of contacts stand one after the other at virtual places; a block that ends inside the pool lies there, any
# other in the environment's part of global memory at the same place.
ROWS = r"""
auto block = [&](int place, int size) { return place + size <= POOL ? w->pool + place : spill + place; };
auto place_of = [&](int at) { return r.ends.data[2 * (slot0 + at)]; };
auto contact_block = [&](int at) {
  const auto place = place_of(at);
  return block(place[0], place[1]);
};
// One lane fills J and turns it into Y = D^-1/2 L^-T J^T in place, deepest velocities first.
auto contact_row = [&](int at, const Contact& o, float* row) {
  const int slot = slot0 + at, tail = o.nb - o.shared;
  const V t2 = cross(o.n, o.t);
  const int ra = o.na ? row_start(o.a) : 0, rb = o.nb ? row_start(o.b) : 0;
  float* y = row + HEAD_SIZE;
  row[CHAIN_A] = from_int(ra);
  row[CHAIN_B] = from_int(rb + o.shared);
  row[LENGTHS] = from_int(o.na | (tail > 0 ? tail << 16 : 0));
  auto fill = [&](float* to, int j, V lever, float sign) {
    V v = load(w->motion[j]) + cross(load(w->motion[j] + 3), lever);
    if (j < NR) {
      const float e0 = j % 3 == 0 ? sign : 0.0f, e1 = j % 3 == 1 ? sign : 0.0f, e2 = j % 3 == 2 ? sign : 0.0f;
      v = j < 3 ? V{e0, e1, e2} : cross(V{e0, e1, e2}, lever);
    } else v = v * sign;
    to[0] += dot(v, o.n);
    to[1] += dot(v, o.t);
    to[2] += dot(v, t2);
  };
  for (int p = 0; p < 3 * (o.na + (tail > 0 ? tail : 0)); p++) y[p] = 0.0f;
  for (int p = 0; p < o.na; p++) fill(y + 3 * p, tab(T_CHAIN + ra + p), o.lever_a, o.sign);
  for (int p = 0; p < o.nb; p++)
    fill(y + 3 * (p < o.shared ? p : o.na + p - o.shared), tab(T_CHAIN + rb + p), o.lever_b, -o.sign);
  float approach = 0.0f;
  if (k.restitution.data[slot] > 0.0f) {
    for (int p = 0; p < o.na; p++) approach += y[3 * p] * w->v[tab(T_CHAIN + ra + p)];
    for (int p = 0; p < tail; p++) approach += y[3 * (o.na + p)] * w->v[tab(T_CHAIN + rb + o.shared + p)];
  }
  float ann = 0.0f, atn = 0.0f, asn = 0.0f, axx = 0.0f, axy = 0.0f, ayy = 0.0f;
  auto finish_entry = [&](float* e, V value, int j) {
    value = value * w->inverse_root[j];
    store(e, value);
    ann += value.x * value.x;
    atn += value.x * value.y;
    asn += value.x * value.z;
    axx += value.y * value.y;
    axy += value.y * value.z;
    ayy += value.z * value.z;
  };
  for (int p = o.nb - 1; p >= o.shared; p--) {
    const int j = tab(T_CHAIN + rb + p);
    const float* factor = w->factor + row_start(j);
    float* e = y + 3 * (o.na + p - o.shared);
    const V value = load(e);
    for (int q = 0; q < p; q++) {
      float* to = y + 3 * (q < o.shared ? q : o.na + q - o.shared);
      store(to, load(to) - value * factor[q]);
    }
    finish_entry(e, value, j);
  }
  for (int p = o.na - 1; p >= 0; p--) {
    const int j = tab(T_CHAIN + ra + p);
    const float* factor = w->factor + row_start(j);
    const V value = load(y + 3 * p);
    for (int q = 0; q < p; q++) store(y + 3 * q, load(y + 3 * q) - value * factor[q]);
    finish_entry(y + 3 * p, value, j);
  }
  contact_head(row, slot, o, approach, ann, atn, asn, axx, axy, ayy);
};
"""

PASS = r"""
auto row_index = [&](const float* row, int p) {
  const int na = to_int(row[LENGTHS]) & 65535;
  return p < na ? tab(T_CHAIN + to_int(row[CHAIN_A]) + p) : tab(T_CHAIN + to_int(row[CHAIN_B]) + p - na);
};
auto row_length = [&](const float* row) { return (to_int(row[LENGTHS]) & 65535) + (to_int(row[LENGTHS]) >> 16); };
auto apply_contact = [&](const float* row, float x, float y, float z) {
  const float* e = row + HEAD_SIZE;
  for (int p = lane; p < row_length(row); p += G)
    w->u[row_index(row, p)] += e[3 * p] * x + e[3 * p + 1] * y + e[3 * p + 2] * z;
  SYNC();
};
// Rows of all contacts at the positions of this substep; u starts from the impulses of the last one.
auto contact_start = [&]() {
  int used = 0;
  for (int first = 0; first < nc; first += G) {
    const int at = first + lane;
    Contact o;
    int size = 0;
    if (at < nc) {
      o = contact_geometry(slot0 + at);
      size = HEAD_SIZE + 3 * (o.na + o.nb - o.shared);
    }
    int total;
    const int place = used + group_scan(size, total);
    used += total;
    if (at < nc) {
      auto& kept = r.ends.data[2 * (slot0 + at)];
      kept[0] = place;
      kept[1] = size;
      contact_row(at, o, block(place, size));
    }
  }
  SYNC();
  bool any = false;
  for (int at = 0; at < most_contacts; at++) {
    if (at >= nc) continue;
    const float* row = contact_block(at);
    if (row[0] == 0.0f && row[1] == 0.0f && row[2] == 0.0f) continue;
    apply_contact(row, row[0], row[1], row[2]);
    any = true;
  }
  return any;
};
// One block step of every contact in the order of the keys: normal first, then friction with the new normal impulse.
// Returns whether it changed an impulse suddenly.
auto contact_pass = [&](const bool biased) {
  float change = 0.0f, largest = 0.0f;
  int active = 0;
  for (int at = 0; at < most_contacts; at++) {
    if (at >= nc) continue;
    float* row = contact_block(at);
    const float old = row[0];
    // what was not touched in this substep is the business of the next
    if (!biased && old == 0.0f && row[BOUNCE] == 0.0f && row[SEPARATION] > 0.0f) continue;
    const float* e = row + HEAD_SIZE;
    const int length = row_length(row);
    float vn = 0.0f, vx = 0.0f, vy = 0.0f;
    for (int p = lane; p < length; p += G) {
      const float u = w->u[row_index(row, p)];
      vn += e[3 * p] * u;
      vx += e[3 * p + 1] * u;
      vy += e[3 * p + 2] * u;
    }
    group_sum3(vn, vx, vy);
    vn += row[PRESCRIBED] - (biased ? row[BIASED] : row[BOUNCE]);
    if (old == 0.0f && vn >= 0.0f) continue;  // stays open
    const float rigid = old - (vn + row[COMPLIANCE] * old) * row[NORMAL];
    const float normal = greater(0.0f, rigid - (biased ? lesser(SOFT * rigid, row[LEAK]) : 0.0f)), dn = normal - old;
    float x, y;
    friction(row, vx + row[PRESCRIBED + 1], vy + row[PRESCRIBED + 2], dn, normal, x, y);
    const float dx = x - row[1], dy = y - row[2];
    SYNC();
    if (lane == 0) { row[0] = normal; row[1] = x; row[2] = y; }
    apply_contact(row, dn, dx, dy);
    moved = true;
    change = greater(change, magnitude(dn));
    largest = greater(largest, normal);
    active++;
  }
  return active > 1 && change > SUDDEN * largest;
};
auto contact_move = [&]() {
  for (int at = 0; at < most_contacts; at++) {
    if (at >= nc) continue;
    float* row = contact_block(at);
    float vn = 0.0f;
    for (int p = lane; p < row_length(row); p += G) vn += row[HEAD_SIZE + 3 * p] * w->u[row_index(row, p)];
    vn = group_sum(vn);
    if (lane == 0) move_contact(row, slot0 + at, vn);
  }
  SYNC();
};
auto contact_keep = [&]() {
  int any = 0;
  for (int at = lane; at < nc; at += G) any |= keep_impulse(contact_block(at), slot0 + at);
  SYNC();
  return any;
};
"""
