"""Mimic joints: rows over two degrees of freedom, solved at once; what is meant is written out in the generic path."""

# Rows Y and L of their products, with inverse pivots on the diagonal.
SCRATCH = r"""
  float mimic_y[MB][UB], mimic_factor[MB][MB];
"""

# Laws 0 of a row that does not act, 1 rigid, 2 of a spring; every lane keeps them.
SETTING = r"""
float mimic_target[MB], mimic_biased[MB], mimic_compliance[MB], mimic_impulse[MB];
int mimic_law[MB], mimic_fast = 0;
"""
COUNT_CPU = "const int mimics = tab(T_MIMIC);"
COUNT_LANES = "constexpr int mimics = MB;"

# Links that turn too fast for the second derivative of a substep, while their velocities stand.
SPEED = r"""
mimic_fast = 0;
for (int l = lane; l < nl; l += G) {
  const V turn = load(w->rate[l]) * h;
  if (dot(turn, turn) > MIMIC_FAST * MIMIC_FAST) mimic_fast = 1;
}
mimic_fast = group_any(mimic_fast);
"""

RESPONSES_CPU = r"""
    response_row(a, w->response);
    response_row(b, w->response);
"""

ROWS = r"""
{COUNT}
auto mimic_entry = [&](int r, int column) { return tab(T_MIMIC + 1 + 3 * r + column); };
auto mimic_rows = [&]() {
  for (int r = 0; r < mimics; r++) {
    const int a = mimic_entry(r, 0), b = mimic_entry(r, 1);
    float* y = w->mimic_y[r];
{RESPONSES}
    for (int i = lane; i < UB; i += G) y[i] = 0.0f;
    SYNC();
    for (int p = lane; p <= depth_of(a); p += G) y[tab(T_CHAIN + row_start(a) + p)] = w->response[row_start(a) + p];
    SYNC();
    const float gearing = mimic.gearing.data[r];
    for (int p = lane; p <= depth_of(b); p += G)
      y[tab(T_CHAIN + row_start(b) + p)] += gearing * w->response[row_start(b) + p];
    SYNC();
  }
  for (int r = 0; r < mimics; r++)
    for (int o = 0; o <= r; o++) {
      float sum = 0.0f;
      for (int i = lane; i < nv; i += G) sum += w->mimic_y[r][i] * w->mimic_y[o][i];
      sum = group_sum(sum);
      if (lane == 0) w->mimic_factor[r][o] = sum;
    }
  SYNC();
  UNROLL
  for (int r = 0; r < mimics; r++) {
    const int item = env * mimics + mimic_entry(r, 2);
    const float response = w->mimic_factor[r][r], frequency = mimic.natural_frequency.data[item];
    const float ratio = mimic.damping_ratio.data[item];
    const float error = w->q[mimic_entry(r, 0)] + mimic.gearing.data[r] * w->q[mimic_entry(r, 1)] + mimic.offset.data[item];
    float gain = 1.0f;
    mimic_compliance[r] = YIELD * response;
    mimic_target[r] = 0.0f;
    mimic_biased[r] = -CORRECTION * error / h;
    mimic_law[r] = 1;
    if (frequency > 0.0f && ratio > 0.0f) {
      const float scale = 1.0f / greater(response, 1.0e-20f), stiffness = frequency * frequency;
      gain = scale * (h * stiffness + 2.0f * ratio * frequency);
      mimic_compliance[r] = greater(1.0f / greater(h * gain, 1.0e-30f), mimic_compliance[r]);
      mimic_target[r] = mimic_biased[r] = -scale * stiffness * error / greater(gain, 1.0e-30f);
      mimic_law[r] = 2;
    }
    if (mimic.enabled.data[item] == 0 || !(gain > 0.0f) || !(response > 0.0f)) mimic_law[r] = 0;
    mimic_impulse[r] = 0.0f;
  }
  SYNC();
  // L D L^T of the rows that act, in place; the others become unit rows
  if (lane == 0) {
    UNROLL
    for (int r = 0; r < mimics; r++) {
      if (mimic_law[r]) {
        w->mimic_factor[r][r] += mimic_compliance[r];
        continue;
      }
      for (int o = 0; o < r; o++) w->mimic_factor[r][o] = 0.0f;
      for (int o = r + 1; o < mimics; o++) w->mimic_factor[o][r] = 0.0f;
      w->mimic_factor[r][r] = 1.0f;
    }
    UNROLL
    for (int r = 0; r < mimics; r++) {
      const float over = 1.0f / greater(greater(w->mimic_factor[r][r], 0.5f * mimic_compliance[r]), 1.0e-30f);
      w->mimic_factor[r][r] = over;
      for (int o = r + 1; o < mimics; o++) {
        const float ratio = w->mimic_factor[o][r] * over;
        for (int e = r + 1; e <= o; e++) w->mimic_factor[o][e] -= ratio * w->mimic_factor[e][r];
      }
      for (int o = r + 1; o < mimics; o++) w->mimic_factor[o][r] *= over;
    }
  }
  SYNC();
};
"""

