// SPDX-License-Identifier: Apache-2.0
#pragma once
// The few vector types the maths needs, with GLSL's names, meaning and column-major layout, over any scalar.
#include <cmath>

#include "stipple/math/host_device.h"

namespace stipple {

using std::abs;
using std::exp;
using std::floor;
using std::log;
using std::sqrt;

template <class T>
STIPPLE_HD constexpr T min(T a, T b) {
  return b < a ? b : a;
}
template <class T>
STIPPLE_HD constexpr T max(T a, T b) {
  return a < b ? b : a;
}
template <class T>
STIPPLE_HD constexpr T clamp(T v, T low, T high) {
  return min(max(v, low), high);
}

template <class T>
struct Vec2 {
  T x, y;
  Vec2() = default;
  STIPPLE_HD constexpr Vec2(T x_, T y_) : x(x_), y(y_) {}
  STIPPLE_HD friend constexpr Vec2 operator+(Vec2 a, Vec2 b) { return {a.x + b.x, a.y + b.y}; }
  STIPPLE_HD friend constexpr Vec2 operator-(Vec2 a, Vec2 b) { return {a.x - b.x, a.y - b.y}; }
  STIPPLE_HD friend constexpr Vec2 operator*(Vec2 a, Vec2 b) { return {a.x * b.x, a.y * b.y}; }
  STIPPLE_HD friend constexpr Vec2 operator/(Vec2 a, Vec2 b) { return {a.x / b.x, a.y / b.y}; }
  STIPPLE_HD friend constexpr Vec2 operator-(Vec2 a) { return {-a.x, -a.y}; }
  STIPPLE_HD friend constexpr Vec2 operator*(Vec2 a, T s) { return {a.x * s, a.y * s}; }
  STIPPLE_HD friend constexpr Vec2 operator*(T s, Vec2 a) { return a * s; }
  STIPPLE_HD friend constexpr bool operator==(Vec2 a, Vec2 b) { return a.x == b.x && a.y == b.y; }
  STIPPLE_HD friend constexpr T dot(Vec2 a, Vec2 b) { return a.x * b.x + a.y * b.y; }
  STIPPLE_HD friend constexpr Vec2 clamp(Vec2 v, Vec2 low, Vec2 high) {
    return {stipple::clamp(v.x, low.x, high.x), stipple::clamp(v.y, low.y, high.y)};
  }
};

template <class T>
struct Vec3 {
  T x, y, z;
  Vec3() = default;
  STIPPLE_HD constexpr Vec3(T x_, T y_, T z_) : x(x_), y(y_), z(z_) {}
  STIPPLE_HD constexpr T& operator[](int i) { return i == 0 ? x : i == 1 ? y : z; }
  STIPPLE_HD constexpr const T& operator[](int i) const { return i == 0 ? x : i == 1 ? y : z; }
  STIPPLE_HD friend constexpr Vec3 operator+(Vec3 a, Vec3 b) { return {a.x + b.x, a.y + b.y, a.z + b.z}; }
  STIPPLE_HD friend constexpr Vec3 operator-(Vec3 a, Vec3 b) { return {a.x - b.x, a.y - b.y, a.z - b.z}; }
  STIPPLE_HD friend constexpr Vec3 operator*(Vec3 a, Vec3 b) { return {a.x * b.x, a.y * b.y, a.z * b.z}; }
  STIPPLE_HD friend constexpr Vec3 operator-(Vec3 a) { return {-a.x, -a.y, -a.z}; }
  STIPPLE_HD friend constexpr Vec3 operator*(Vec3 a, T s) { return {a.x * s, a.y * s, a.z * s}; }
  STIPPLE_HD friend constexpr Vec3 operator*(T s, Vec3 a) { return a * s; }
  STIPPLE_HD friend constexpr bool operator==(Vec3 a, Vec3 b) {
    return a.x == b.x && a.y == b.y && a.z == b.z;
  }
  STIPPLE_HD friend constexpr T dot(Vec3 a, Vec3 b) { return a.x * b.x + a.y * b.y + a.z * b.z; }
};

template <class T>
struct Vec4 {
  T x, y, z, w;
  Vec4() = default;
  STIPPLE_HD constexpr Vec4(T x_, T y_, T z_, T w_) : x(x_), y(y_), z(z_), w(w_) {}
  STIPPLE_HD friend constexpr Vec4 operator+(Vec4 a, Vec4 b) {
    return {a.x + b.x, a.y + b.y, a.z + b.z, a.w + b.w};
  }
  STIPPLE_HD friend constexpr Vec4 operator-(Vec4 a, Vec4 b) {
    return {a.x - b.x, a.y - b.y, a.z - b.z, a.w - b.w};
  }
  STIPPLE_HD friend constexpr Vec4 operator-(Vec4 a) { return {-a.x, -a.y, -a.z, -a.w}; }
  STIPPLE_HD friend constexpr Vec4 operator*(Vec4 a, T s) { return {a.x * s, a.y * s, a.z * s, a.w * s}; }
  STIPPLE_HD friend constexpr Vec4 operator*(T s, Vec4 a) { return a * s; }
  STIPPLE_HD friend constexpr bool operator==(Vec4 a, Vec4 b) {
    return a.x == b.x && a.y == b.y && a.z == b.z && a.w == b.w;
  }
  STIPPLE_HD friend constexpr T dot(Vec4 a, Vec4 b) { return a.x * b.x + a.y * b.y + a.z * b.z + a.w * b.w; }
};

template <class T>
struct Mat3 {  // m[column][row], as in GLSL
  Vec3<T> column[3];
  Mat3() = default;
  STIPPLE_HD constexpr Mat3(Vec3<T> a, Vec3<T> b, Vec3<T> c) : column{a, b, c} {}
  STIPPLE_HD constexpr Mat3(T a, T b, T c, T d, T e, T f, T g, T h, T i)
      : column{{a, b, c}, {d, e, f}, {g, h, i}} {}
  STIPPLE_HD constexpr Vec3<T>& operator[](int i) { return column[i]; }
  STIPPLE_HD constexpr const Vec3<T>& operator[](int i) const { return column[i]; }
  STIPPLE_HD friend constexpr Vec3<T> operator*(const Mat3& m, Vec3<T> v) {
    return m[0] * v.x + m[1] * v.y + m[2] * v.z;
  }
  STIPPLE_HD friend constexpr Mat3 operator*(const Mat3& a, const Mat3& b) {
    return {a * b[0], a * b[1], a * b[2]};
  }
  STIPPLE_HD friend constexpr Mat3 operator*(const Mat3& m, T s) { return {m[0] * s, m[1] * s, m[2] * s}; }
  STIPPLE_HD friend constexpr Mat3 operator+(const Mat3& a, const Mat3& b) {
    return {a[0] + b[0], a[1] + b[1], a[2] + b[2]};
  }
  STIPPLE_HD friend constexpr bool operator==(const Mat3& a, const Mat3& b) {
    return a[0] == b[0] && a[1] == b[1] && a[2] == b[2];
  }
  STIPPLE_HD friend constexpr Mat3 transpose(const Mat3& m) {
    return {m[0].x, m[1].x, m[2].x, m[0].y, m[1].y, m[2].y, m[0].z, m[1].z, m[2].z};
  }
};

// column * row^T, as in GLSL
template <class T>
STIPPLE_HD constexpr Mat3<T> outerProduct(Vec3<T> column, Vec3<T> row) {
  return {column * row.x, column * row.y, column * row.z};
}

using Vec2f = Vec2<float>;
using Vec3f = Vec3<float>;
using Vec4f = Vec4<float>;
using Mat3f = Mat3<float>;

}  // namespace stipple
