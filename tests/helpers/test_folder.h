// SPDX-License-Identifier: Apache-2.0
#pragma once
// What the tests of this folder share: a folder of their own, and files as strings of bytes.
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

// A new folder for one test's files, gone with the test.
class TestFolder {
 public:
  TestFolder() {
    std::string name = (std::filesystem::temp_directory_path() / "stipple_test_XXXXXX").string();
    if (!::mkdtemp(name.data())) throw std::runtime_error("cannot make a folder for the test");
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

  // A file that is there already is removed first, not overwritten: ext4 brings what is written over an
  // emptied file to the disk at once, which takes ten times as long, and some tests write thousands.
  std::filesystem::path write(std::string_view name, std::string_view content) const {
    std::filesystem::remove(path_ / name);
    std::ofstream file(path_ / name, std::ios::binary | std::ios::trunc);
    file.write(content.data(), static_cast<std::streamsize>(content.size()));
    file.close();
    if (!file) throw std::runtime_error("cannot write the test's file");
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

// The message of the Error that f throws; empty when it throws none. Anything else it throws fails the test.
template <class F>
std::string error_of(F f) {
  try {
    f();
  } catch (const Error& error) {
    return error.what();
  } catch (const std::exception& other) {
    ADD_FAILURE() << "not a stipple::Error: " << other.what();
  }
  return "";
}

// Loads the file cut at every length below its own: each must be an Error.
template <class Load>
void expect_every_cut_fails(const TestFolder& folder, std::string_view name, std::string_view whole,
                            Load load) {
  for (std::size_t length = 0; length < whole.size(); ++length) {
    const std::filesystem::path path = folder.write(name, whole.substr(0, length));
    const std::string message = error_of([&] { load(path); });
    EXPECT_NE(message, "") << "cut to " << length << " of " << whole.size() << " bytes";
    EXPECT_EQ(message.find('\n'), std::string::npos) << message;
  }
}

// Loads the file with a few bytes altered, many times: an Error or a result, nothing worse. The sanitizers
// watch.
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