# All rows at once for the velocities that stand in u.
PASS = r"""
auto mimic_pass = [&](const bool biased) {
  float step[MB];
  UNROLL
  for (int r = 0; r < mimics; r++) {
    float v = 0.0f;
    for (int i = lane; i < nv; i += G) v += w->mimic_y[r][i] * w->u[i];
    v = group_sum(v);
    step[r] = (biased ? mimic_biased[r] : mimic_target[r]) - v - mimic_compliance[r] * mimic_impulse[r];
    if (!mimic_law[r]) step[r] = 0.0f;
  }
  UNROLL
  for (int r = 0; r < mimics; r++) {
    UNROLL
    for (int o = 0; o < r; o++) step[r] -= w->mimic_factor[r][o] * step[o];
  }
  UNROLL
  for (int r = mimics - 1; r >= 0; r--) {
    step[r] *= w->mimic_factor[r][r];
    UNROLL
    for (int o = r + 1; o < mimics; o++) step[r] -= w->mimic_factor[o][r] * step[o];
  }
  SYNC();
  for (int i = lane; i < nv; i += G) {
    float sum = 0.0f;
    UNROLL
    for (int r = 0; r < mimics; r++) sum += w->mimic_y[r][i] * step[r];
    w->u[i] += sum;
  }
  UNROLL
  for (int r = 0; r < mimics; r++) mimic_impulse[r] += step[r];
  moved = true;
  SYNC();
};
"""

# Friction inside an articulation that mimic joints hold is no kick that could be halved. Rigid rows that act alone are:
# what they changed belongs to the kick whose half synchronises the velocity with the positions.
KEEP = r"""
if (rubbed) {
  loaded = 1;
  rubbed = false;
}
"""
KICK = r"""
{
  bool smooth = !loaded && !fresh && !mimic_fast;
  UNROLL
  for (int r = 0; r < mimics; r++) {
    if (mimic_impulse[r] != 0.0f && mimic_law[r] != 1) smooth = false;
    if (lane == 0) {
      float* total = mimic.total.data + env * mimics + r;
      *total = (substep == 0 ? 0.0f : *total) + mimic_impulse[r];
    }
  }
  if (!smooth) loaded = 1;
  if (warp_any(smooth)) {
    for (int i = lane; i < nv; i += G) {
      float sum = 0.0f;
      UNROLL
      for (int r = 0; r < mimics; r++) sum += w->mimic_y[r][i] * mimic_impulse[r];
      w->sine[i] = sum;
    }
    SYNC();
    from_u(w->sine, w->cosine);
    if (smooth)
      for (int i = lane; i < nv; i += G) w->kick[i] += w->cosine[i];
  }
}
"""
