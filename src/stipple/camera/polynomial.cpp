// SPDX-License-Identifier: Apache-2.0
#include "stipple/camera/polynomial.h"

#include <algorithm>
#include <cstddef>
#include <numeric>

namespace stipple {

namespace {

bool is_negative(const Polynomial& p, double x) { return evaluate(p, x) < 0; }

// The last double before the only sign change in [low, high].
double bisect(const Polynomial& p, double low, double high) {
  const bool before = is_negative(p, low);
  while (true) {
    const double middle = std::midpoint(low, high);
    if (middle <= low || high <= middle) return low;  // adjacent doubles
    (is_negative(p, middle) == before ? low : high) = middle;
  }
}

}  // namespace

Polynomial derivative(const Polynomial& p) {
  Polynomial result;
  for (std::size_t i = 1; i < p.size(); ++i) result.push_back(static_cast<double>(i) * p[i]);
  return result;
}

Polynomial operator+(Polynomial a, const Polynomial& b) {
  a.resize(std::max(a.size(), b.size()));
  for (std::size_t i = 0; i < b.size(); ++i) a[i] += b[i];
  return a;
}

Polynomial operator*(const Polynomial& a, const Polynomial& b) {
  Polynomial product(a.size() + b.size());
  for (std::size_t i = 0; i < a.size(); ++i) {
    for (std::size_t j = 0; j < b.size(); ++j) product[i + j] += a[i] * b[j];
  }
  return product;
}

std::vector<double> sign_changes(const Polynomial& p, double low, double high) {
  if (p.size() < 2) return {};
  // Between neighbouring extrema p is monotonic and changes sign at most once.
  std::vector<double> extrema = sign_changes(derivative(p), low, high);
  extrema.push_back(high);
  std::vector<double> changes;
  for (const double next : extrema) {
    if (is_negative(p, low) != is_negative(p, next)) changes.push_back(bisect(p, low, next));
    low = next;
  }
  return changes;
}

}  // namespace stipple
