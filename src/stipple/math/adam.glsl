// SPDX-License-Identifier: Apache-2.0
// One parameter's update. Kingma and Ba, "Adam: A Method for Stochastic Optimization", 2015.
//
//   m' = b1 m + (1 - b1) g      v' = b2 v + (1 - b2) g^2      x' = x - rate (m' / c1) / (sqrt(v' / c2) + epsilon)
//
// with the bias corrections c1 = 1 - b1^step and c2 = 1 - b2^step, step counted from 1; the rule has their inverses,
// since a division costs more than all the rest. A gradient that is not finite,
// or whose square would not be, counts as 0: it must not spoil a parameter for good. Nothing differentiates through an
// update, so it has no VJP.

struct AdamRule {
  real rate;
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

// Gradients of the penalties w opacity and w scale with respect to what is stored.
FN real opacity_penalty_vjp(real logit_opacity, real w) { return sigmoid_vjp(sigmoid(logit_opacity), w); }
FN real scale_penalty_vjp(real log_scale, real w) { return w * exp(log_scale); }
