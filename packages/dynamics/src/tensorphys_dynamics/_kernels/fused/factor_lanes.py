"""Mass matrix, factors and solves for a group of lanes.

M = RᵀR over the chains with R = D^½ L, so that u = R v, and V = R⁻¹ has the pattern of R: rows over the chains of the
tree. With V each solve is one product, without stages that wait for each other, and row i of V is the row of
velocity i in the sweep. Entries of a row are formed by the lanes together, each from what the rows of its descendants
leave of it; the right-hand side stands before the first entry of a row and is eliminated with it.
"""

CLEAR = r"""
for (int e = lane; e < 6 * NR; e += G) w->motion[e / 6][e % 6] = e % 7 == 0 ? 1.0f : 0.0f;
"""

MASS_ROWS = r"""
// Entries of the mass matrix by composite inertias [Featherstone 2008, section 6.2]. The motions of a floating root
// are unit vectors, so that the first six entries of a row are the components of the composite's momentum. Rows of the
// root are six wide, with zeros beyond the diagonal.
auto mass_rows = [&]() {
  for (int i = NR + lane; i < nv; i += G) {
    const float* o = w->sub[tab(T_LINK + i)];
    const int start = row_start(i), depth = depth_of(i);
    V moment = load(o + 1), a = load(w->motion[i]), b = load(w->motion[i] + 3);
    V n = symmetric(o + 4, b) + cross(moment, a), f = a * o[0] - cross(moment, b);
    float* row = w->factor + start;
    if (NR == 6) { store(row, f); store(row + 3, n); }
    float last = 0.0f;
    for (int p = NR; p <= depth; p++) {
      const float* motion = w->motion[tab(T_CHAIN + start + p)];
      last = dot(load(motion), f) + dot(load(motion + 3), n);
      row[p] = last;
    }
    last += m.dof_armature.data[dof0 + i];
    row[depth] = last;
    w->inverse_root[i] = last;  // what the factorisation measures its pivots by
  }
  if (NR == 6 && lane == 0) {
    const float* o = w->sub[0];
    const float x = o[1], y = o[2], z = o[3];
    const int r = row_start(0), stride = row_start(1) - r;
    float* e = w->factor + r;
    e[0] = e[stride + 1] = e[2 * stride + 2] = o[0];
    e[stride] = e[2 * stride] = e[2 * stride + 1] = 0.0f;
    e += 3 * stride;
    e[0] = 0.0f; e[1] = -z; e[2] = y; e[3] = o[4];
    e += stride;
    e[0] = z; e[1] = 0.0f; e[2] = -x; e[3] = o[7]; e[4] = o[5];
    e += stride;
    e[0] = -y; e[1] = x; e[2] = 0.0f; e[3] = o[8]; e[4] = o[9]; e[5] = o[6];
    for (int i = 0; i < 6; i++) w->inverse_root[i] = w->factor[r + i * (stride + 1)];
  }
  MEET();
};
"""

FACTOR = r"""
// Rows of R from the last to the first, the right-hand side `kick` eliminated along; `sine` keeps what becomes of it.
// A velocity that friction holds keeps the row of M: it waits for the holding impulse.
auto factorize = [&]() {
  int start = row_start(nv - 1), depth = depth_of(nv - 1);
  float diagonal = nv > NR ? w->factor[start + depth] : 0.0f;
  for (int i = nv - 1; i >= NR; i--) {
    const int first = tab(T_BELOW + i), end = tab(T_BELOW + i + 1);
    const bool locked = rough && (w->flag[i] & LOCKED);
    float inverse = 0.0f;
    for (int q = lane - 1; q <= depth; q += G) {
      float a = q < 0 ? w->kick[i] : w->factor[start + q], pivot = diagonal;
      int next = tab(T_BELOW_ROW + first);
      for (int t = first; t < end; t++) {
        const int below = next;
        next = tab(T_BELOW_ROW + t + 1);
        const float* row = w->factor + (below >> 8);
        float ratio = row[depth];
        if (rough && (w->flag[below & 255] & LOCKED)) ratio = 0.0f;
        a -= ratio * row[q];
        pivot -= ratio * ratio;
      }
      if (q == lane - 1) {
        pivot = pivot_of(i, pivot);
        inverse = locked ? 0.0f : INVERSE_ROOT(pivot);
        diagonal = pivot;
      }
      if (!locked) a = q == depth ? diagonal * inverse : a * inverse;
      if (q < 0) w->sine[i] = a;
      w->factor[start + q] = a;
    }
    const int done = i;
    if (i > NR) {
      start = row_start(i - 1);
      depth = depth_of(i - 1);
      diagonal = w->factor[start + depth];
    }
    MEET();
    if (lane == 0) w->inverse_root[done] = inverse;
  }
  {ROOT}
  MEET();
};
"""

