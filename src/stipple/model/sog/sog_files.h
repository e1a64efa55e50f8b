// SPDX-License-Identifier: Apache-2.0
#pragma once
// The files of a SOG: entries of a zip archive, or files in a folder.
#include <cstddef>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "stipple/io/byte_sink.h"

namespace stipple {

class SogFiles {
 public:
  virtual ~SogFiles() = default;

  // The bytes of a file. An Error if there is none of this name, or if the name leads out of the folder.
  virtual std::vector<std::byte> read(const std::string& name) = 0;

  // "model.sog: means_l.webp", for error messages.
  virtual std::string label(const std::string& name) const = 0;

  // The name of the file that describes the others.
  virtual std::string meta_name() const { return "meta.json"; }
};

// Opens an archive, or a meta.json that lies beside the other files.
std::unique_ptr<SogFiles> open_sog(const std::filesystem::path& path);

struct NamedBytes {
  std::string name;
  std::vector<std::byte> bytes;
};

// Hands over the bytes of a zip archive with these entries, uncompressed and without dates: the same entries
// give the same bytes. `name` is for error messages.
void write_zip(std::span<const NamedBytes> entries, const std::string& name, const ByteSink& sink);

// The same into a file.
void write_zip(const std::filesystem::path& path, std::span<const NamedBytes> entries);

}  // namespace stipple
