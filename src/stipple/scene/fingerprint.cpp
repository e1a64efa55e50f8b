// SPDX-License-Identifier: Apache-2.0
#include "stipple/scene/fingerprint.h"

#include <span>
#include <string_view>

#include "stipple/core/checksum.h"
#include "stipple/core/parallel.h"
#include "stipple/io/input_file.h"

namespace stipple {

namespace {

constexpr std::uint64_t kTailBytes = 4096;

// Every part is preceded by its length, so that no two lists of parts have the same bytes.
class Fingerprint {
 public:
  void add(std::span<const std::byte> bytes) {
    const std::uint64_t size = bytes.size();
    value_ = checksum(checksum(value_, std::as_bytes(std::span(&size, 1))), bytes);
  }
  void add(std::string_view text) { add(std::as_bytes(std::span(text))); }
  template <class T>
  void add_value(const T& value) {
    add(std::as_bytes(std::span(&value, 1)));
  }
  std::uint32_t value() const { return value_; }

 private:
  std::uint32_t value_ = 0;
};

// A file that does not exist counts as empty: training reports it when it needs it.
void add_file(const std::filesystem::path& path, Fingerprint& to) {
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
  Fingerprint sum;
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
