// SPDX-License-Identifier: Apache-2.0
// The backward pass of one Gaussian: from its splat's gradient to the gradients of its stored parameters. Shared by
// project_backward and project_backward_optimize, which must get the same bits.
struct GaussianGradient {
  StoredGaussian stored;
  vec3 sh_sum;  // of sum_k basis_k sh_k; coefficient k gets basis_k times this
  vec3 color;   // if the colour was given
};

GaussianGradient no_gradient() {
  GaussianGradient g;
  g.stored.mean = vec3(0.0);
  g.stored.log_scale = vec3(0.0);
  g.stored.rotation = vec4(0.0);
  g.stored.logit_opacity = 0.0;
  g.stored.covariance.xx = g.stored.covariance.xy = g.stored.covariance.xz = 0.0;
  g.stored.covariance.yy = g.stored.covariance.yz = g.stored.covariance.zz = 0.0;
  g.sh_sum = g.color = vec3(0.0);
  return g;
}

// For a Gaussian that is drawn; `seen` and `dL` are its splat's values and gradient. Sets the basis, for the
// coefficients' gradients.
GaussianGradient gaussian_backward(uint thread, ActiveGaussian g, Pinhole camera, RenderSettings settings, float depth,
                                   vec3 seen_color, Splat dL, bool lifts_clamped, out HarmonicBasis basis,
                                   out GaussianVjp vjp, out vec3 dL_doffset) {
  GaussianGradient result = no_gradient();
  vjp = gaussian_vjp(g, gaussian_form(), camera, settings, depth, dL);
  dL_doffset = vec3(0.0);
  if (has_color) {
    result.color = dL.channels.xyz;
  } else {
    ViewRay ray = view_ray(g.placed.mean, camera);
    basis = harmonic_basis(sh_degree, ray.direction);
    result.sh_sum = color_from_harmonics_vjp(seen_color, dL.channels.xyz, lifts_clamped);
    HarmonicBasis dL_dbasis;
    [[unroll]] for (int k = 0; k < 16; ++k) dL_dbasis.b[k] = k < sh_count ? dot(sh_of(thread, k), result.sh_sum) : 0.0;
    dL_doffset = view_ray_vjp(sh_degree, ray, dL_dbasis);
  }
  result.stored = vjp.dL_dstored;
  result.stored.mean = result.stored.mean + dL_doffset;
  return result;
}

// The group's basis functions and gradients of their sums; the products are the gradients of the coefficients. They
// replace the coefficients in shared memory.
shared float sh_sum_row[64 * 3];

void store_sh_gradients(uint thread, HarmonicBasis basis, vec3 sh_sum, bool is_drawn) {
  barrier();  // until all threads have read their coefficients
  [[unroll]] for (int k = 0; k < sh_count; ++k) sh_row[17u * thread + uint(k)] = is_drawn ? basis.b[k] : 0.0;
  [[unroll]] for (uint c = 0u; c < 3u; ++c) sh_sum_row[3u * thread + c] = is_drawn ? sh_sum[c] : 0.0;
  barrier();
}

float sh_gradient(uint row, uint place) {  // place = 3 k + channel
  return sh_row[17u * row + place / 3u] * sh_sum_row[3u * row + place % 3u];
}
