// SPDX-License-Identifier: Apache-2.0
#pragma once
// The JSON of a glTF file and the data that it refers to. Every claim is checked against the data there are.
// Include this in .cpp files only.
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "stipple/core/error.h"
#include "stipple/io/json.h"

namespace stipple {

class GltfDocument {
 public:
  explicit GltfDocument(const std::filesystem::path& path);

  const std::string& name() const { return name_; }  // of the file
  const nlohmann::json& root() const { return root_; }
  [[noreturn]] void fail(std::string_view reason) const;

  // The object with this index in one of the lists of the document, such as "nodes".
  const nlohmann::json& item(const char* list, std::uint64_t index) const;
  // A number of an object that is whole and not negative. Without a default, it must be there.
  std::uint64_t whole(const nlohmann::json& object, const char* key,
                      std::optional<std::uint64_t> otherwise = {}) const;

  std::uint64_t accessor_count(std::uint64_t accessor) const;
  // Calls f(i, components) for each element of an accessor, in order. Normalised integers are converted.
  void read(std::uint64_t accessor, std::string_view type,
            const std::function<void(std::size_t, const float*)>& f) const;
  std::uint64_t data_bytes() const;  // in all buffers; those in the same file count once

 private:
  struct Buffer {
    std::filesystem::path path;  // where the data are, from `begin` on; empty if they are in `bytes`
    std::uint64_t begin = 0, size = 0;
    std::vector<std::byte> bytes;
  };
  struct Column;

  void read_file(const std::filesystem::path& path);
  void find_buffers(const std::filesystem::path& folder);
  Buffer find_buffer(const nlohmann::json& description, std::size_t index,
                     const std::filesystem::path& folder) const;
  Column find_column(std::uint64_t accessor, std::string_view type) const;

  std::string name_;
  nlohmann::json root_;
  std::optional<Buffer> binary_chunk_;
  std::vector<Buffer> buffers_;
};

}  // namespace stipple
