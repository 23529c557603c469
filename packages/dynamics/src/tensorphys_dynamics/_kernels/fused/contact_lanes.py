"""Contact rows for a group of lanes: rows of the chains alone, in fast memory as far as it reaches."""

# Blocks of contacts have one size; those that end inside the pool lie there, any other in the environment's part of
# global memory. A block is a head, see `HEAD`, and entries: three directions and the velocity index.
ROWS = r"""
struct alignas(16) Four { float x, y, z, w; };
auto block = [&](int at) { return (at + 1) * BLOCK <= POOL ? w->pool + at * BLOCK : spill + at * BLOCK; };
auto four = [](const float* p) { return *(const Four*)p; };
auto set_four = [](float* p, float a, float b, float d, float e) { *(Four*)p = Four{a, b, d, e}; };
// J and then Y = R^-T J^T = V^T J^T of a contact, by one lane. A velocity moves the contact by `sign` times its linear
// motion and its angular motion across the lever.
auto contact_row = [&](float* row, int slot, const Contact& o) {
  const int ra = o.na ? row_start(o.a) : 0, rb = o.nb ? row_start(o.b) : 0, tail = o.nb - o.shared;
  const int length = o.na + (tail > 0 ? tail : 0);
  const V t2 = cross(o.n, o.t);
  float* y = row + HEAD_SIZE;
  for (int p = 0; p < length; p++) {
    const bool by_a = p < o.na, by_b = p < o.shared || !by_a;
    const int place = by_a ? ra + p : rb + o.shared + p - o.na, j = tab(T_CHAIN + place);
    V lever = V{0, 0, 0};
    float straight = 0.0f;
    if (by_a) { lever = o.lever_a; straight = 1.0f; }
    if (by_b) { lever = lever - o.lever_b; straight -= 1.0f; }
    const V v = (load(w->motion[j]) * straight + cross(load(w->motion[j] + 3), lever)) * o.sign;
    set_four(y + 4 * p, dot(v, o.n), dot(v, o.t), dot(v, t2), from_int(tab(T_CHAIN_ROW + place)));
  }
  float ann = 0.0f, atn = 0.0f, asn = 0.0f, axx = 0.0f, axy = 0.0f, ayy = 0.0f, approach = 0.0f;
  const bool rebounds = k.restitution.data[slot] > 0.0f;
  for (int p = 0; p < length; p++) {
    const bool by_a = p < o.na;
    const int place = by_a ? p : o.shared + p - o.na, last = by_a && p >= o.shared ? o.na : length;
    const int j = tab(T_CHAIN + (by_a ? ra : rb) + place);
    float vn = 0.0f, vx = 0.0f, vy = 0.0f;
    UNROLL4
    for (int q = p; q < last; q++) {
      const Four e = four(y + 4 * q);
      const float ratio = w->response[to_int(e.w) + place];
      vn += e.x * ratio;
      vx += e.y * ratio;
      vy += e.z * ratio;
    }
    set_four(y + 4 * p, vn, vx, vy, from_int(j));
    ann += vn * vn;
    atn += vn * vx;
    asn += vn * vy;
    axx += vx * vx;
    axy += vx * vy;
    ayy += vy * vy;
    if (rebounds) approach += vn * along(w->factor, j, w->v);  // the velocity before the kick
  }
  row[LENGTH] = from_int(length);
  contact_head(row, slot, o, approach, ann, atn, asn, axx, axy, ayy);
};
"""

