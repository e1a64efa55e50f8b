// SPDX-License-Identifier: Apache-2.0
#pragma once
// Declarations that the module's files share. Python checks the shapes and types of arrays before it calls
// the module; only the stages check here that their arguments belong together.
#include <pybind11/numpy.h>
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>
#include <pybind11/stl/filesystem.h>

#include "stipple/backend/backend.h"
#include "stipple/image/image.h"

namespace stipple {

namespace py = pybind11;

using Address = std::uintptr_t;  // of borrowed memory; 0 means none
using NoLock = py::call_guard<py::gil_scoped_release>;

// Calls f() without the GIL, for functions that compute first and create Python objects afterwards.
template <class F>
auto without_lock(F f) {
  const py::gil_scoped_release no_lock;
  return f();
}

template <class T>
using HostValues = py::array_t<T, py::array::c_style>;

inline MemoryBorrower& borrower_of(Backend& backend) {
  MemoryBorrower* borrower = backend.borrower();
  if (!borrower) throw Error(std::string(backend.name()) + " cannot use memory of another library");
  return *borrower;
}

template <class T>
DeviceArray<T> array_over(Backend& backend, Address data, std::size_t count) {
  if (data == 0 || count == 0) return {};
  return DeviceArray<T>::over(borrower_of(backend), reinterpret_cast<T*>(data), count);
}

// Orders work on borrowed memory after the work that its owner has queued on a stream, and before the work
// that the owner queues next, even if an exception is thrown.
class OnStream {
 public:
  OnStream(Backend& backend, Address stream)
      : borrower_(borrower_of(backend)), stream_(reinterpret_cast<void*>(stream)) {
    borrower_.wait_for_stream(stream_);
  }
  ~OnStream() {
    try {
      borrower_.make_stream_wait(stream_);
    } catch (const Error&) {  // the device is lost; the next call reports it
    }
  }
  OnStream(const OnStream&) = delete;
  OnStream& operator=(const OnStream&) = delete;

 private:
  MemoryBorrower& borrower_;
  void* stream_;
};

void bind_loss(py::module_& module);           // of an image, in borrowed memory
void bind_model(py::module_& module);          // .ply files, rendering, image metrics
void bind_scene(py::module_& module);          // scenes with photos and cameras
void bind_rasterization(py::module_& module);  // forward and backward, in borrowed memory
void bind_reference(py::module_& module);      // the same in double precision, slow
void bind_stages(py::module_& module);         // the stages of the pipeline
void bind_trainer(py::module_& module);

// Gaussians in NumPy arrays.
template <class T>
using AddressOf = Address;
struct HostGaussians : GaussianArrays<AddressOf> {
  std::size_t count = 0;
};

// Copies the arrays unless the device uses host memory; then the result borrows them.
DeviceGaussians to_device(Backend& backend, const HostGaussians& from);

Gaussians to_host(const HostGaussians& from);  // a copy
py::tuple to_numpy(const Gaussians& g);        // five arrays

// Copies rows of numbers of one type to an array of that shape.
template <class Number, class Row>
py::array_t<Number> rows_to_numpy(const std::vector<Row>& rows, std::vector<py::ssize_t> shape) {
  py::array_t<Number> array(std::move(shape));
  std::copy_n(reinterpret_cast<const Number*>(rows.data()), array.size(), array.mutable_data());
  return array;
}

template <class T>
py::array_t<T> to_numpy(const std::vector<T>& values, std::vector<py::ssize_t> shape) {
  return rows_to_numpy<T>(values, std::move(shape));
}

// Python's camera_from_world: 3 x 4 numbers, row-major.
template <class T>
Mat3<T> rotation_from(const T* m) {
  return {m[0], m[4], m[8], m[1], m[5], m[9], m[2], m[6], m[10]};
}
template <class T>
Vec3<T> translation_from(const T* m) {
  return {m[3], m[7], m[11]};
}
// camera_from_world, focal length and principal point: 16 numbers.
template <class T>
std::vector<T> camera_numbers(const Mat3<T>& r, Vec3<T> t, Vec2<T> focal, Vec2<T> center) {
  return {r[0].x, r[1].x, r[2].x, t.x, r[0].y,  r[1].y,  r[2].y,   t.y,
          r[0].z, r[1].z, r[2].z, t.z, focal.x, focal.y, center.x, center.y};
}

// The message with the keyword arguments that can help, by their names.
std::string with_options(const std::string& message, const std::vector<std::string>& options);

py::array_t<float> to_numpy(const Image& image);  // height x width, or height x width x channels
Image to_image(const HostValues<float>& values);

}  // namespace stipple
