"""Contact rows for a group of lanes: rows of the chains alone, in fast memory as far as it reaches."""

# Blocks of contacts have one size; those that end inside the pool lie there, any other in the environment's part of
# global memory. A block is a head, see `HEAD`, and entries: three directions and the velocity index.
ROWS = r"""
struct alignas(16) Four { float x, y, z, w; };
auto block = [&](int at) { return (at + 1) * BLOCK <= POOL ? w->pool + at * BLOCK : spill + at * BLOCK; };
auto four = [](const float* p) { return *(const Four*)p; };
auto set_four = [](float* p, float a, float b, float d, float e) { *(Four*)p = Four{a, b, d, e}; };
// What all lanes need of a contact to fill its row stands in the place of its head until that is known. A velocity
// moves the contact by `straight` times its linear motion and its angular motion across `lever`.
auto announce = [&](float* row, const Contact& o) {
  set_four(row, o.n.x, o.n.y, o.n.z, from_int(o.na ? row_start(o.a) : 0));
  set_four(row + 4, o.t.x, o.t.y, o.t.z, from_int(o.nb ? row_start(o.b) : 0));
  set_four(row + 8, o.lever_a.x * o.sign, o.lever_a.y * o.sign, o.lever_a.z * o.sign, o.sign);
  set_four(row + 12, o.lever_b.x * o.sign, o.lever_b.y * o.sign, o.lever_b.z * o.sign, from_int(o.na));
  const int tail = o.nb - o.shared;
  row[LENGTH] = from_int(o.na + (tail > 0 ? tail : 0));
  row[SHARED] = from_int(o.nb > 0 ? o.shared : -1);
};
// J and then Y = R^-T J^T = V^T J^T of one contact, an entry a lane; groups that are not `on` look on.
auto contact_row = [&](float* row, const bool on) {
  const Four n = four(row), t = four(row + 4), lever_a = four(row + 8), lever_b = four(row + 12);
  const int ra = to_int(n.w), rb = to_int(t.w), na = to_int(lever_b.w), length = on ? to_int(row[LENGTH]) : 0;
  const int most = warp_most(length);
  const int shared = to_int(row[SHARED]);
  const V normal = V{n.x, n.y, n.z}, t1 = V{t.x, t.y, t.z}, t2 = cross(normal, t1);
  float* y = row + HEAD_SIZE;
  for (int p = lane; p < length; p += G) {
    const bool by_a = p < na, by_b = p < shared || !by_a;
    const int place = by_a ? ra + p : rb + shared + p - na, j = tab(T_CHAIN + place), start = tab(T_CHAIN_ROW + place);
    V lever = V{0, 0, 0};
    float straight = 0.0f;
    if (by_a) { lever = V{lever_a.x, lever_a.y, lever_a.z}; straight = lever_a.w; }
    if (by_b) { lever = lever - V{lever_b.x, lever_b.y, lever_b.z}; straight -= lever_a.w; }
    const V v = load(w->motion[j]) * straight + cross(load(w->motion[j] + 3), lever);
    set_four(y + 4 * p, dot(v, normal), dot(v, t1), dot(v, t2), from_int(start));
  }
  MEET();
  for (int base = 0; base < most; base += G) {
    const int p = base + lane;
    const bool by_a = p < na, ends = by_a && p >= shared;
    const int place = by_a ? p : shared + p - na, last = ends ? na : length;
    V value = V{0, 0, 0};
    for (int q = base; q < length; q++) {
      const Four e = four(y + 4 * q);
      if (q < p || q >= last) continue;
      const float ratio = w->response[to_int(e.w) + place];
      value = value + V{e.x, e.y, e.z} * ratio;
    }
    MEET();
    if (p < length) set_four(y + 4 * p, value.x, value.y, value.z, from_int(tab(T_CHAIN + (by_a ? ra + p : rb + place))));
  }
};
auto finish_row = [&](float* row, int slot, const Contact& o) {
  const int length = to_int(row[LENGTH]);
  const float* y = row + HEAD_SIZE;
  float ann = 0.0f, atn = 0.0f, asn = 0.0f, axx = 0.0f, axy = 0.0f, ayy = 0.0f, approach = 0.0f;
  for (int p = 0; p < length; p++) {
    const Four e = four(y + 4 * p);
    ann += e.x * e.x;
    atn += e.x * e.y;
    asn += e.x * e.z;
    axx += e.y * e.y;
    axy += e.y * e.z;
    ayy += e.z * e.z;
  }
  if (k.restitution.data[slot] > 0.0f) {  // the velocity before the kick
    for (int p = 0; p < length; p++) approach += y[4 * p] * along(w->factor, to_int(y[4 * p + 3]), w->v);
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
  for (int first = 0; first < most_contacts; first += G) {
    const int at = first + lane;
    Contact o;
    if (at < nc) {
      o = contact_geometry(slot0 + at);
      announce(block(at), o);
    }
    MEET();
    for (int one = first; one < most_contacts && one < first + G; one++) contact_row(block(one < nc ? one : 0), one < nc);
    MEET();
    if (at < nc) finish_row(block(at), slot0 + at, o);
  }
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
// Returns whether it changed an impulse suddenly.
auto contact_pass = [&](const bool biased, const bool on) {
  float change = 0.0f, largest = 0.0f;
  int active = 0;
  const int most = warp_most(on ? nc : 0);
  for (int at = 0; at < most; at++) {
    const bool here = on && at < nc;
    float* row = block(here ? at : 0);
    Four old = Four{0, 0, 0, 0}, law = old, given = old, own = old, solve = old, couple = old;
    int length = 0;
    if (here) {
      old = four(row);
      law = four(row + BIASED);
      given = four(row + PRESCRIBED);
      solve = four(row + TXX);
      couple = four(row + COUPLE_X);
      length = row_length(row);
    }
    const float target = biased ? law.x : law.y;
    // what was not touched in this substep is the business of the next
    if (!biased && old.x == 0.0f && target == 0.0f && given.w > 0.0f) length = 0;
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
    vn += given.x - target;
    if (old.x == 0.0f && vn >= 0.0f) length = 0;  // stays open
    MEET();
    if (length > 0) {
      const float rigid = old.x - (vn + law.w * old.x) * old.w;
      const float normal = greater(0.0f, rigid - (biased ? lesser(SOFT * rigid, law.z) : 0.0f)), dn = normal - old.x;
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
      change = greater(change, magnitude(dn));
      largest = greater(largest, normal);
      active++;
      if (lane == 0) set_four(row, normal, x, y, old.w);
    }
    MEET();
  }
  return active > 0 && change > SUDDEN * largest;
};
auto contact_move = [&](const bool on) {
  const int most = warp_most(on ? nc : 0);
  for (int at = 0; at < most; at++) {
    const bool here = on && at < nc;
    float* row = block(here ? at : 0);
    float vn = 0.0f;
    const int length = here ? row_length(row) : 0;
    for (int p = lane; p < length; p += G) {
      const Four e = four(row + HEAD_SIZE + 4 * p);
      vn += e.x * w->u[to_int(e.w)];
    }
    vn = group_sum(vn);
    if (here && lane == (at & (G - 1))) row[SLIDE_SPEED] = vn;
  }
  MEET();
  if (on)
    for (int at = lane; at < nc; at += G) move_contact(block(at), slot0 + at, block(at)[SLIDE_SPEED]);
  MEET();
};
auto contact_keep = [&]() {
  int any = 0;
  for (int at = lane; at < nc; at += G) any |= keep_impulse(block(at), slot0 + at);
  MEET();
  return any;
};
"""
