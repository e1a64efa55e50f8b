// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstddef>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>

namespace stipple {

// A file that appears whole or not at all. What is written goes into a new file beside the target, without a
// name where the system can do that, so that even a killed program leaves nothing behind. It takes the
// target's name on commit(); until then, and when anything fails, an existing target stays as it was. A
// target that is not a regular file (/dev/stdout, a pipe) is written directly, since a rename would replace
// it. Every failure is an Error that names the target and the reason.
class OutputFile {
 public:
  explicit OutputFile(const std::filesystem::path& path);
  ~OutputFile();  // without commit(): nothing was written
  OutputFile(const OutputFile&) = delete;
  OutputFile& operator=(const OutputFile&) = delete;

  // Unbuffered: large pieces are best.
  void write(std::span<const std::byte> bytes);
  void write(std::string_view text);

  // Throws if the file could not be written now; changes nothing. For asking before a long computation.
  static void check(const std::filesystem::path& path);

  // Brings everything to the disk and gives the file its name. Nothing may be written afterwards.
  void commit();

 private:
  void follow_links();
  void open_temporary();
  void name_temporary();
  void open_in_place();
  [[noreturn]] void fail(std::string_view reason) const;
  [[noreturn]] void fail_with_errno() const;

  std::filesystem::path path_;       // as the caller gave it, for messages
  std::filesystem::path target_;     // the same with links followed
  std::filesystem::path temporary_;  // empty while it has no name
  bool in_place_ = false;            // the target is written directly
  int descriptor_ = -1;
};

}  // namespace stipple
