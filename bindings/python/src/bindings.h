// SPDX-License-Identifier: Apache-2.0
#pragma once
// What the files of the module have in common. Shapes and types of arrays are checked in Python, where the
// sentences are; what comes here is right, but for the stages, which check what belongs together.
#include <pybind11/numpy.h>
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>
#include <pybind11/stl/filesystem.h>

#include "stipple/backend/backend.h"
#include "stipple/image/image.h"

namespace stipple {

namespace py = pybind11;

using Address = std::uintptr_t;  // of borrowed memory; 0: there is none
using NoLock = py::call_guard<py::gil_scoped_release>;

// f(), while other threads of Python's may run: for what works first and then makes Python's objects.
template <class F>
auto without_lock(F f) {
  const py::gil_scoped_release no_lock;
  return f();
}

template <class T>
using HostValues = py::array_t<T, py::array::c_style>;

inline MemoryBorrower& borrower_of(Backend& backend) {
  MemoryBorrower* borrower = backend.borrower();
  if (!borrower) throw Error(std::string(backend.name()) + " cannot work on memory of another library");
  return *borrower;
}

template <class T>
DeviceArray<T> array_over(Backend& backend, Address data, std::size_t count) {
  if (data == 0 || count == 0) return {};
  return DeviceArray<T>::over(borrower_of(backend), reinterpret_cast<T*>(data), count);
}

// Work on borrowed memory comes after what its owner has queued on a stream, and before what the owner queues
// next, also where it ends with an exception.
class OnStream {
 public:
  OnStream(Backend& backend, Address stream)
      : borrower_(borrower_of(backend)), stream_(reinterpret_cast<void*>(stream)) {
    borrower_.wait_for_stream(stream_);
  }
  ~OnStream() {
    try {
      borrower_.make_stream_wait(stream_);
    } catch (const Error&) {  // the device is lost; the next call says so
    }
  }
  OnStream(const OnStream&) = delete;
  OnStream& operator=(const OnStream&) = delete;

 private:
  MemoryBorrower& borrower_;
  void* stream_;
};

void bind_loss(py::module_& module);           // of a picture, over memory of others
void bind_model(py::module_& module);          // .ply files, pictures, scores
void bind_scene(py::module_& module);          // photos and cameras
void bind_rasterization(py::module_& module);  // forward and backward over memory of others
void bind_reference(py::module_& module);      // the same in double, slowly
void bind_stages(py::module_& module);         // one by one
void bind_trainer(py::module_& module);

// Gaussians in arrays of Python's.
template <class T>
using AddressOf = Address;
struct HostGaussians : GaussianArrays<AddressOf> {
  std::size_t count = 0;
};

// On a device that works in the host's memory they stay where they are.
DeviceGaussians to_device(Backend& backend, const HostGaussians& from);

Gaussians to_host(const HostGaussians& from);  // a copy
py::tuple to_numpy(const Gaussians& g);        // five arrays

// Rows of one kind of number as an array of that shape.
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

// A camera as Python has it: 3 x 4 numbers of camera_from_world, row by row.
template <class T>
Mat3<T> rotation_from(const T* m) {
  return {m[0], m[4], m[8], m[1], m[5], m[9], m[2], m[6], m[10]};
}
template <class T>
Vec3<T> translation_from(const T* m) {
  return {m[3], m[7], m[11]};
}
// These, and the focal length and the centre: 16 numbers.
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