# Rows of the root, which all joints lie below: lane a takes row a, lane 6 the right-hand side; then one lane
# factorises what is left and inverts it.
ROOT = r"""
if (NR == 6) {
  MEET();
  const int r = row_start(0), stride = row_start(1) - r, own = lane < 6 ? lane : -1;
  if (G > 1) {
    float sum[6] = {0, 0, 0, 0, 0, 0};
    for (int i = NR; i < nv; i++) {
      const float* row = w->factor + row_start(i);
      float ratio = row[own];
      if (rough && (w->flag[i] & LOCKED)) ratio = 0.0f;
      UNROLL
      for (int q = 0; q < 6; q++) sum[q] += ratio * row[q];
    }
    UNROLL
    for (int q = 0; q < 6; q++) {
      if (lane < 6 && q <= lane) w->factor[r + lane * stride + q] -= sum[q];
      if (lane == 6) w->kick[q] -= sum[q];
    }
  } else {
    for (int i = NR; i < nv; i++) {
      const float* row = w->factor + row_start(i);
      if (rough && (w->flag[i] & LOCKED)) continue;
      for (int p = 0; p < 6; p++) {
        w->kick[p] -= row[p] * row[-1];
        for (int q = 0; q <= p; q++) w->factor[r + p * stride + q] -= row[p] * row[q];
      }
    }
  }
  MEET();
  if (lane == 0) {
    float a[6][6], v[6][6], z[6], inverse[6];
    UNROLL
    for (int i = 0; i < 6; i++) {
      z[i] = w->kick[i];
      UNROLL
      for (int j = 0; j <= i; j++) a[i][j] = w->factor[r + i * stride + j];
    }
    UNROLL
    for (int k = 5; k >= 0; k--) {
      float pivot = a[k][k];
      const float whole = w->inverse_root[k];
      if (pivot < CANCELLED * whole) pivot = k == 5 ? pivot_of(5, pivot) : greater(pivot, ROUNDING * whole);
      inverse[k] = INVERSE_ROOT(pivot);
      a[k][k] = pivot * inverse[k];
      z[k] *= inverse[k];
      UNROLL
      for (int j = 0; j < k; j++) a[k][j] *= inverse[k];
      UNROLL
      for (int i = 0; i < k; i++) {
        z[i] -= a[k][i] * z[k];
        UNROLL
        for (int j = 0; j <= i; j++) a[i][j] -= a[k][i] * a[k][j];
      }
    }
    UNROLL
    for (int i = 0; i < 6; i++) {
      v[i][i] = inverse[i];
      UNROLL
      for (int j = 0; j < i; j++) {
        float sum = 0.0f;
        UNROLL
        for (int p = j; p < i; p++) sum += a[i][p] * v[p][j];
        v[i][j] = -sum * inverse[i];
      }
      w->inverse_root[i] = inverse[i];
      w->sine[i] = z[i];
      UNROLL
      for (int j = 0; j < 6; j++) {
        if (j <= i) w->factor[r + i * stride + j] = a[i][j];
        w->response[r + i * stride + j] = j <= i ? v[i][j] : 0.0f;
      }
    }
  }
}
"""

