// SPDX-License-Identifier: Apache-2.0
// One update of one parameter. Kingma and Ba, "Adam: A Method for Stochastic Optimization", 2015.
//
//   m' = b1 m + (1 - b1) g      v' = b2 v + (1 - b2) g^2      x' = x - rate (m' / c1) / (sqrt(v' / c2) + epsilon)
//
// with the bias corrections c1 = 1 - b1^step and c2 = 1 - b2^step, where step counts from 1. AdamRule holds their
// inverses, because a division costs more than the rest of the update. A gradient that is not finite, or whose square
// would overflow, counts as 0, because it would spoil the parameter permanently. Nothing differentiates through an
// update, so it has no VJP.

struct AdamRule {
  real rate;  // learning rate
  real beta1;
  real beta2;
  real epsilon;
  real inverse_correction1;
  real inverse_correction2;
};

struct AdamParameter {
  real value;
  real first_moment;
  real second_moment;
};

CONST(real, max_gradient, 1e18)

FN AdamParameter adam(AdamParameter p, real any_gradient, AdamRule rule) {
  real gradient = select(abs(any_gradient) <= max_gradient, any_gradient, real(0));
  AdamParameter next;
  next.first_moment = rule.beta1 * p.first_moment + (real(1) - rule.beta1) * gradient;
  next.second_moment = rule.beta2 * p.second_moment + (real(1) - rule.beta2) * gradient * gradient;
  real size = sqrt(next.second_moment * rule.inverse_correction2) + rule.epsilon;
  next.value = p.value - rule.rate * (next.first_moment * rule.inverse_correction1) / size;
  return next;
}

// Gradients of the penalties w * opacity and w * scale with respect to the stored parameters.
FN real opacity_penalty_vjp(real logit_opacity, real w) { return sigmoid_vjp(sigmoid(logit_opacity), w); }
FN real scale_penalty_vjp(real log_scale, real w) { return w * exp(log_scale); }
