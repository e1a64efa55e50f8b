// SPDX-License-Identifier: Apache-2.0
#include "stipple/scene/formats/files_with_extension.h"

#include <algorithm>
#include <cctype>

#include "stipple/core/error.h"
#include "stipple/io/input_file.h"

namespace stipple {

namespace fs = std::filesystem;

namespace {

bool has_extension(const fs::path& path, std::string_view extension) {
  std::string own = path.extension().string();
  std::ranges::transform(own, own.begin(),
                         [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return own == extension;
}

}  // namespace

std::vector<fs::path> files_with_extension(const fs::path& folder, std::string_view extension) {
  std::vector<fs::path> found;
  std::error_code error, ignored;
  for (fs::directory_iterator it(folder, error), end; !error && it != end; it.increment(error))
    if (has_extension(it->path(), extension) && it->is_regular_file(ignored)) found.push_back(it->path());
  std::sort(found.begin(), found.end());
  return found;
}

std::string first_bytes(const fs::path& path, std::size_t count) {
  try {
    InputFile file(path, count);
    return std::string(as_text(file.take(count)));
  } catch (const ReadError&) {
    throw;
  } catch (const Error&) {  // such as a file that may not be read
    return {};
  }
}

}  // namespace stipple
