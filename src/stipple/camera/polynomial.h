// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <vector>

namespace stipple {

using Polynomial = std::vector<double>;  // p[0] + p[1] x + p[2] x^2 ...

// p(x), for x in any scalar type.
template <class T>
T evaluate(const Polynomial& p, T x) {
  T sum(0);
  for (auto coefficient = p.rbegin(); coefficient != p.rend(); ++coefficient) sum = sum * x + *coefficient;
  return sum;
}

Polynomial derivative(const Polynomial& p);
Polynomial operator+(Polynomial a, const Polynomial& b);
Polynomial operator*(const Polynomial& a, const Polynomial& b);

// Where p changes between negative and non-negative in [low, high], in ascending order. Each result is the
// last double before the change.
std::vector<double> sign_changes(const Polynomial& p, double low, double high);

}  // namespace stipple
