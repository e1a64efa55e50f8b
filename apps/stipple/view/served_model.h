// SPDX-License-Identifier: Apache-2.0
#pragma once
// The bytes of a model as a page gets them: a file that browsers can take, with the Gaussians in the order of
// the model's own file, since edits refer to them by their number.
#include <cstdint>
#include <filesystem>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "apps/stipple/server/server.h"
#include "stipple/io/byte_sink.h"
#include "stipple/model/model_file.h"

namespace stipple {

class ServedModel {
 public:
  // The file itself. Null if browsers do not read its format exactly, or if it is larger than `most_bytes`
  // and would be smaller as an .spz.
  static std::unique_ptr<ServedModel> of_file(const std::filesystem::path& file, const ModelFacts& facts,
                                              std::uint64_t most_bytes);
  // An .spz, which is made here and kept.
  static std::unique_ptr<ServedModel> converted(const Gaussians& gaussians, bool antialiased);
  // A .sog, which is closer to the model than an .spz, but slower to make, and has the Gaussians in another
  // order. `name` is for error messages.
  static std::unique_ptr<ServedModel> as_sog(const Gaussians& gaussians, const std::string& name,
                                             bool antialiased);

  const std::string& format() const { return format_; }  // "ply", "spz"
  std::uint64_t size_bytes() const { return size_bytes_; }
  bool is_converted() const { return made_ != nullptr; }

  HttpResponse respond();  // any thread may call it
  // Hands over the bytes in parts of this size, the last of which may be smaller.
  void read(std::size_t part_bytes, const ByteSink& sink) const;

 private:
  static std::unique_ptr<ServedModel> of_bytes(std::string format, SharedBytes bytes);

  std::filesystem::path file_;
  std::string format_;
  std::uint64_t size_bytes_ = 0;
  SharedBytes made_;
  std::mutex mutex_;
  std::weak_ptr<const std::vector<std::byte>> read_;  // the file, as long as somebody receives it
};

// Makes an .spz in memory, of the version and in the frame (x right, y up, z back) that browsers expect.
SharedBytes spz_for_browsers(const Gaussians& gaussians, bool antialiased);

}  // namespace stipple