INVERSE = r"""
// Rows of V of the joints, from the first to the last.
auto invert = [&]() {
  float column[6];
  if (NR == 6) {
    const int r = row_start(0), stride = row_start(1) - r;
    UNROLL
    for (int p = 0; p < 6; p++) column[p] = lane < 6 && G > 1 ? w->response[r + p * stride + lane] : 0.0f;
  }
  for (int i = NR; i < nv; i++) {
    const int start = row_start(i), depth = depth_of(i);
    const float inverse = w->inverse_root[i];
    const float* row = w->factor + start;
    for (int q = lane; q <= depth; q += G) {
      float a = 0.0f;
      int p = q - lane;
      if (NR == 6 && G > 1) {
        if (q == lane) {
          UNROLL
          for (int e = 0; e < 6; e++) a += row[e] * column[e];
          p = 6;
        }
      }
      int next = tab(T_CHAIN_ROW + start + p);
      for (; p < depth; p++) {
        const int other = next;
        next = tab(T_CHAIN_ROW + start + p + 1);
        if (q <= p) a += row[p] * w->response[other + q];
      }
      w->response[start + q] = q == depth ? inverse : -a * inverse;
    }
    MEET();
  }
};
"""

SOLVES = r"""
// Sum of a row's entries times what stands at the velocities of its chain. Rows of the root are as wide as the root;
// the chains of joints stand four to a word.
auto along = [&](const float* entries, int i, const float* x) {
  const float* row = entries + row_start(i);
  float value = 0.0f;
  UNROLL
  for (int p = 0; p < NR; p++) value += row[p] * x[p];
  const int depth = depth_of(i);
  int word = tab(T_WORD + i);
  for (int p = NR; p <= depth; p += 4, word++) {
    const unsigned places = tab(T_WORDS + word);
    UNROLL
    for (int e = 0; e < 4; e++)
      if (p + e <= depth) value += row[p + e] * x[(places >> (8 * e)) & 255];
  }
  return value;
};
// x <- M^-1 x for the right-hand side that `factorize` has eliminated; what friction holds stays at zero, its row
// gives the impulse for that and is a row of R from then on
auto back_substitute = [&](float* x) {
  invert();
  for (int i = lane; i < nv; i += G) x[i] = along(w->response, i, w->sine);
  MEET();
  if (!warp_any(rough)) return;
  for (int i = NR + lane; i < nv; i += G) {
    if (!(w->flag[i] & LOCKED)) continue;
    float* row = w->factor + row_start(i);
    const int depth = depth_of(i);
    const float given = row[-1];
    row[depth] = 0.0f;
    w->friction[i] = along(w->factor, i, x) - given;
    for (int p = 0; p < depth; p++) row[p] = 0.0f;
  }
  MEET();
};
// u = R v, in which the kinetic energy is |u|^2 / 2
auto to_u = [&](const float* v, float* u) {
  for (int i = lane; i < nv; i += G) u[i] = rough && (w->flag[i] & LOCKED) ? 0.0f : along(w->factor, i, v);
  MEET();
};
auto from_u = [&](const float* u, float* v) {
  for (int i = lane; i < nv; i += G) v[i] = along(w->response, i, u);
  SYNC();
};
auto from_u_twice = [&](const float* u0, float* v0, const float* u1, float* v1) {
  for (int i = lane; i < nv; i += G) {
    const float* row = w->response + row_start(i);
    float a = 0.0f, b = 0.0f;
    UNROLL
    for (int p = 0; p < NR; p++) { a += row[p] * u0[p]; b += row[p] * u1[p]; }
    const int depth = depth_of(i);
    int word = tab(T_WORD + i);
    for (int p = NR; p <= depth; p += 4, word++) {
      const unsigned places = tab(T_WORDS + word);
      UNROLL
      for (int e = 0; e < 4; e++)
        if (p + e <= depth) {
          const int j = (places >> (8 * e)) & 255;
          a += row[p + e] * u0[j];
          b += row[p + e] * u1[j];
        }
    }
    v0[i] = a;
    v1[i] = b;
  }
  SYNC();
};
// Row i of V is the row of the velocity in the sweep; returns its square, the inverse inertia of the velocity.
auto response_row = [&](int i, float*) {
  const float* row = w->response + row_start(i);
  const int depth = depth_of(i);
  float total = 0.0f;
  for (int p = 0; p <= depth; p++) total += row[p] * row[p];
  return total;
};
"""
