// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstddef>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>

namespace stipple {

// Writes a file atomically: it appears complete or not at all. Data go to a temporary file in the target's
// folder, unnamed if the system supports that, so that a killed program leaves nothing behind. commit() names
// it <target>.stipple.part and renames that to the target; until then, and if anything fails, an existing
// target is unchanged. A program that is killed between the two leaves the temporary file, which is locked
// while it is in use: the next writer of the same target removes it. A target that is not a regular file
// (/dev/stdout, a pipe) is written directly, since a rename would replace it. Every failure is an Error that
// names the target and the reason.
class OutputFile {
 public:
  explicit OutputFile(const std::filesystem::path& path);
  ~OutputFile();  // without commit(), discards what was written
  OutputFile(const OutputFile&) = delete;
  OutputFile& operator=(const OutputFile&) = delete;

  // Unbuffered, so large writes are best.
  void write(std::span<const std::byte> bytes);
  void write(std::string_view text);

  // Throws if the file cannot be written at present, and changes nothing. Call it before a long computation.
  static void check(const std::filesystem::path& path);

  // Flushes all data to disk, gives the file its name, and flushes that, too: after a power cut, the file is
  // there. Nothing may be written afterwards.
  void commit();

 private:
  void follow_links();
  void open_temporary();
  void name_temporary();
  std::filesystem::path folder() const;
  void open_in_place();
  [[noreturn]] void fail(std::string_view reason) const;
  [[noreturn]] void fail_with_errno() const;

  std::filesystem::path path_;       // as given by the caller, for error messages
  std::filesystem::path target_;     // path_ with symbolic links resolved
  std::filesystem::path temporary_;  // empty while the temporary file is unnamed
  bool in_place_ = false;            // the target is written directly
  int descriptor_ = -1;
};

// Writes the names in a folder to disk, so that what was created, renamed or removed there stays so after a
// power cut. Does nothing where the file system cannot do this.
void flush_folder(const std::filesystem::path& folder);

}  // namespace stipple
