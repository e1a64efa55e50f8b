// SPDX-License-Identifier: Apache-2.0
#include "stipple/scene/fingerprint.h"

#include <zlib.h>

#include <algorithm>
#include <span>
#include <string_view>

#include "stipple/core/parallel.h"
#include "stipple/io/input_file.h"

namespace stipple {

namespace {

constexpr std::uint64_t kTailBytes = 4096;

class Checksum {
 public:
  void add(std::span<const std::byte> bytes) {
    add_raw(bytes.size());
    if (bytes.empty()) return;  // zlib starts afresh if the pointer is null
    value_ = crc32_z(value_, reinterpret_cast<const Bytef*>(bytes.data()), bytes.size());
  }
  void add(std::string_view text) { add(std::as_bytes(std::span(text))); }
  template <class T>
  void add_value(const T& value) {
    add(std::as_bytes(std::span(&value, 1)));
  }
  std::uint32_t value() const { return static_cast<std::uint32_t>(value_); }

 private:
  void add_raw(std::uint64_t size) {
    value_ = crc32_z(value_, reinterpret_cast<const Bytef*>(&size), sizeof(size));
  }

  uLong value_ = 0;
};

// A file that does not exist counts as empty: training reports it when it needs it.
void add_file(const std::filesystem::path& path, Checksum& to) {
  if (path.empty()) return;
  try {
    InputFile file(path, kTailBytes);
    to.add_value(file.remaining_bytes());
    if (file.remaining_bytes() > kTailBytes) file.skip(file.remaining_bytes() - kTailBytes);
    to.add(file.take_rest());
  } catch (const ReadError&) {
    throw;
  } catch (const Error&) {
  }
}

std::uint32_t fingerprint(const SceneView& view) {
  Checksum sum;
  sum.add(view.name);
  static_assert(sizeof(Camera) == 72, "a camera must have no padding, whose bytes are not defined");
  sum.add_value(view.camera);
  sum.add_value(view.alpha);
  sum.add_value(view.is_test);
  add_file(view.image_path, sum);
  add_file(view.mask_path, sum);
  return sum.value();
}

}  // namespace

std::vector<std::uint32_t> fingerprints(const Scene& scene) {
  std::vector<std::uint32_t> result(scene.views.size());
  parallel_for(scene.views.size(), [&](std::size_t i) { result[i] = fingerprint(scene.views[i]); });
  return result;
}

}  // namespace stipple
