// SPDX-License-Identifier: Apache-2.0
// stipple._stipple: the extension module behind the Python package. Its interface is internal to the package.
#include "bindings/python/src/bindings.h"

#ifndef STIPPLE_VERSION
#error "the version is that of the library"
#endif

PYBIND11_MODULE(_stipple, module) {
  namespace py = pybind11;
  module.attr("version") = STIPPLE_VERSION;
  static py::exception<stipple::Error> error(module, "Error", PyExc_RuntimeError);
  static py::exception<stipple::OutOfMemory> out_of_memory(
      module, "OutOfMemory", py::make_tuple(error, py::handle(PyExc_MemoryError)));
  py::register_exception_translator([](std::exception_ptr thrown) {
    try {
      if (thrown) std::rethrow_exception(thrown);
    } catch (const stipple::OutOfMemory& e) {
      out_of_memory(stipple::with_options(e.what(), e.options()).c_str());
    } catch (const stipple::UnknownOption& e) {
      PyErr_SetString(PyExc_TypeError, e.what());
    } catch (const stipple::OptionError& e) {
      PyErr_SetString(PyExc_ValueError, e.what());
    } catch (const stipple::Error& e) {
      error(stipple::with_options(e.what(), e.options()).c_str());
    }
  });
  stipple::bind_rasterization(module);
  stipple::bind_loss(module);
  stipple::bind_reference(module);
  stipple::bind_model(module);
  stipple::bind_scene(module);
  stipple::bind_stages(module);
  stipple::bind_trainer(module);
}