PASS = r"""
auto row_length = [&](const float* row) { return to_int(row[LENGTH]); };
auto apply_contact = [&](const float* row, const int length, float x, float y, float z) {
  for (int p = lane; p < length; p += G) {
    const Four e = four(row + HEAD_SIZE + 4 * p);
    w->u[to_int(e.w)] += e.x * x + e.y * y + e.z * z;
  }
  MEET();
};
// Rows of all contacts at the positions of this substep; u starts from the impulses of the last one.
auto contact_start = [&]() {
  for (int at = lane; at < nc; at += G) contact_row(block(at), slot0 + at, contact_geometry(slot0 + at));
  MEET();
  bool any = false;
  for (int at = 0; at < most_contacts; at++) {
    const float* row = block(at < nc ? at : 0);
    Four old = Four{0, 0, 0, 0};
    if (at < nc) old = four(row);
    const bool acts = old.x != 0.0f || old.y != 0.0f || old.z != 0.0f;
    apply_contact(row, acts ? row_length(row) : 0, old.x, old.y, old.z);
    any |= acts;
  }
  return any;
};
// One block step of every contact in the order of the keys: normal first, then friction with the new normal impulse.
// The lanes look at open contacts together; those that stay open take no step. Tells what it changed.
auto contact_pass = [&](const bool biased, const bool on) {
  float change = 0.0f, shift = 0.0f, largest = 0.0f;
  int active = 0;
  const int most = warp_most(on ? nc : 0), column = biased ? BIASED : BOUNCE;
  for (int base = 0; base < most; base += G) {
    const bool here = on && base + lane < nc;
    const float* mine = block(here ? base + lane : 0);
    const bool loaded = here && mine[0] != 0.0f;
    // what was not touched in this substep is the business of the next
    const bool open = here && !loaded && (biased || mine[BOUNCE] != 0.0f || !(mine[SEPARATION] > 0.0f));
    const float rest = open ? mine[PRESCRIBED] - mine[column] : 0.0f;
    const int entries = open ? row_length(mine) : 0;
    int done = -1;
    while (true) {
      bool acts = loaded && lane > done;
      if (warp_any(open && lane > done)) {
        float vn = rest;
        for (int p = 0; p < entries; p++) vn += mine[HEAD_SIZE + 4 * p] * w->u[to_int(mine[HEAD_SIZE + 4 * p + 3])];
        acts = acts || (open && lane > done && vn < 0.0f);
      }
      done = group_lowest(acts);
      if (!warp_any(done >= 0)) break;
      // groups that look on read any row, without a branch around the loads
      const bool solves = done >= 0;
      float* row = block(solves ? base + done : 0);
      if (!solves) done = G;
      const Four old = four(row), law = four(row + BIASED), given = four(row + PRESCRIBED), solve = four(row + TXX);
      const Four couple = four(row + COUPLE_X);
      const int length = solves ? row_length(row) : 0;
      Four own = Four{0, 0, 0, 0};
      float vn = 0.0f, vx = 0.0f, vy = 0.0f, u = 0.0f;
      if (lane < length) {
        own = four(row + HEAD_SIZE + 4 * lane);
        u = w->u[to_int(own.w)];
        vn = own.x * u;
        vx = own.y * u;
        vy = own.z * u;
      }
      for (int p = lane + G; p < length; p += G) {
        const Four e = four(row + HEAD_SIZE + 4 * p);
        const float more = w->u[to_int(e.w)];
        vn += e.x * more;
        vx += e.y * more;
        vy += e.z * more;
      }
      group_sum3(vn, vx, vy);
      vn += given.x - (biased ? law.x : law.y);
      MEET();
      if (solves) {
        const float rigid = old.x - (vn + law.w * old.x) * old.w;
        const float normal = most_of(rigid - (biased ? least_of(SOFT * rigid, law.z) : 0.0f), 0.0f), dn = normal - old.x;
        // friction as in `friction`
        vx += given.y + couple.x * dn;
        vy += given.z + couple.y * dn;
        float x = old.y - (solve.x * vx + solve.y * vy), y = old.z - (solve.y * vx + solve.z * vy);
        const float bound = couple.z * normal;
        if (x * x + y * y > bound * bound) {
          x = old.y - vx * solve.w;
          y = old.z - vy * solve.w;
          const float square = x * x + y * y, slide = couple.w * normal;
          if (square > slide * slide) {
            const float scale = slide / sqrtf(square);
            x *= scale;
            y *= scale;
          }
        }
        const float dx = x - old.y, dy = y - old.z;
        if (lane < length) w->u[to_int(own.w)] = u + own.x * dn + own.y * dx + own.z * dy;
        for (int p = lane + G; p < length; p += G) {
          const Four e = four(row + HEAD_SIZE + 4 * p);
          w->u[to_int(e.w)] += e.x * dn + e.y * dx + e.z * dy;
        }
        moved = true;
        change = most_of(change, fabsf(dn));
        shift = most_of(shift, most_of(fabsf(dx), fabsf(dy)));
        largest = most_of(largest, normal);
        active++;
        if (lane == 0) set_four(row, normal, x, y, old.w);
      }
      MEET();
    }
  }
  return what_changed(active > 0 && change > SUDDEN * largest, greater(change, shift) > UNMOVED * largest);
};
auto contact_move = [&](const bool on) {
  for (int at = lane; on && at < nc; at += G) {
    float* row = block(at);
    const int length = row_length(row);
    float vn = 0.0f;
    UNROLL4
    for (int p = 0; p < length; p++) vn += row[HEAD_SIZE + 4 * p] * w->u[to_int(row[HEAD_SIZE + 4 * p + 3])];
    move_contact(row, slot0 + at, vn);
  }
  MEET();
};
auto contact_keep = [&]() {
  int any = 0;
  for (int at = lane; at < nc; at += G) any |= keep_impulse(block(at), slot0 + at);
  MEET();
  return any;
};
"""
