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
  row[LENGTH] = from_int(o.na + (tail > 0 ? tail : 0));
  auto motion_along = [&](int j, V lever, float sign) {
    V v = load(w->motion[j]) + cross(load(w->motion[j] + 3), lever);
    if (j < NR) {
      const float e0 = j % 3 == 0 ? sign : 0.0f, e1 = j % 3 == 1 ? sign : 0.0f, e2 = j % 3 == 2 ? sign : 0.0f;
      v = j < 3 ? V{e0, e1, e2} : cross(V{e0, e1, e2}, lever);
    } else v = v * sign;
    return V{dot(v, o.n), dot(v, o.t), dot(v, t2)};
  };
  UNROLL4
  for (int p = 0; p < o.na; p++) {
    const int j = tab(T_CHAIN + ra + p);
    store(y + 4 * p, motion_along(j, o.lever_a, o.sign));
    y[4 * p + 3] = from_int(j);
  }
  for (int p = 0; p < o.nb; p++) {
    const int j = tab(T_CHAIN + rb + p);
    float* to = y + 4 * (p < o.shared ? p : o.na + p - o.shared);
    const V value = motion_along(j, o.lever_b, -o.sign);
    store(to, p < o.shared ? load(to) + value : value);
    to[3] = from_int(j);
  }
  const int length = o.na + (tail > 0 ? tail : 0);
  float approach = 0.0f;
  if (k.restitution.data[slot] > 0.0f)
    for (int p = 0; p < length; p++) approach += y[4 * p] * w->v[to_int(y[4 * p + 3])];
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
  // entries to .. to + count of y lose value times the row of the factor; loads of a batch are under way together
  auto eliminate = [&](float* to, const float* factor, V value, int count) {
    for (int q = 0; q < count; q += 4) {
      V t[4];
      UNROLL
      for (int e = 0; e < 4; e++)
        t[e] = q + e < count ? load(to + 4 * (q + e)) - value * factor[q + e] : V{0.0f, 0.0f, 0.0f};
      UNROLL
      for (int e = 0; e < 4; e++) if (q + e < count) store(to + 4 * (q + e), t[e]);
    }
  };
  for (int p = o.nb - 1; p >= o.shared; p--) {
    float* e = y + 4 * (o.na + p - o.shared);
    const int j = to_int(e[3]);
    const float* factor = w->factor + row_start(j);
    const V value = load(e);
    eliminate(y, factor, value, o.shared);
    eliminate(y + 4 * o.na, factor + o.shared, value, p - o.shared);
    finish_entry(e, value, j);
  }
  for (int p = o.na - 1; p >= 0; p--) {
    const int j = to_int(y[4 * p + 3]);
    const V value = load(y + 4 * p);
    eliminate(y, w->factor + row_start(j), value, p);
    finish_entry(y + 4 * p, value, j);
  }
  contact_head(row, slot, o, approach, ann, atn, asn, axx, axy, ayy);
};
"""

PASS = r"""
struct alignas(16) Four { float x, y, z, w; };  // an entry of the rows: three directions and the velocity index
auto entry = [](const float* row, int p) { return *(const Four*)(row + HEAD_SIZE + 4 * p); };
auto row_length = [&](const float* row) { return to_int(row[LENGTH]); };
auto apply_contact = [&](const float* row, float x, float y, float z) {
  const int length = row_length(row);
  for (int p = lane; p < length; p += G) {
    const Four e = entry(row, p);
    w->u[to_int(e.w)] += e.x * x + e.y * y + e.z * z;
  }
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
      size = HEAD_SIZE + 4 * (o.na + o.nb - o.shared);
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
    const int length = row_length(row);
    float vn = 0.0f, vx = 0.0f, vy = 0.0f;
    for (int p = lane; p < length; p += G) {
      const Four e = entry(row, p);
      const float u = w->u[to_int(e.w)];
      vn += e.x * u;
      vx += e.y * u;
      vy += e.z * u;
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
  return active > 0 && change > SUDDEN * largest;
};
auto contact_move = [&]() {
  for (int at = 0; at < most_contacts; at++) {
    if (at >= nc) continue;
    float* row = contact_block(at);
    float vn = 0.0f;
    const int length = row_length(row);
    for (int p = lane; p < length; p += G) {
      const Four e = entry(row, p);
      vn += e.x * w->u[to_int(e.w)];
    }
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
