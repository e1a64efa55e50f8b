// SPDX-License-Identifier: Apache-2.0
#pragma once
// Helpers for tests that read and write files: a temporary folder, and files as strings of bytes.
#include <gtest/gtest.h>
#include <stdlib.h>  // mkdtemp

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <stdexcept>
#include <string>
#include <string_view>

#include "stipple/core/error.h"

namespace stipple {

// A temporary folder for the files of one test; removed by the destructor.
class TestFolder {
 public:
  TestFolder() {
    std::string name = (std::filesystem::temp_directory_path() / "stipple_test_XXXXXX").string();
    if (!::mkdtemp(name.data())) throw std::runtime_error("cannot create a folder for the test");
    path_ = name;
  }
  ~TestFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  TestFolder(const TestFolder&) = delete;
  TestFolder& operator=(const TestFolder&) = delete;

  const std::filesystem::path& path() const { return path_; }
  std::filesystem::path operator/(std::string_view name) const { return path_ / name; }

  // Removes an existing file instead of truncating it: ext4 flushes a file that replaces truncated content to
  // disk at once, which takes ten times as long, and some tests write thousands of files.
  std::filesystem::path write(std::string_view name, std::string_view content) const {
    std::filesystem::remove(path_ / name);
    std::ofstream file(path_ / name, std::ios::binary | std::ios::trunc);
    file.write(content.data(), static_cast<std::streamsize>(content.size()));
    file.close();
    if (!file) throw std::runtime_error("cannot write a file for the test");
    return path_ / name;
  }

  std::size_t file_count() const {
    const std::filesystem::directory_iterator begin(path_);
    return static_cast<std::size_t>(std::distance(begin, std::filesystem::directory_iterator()));
  }

 private:
  std::filesystem::path path_;
};

inline std::string read_file(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

// Returns the message of the Error that f throws, or an empty string if f throws nothing. Any other exception
// fails the test.
template <class F>
std::string error_of(F f) {
  try {
    f();
  } catch (const Error& error) {
    return error.what();
  } catch (const std::exception& other) {
    ADD_FAILURE() << "expected a stipple::Error, but got: " << other.what();
  }
  return "";
}

// Loads the file truncated to every shorter length and expects an Error each time.
template <class Load>
void expect_every_cut_fails(const TestFolder& folder, std::string_view name, std::string_view whole,
                            Load load) {
  for (std::size_t length = 0; length < whole.size(); ++length) {
    const std::filesystem::path path = folder.write(name, whole.substr(0, length));
    const std::string message = error_of([&] { load(path); });
    EXPECT_NE(message, "") << "truncated to " << length << " of " << whole.size() << " bytes";
    EXPECT_EQ(message.find('\n'), std::string::npos) << message;
  }
}

// Loads the file many times, with a few bytes altered at random each time. The outcome must be a result or an
// Error; the sanitizers catch anything worse.
template <class Load>
void expect_flips_are_survived(const TestFolder& folder, std::string_view name, std::string_view whole,
                               int times, Load load) {
  std::mt19937 random(20240607);
  for (int i = 0; i < times; ++i) {
    std::string altered(whole);
    const std::size_t count = 1 + random() % 3;
    for (std::size_t k = 0; k < count; ++k) altered[random() % altered.size()] = static_cast<char>(random());
    const std::filesystem::path path = folder.write(name, altered);
    error_of([&] { load(path); });
  }
}

}  // namespace stipple
