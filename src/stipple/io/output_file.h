// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstddef>
#include <cstdint>
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
  // Where the next write() goes, in bytes from the start. What is skipped and never written becomes zeros.
  // The target must not be a pipe.
  void move_to(std::uint64_t position);

  // For other processes that write parts of the same file: gives the temporary file a name now, and returns
  // it. They open it as a SharedOutput, and close that before this is committed.
  const std::filesystem::path& share();

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

// The file that several processes write, after one of them has shared it: each a part of its own. Writes are
// synchronous, so that a client of NFS sends just the bytes that it is given: of a page that lies beyond what
// it takes for the end of the file, it would otherwise send all, with zeros in place of what other machines
// have written there. Every failure is an Error that names `path`.
class SharedOutput {
 public:
  SharedOutput(const std::filesystem::path& temporary, const std::filesystem::path& path);
  ~SharedOutput();
  SharedOutput(const SharedOutput&) = delete;
  SharedOutput& operator=(const SharedOutput&) = delete;

  void write(std::span<const std::byte> bytes);
  void move_to(std::uint64_t position);
  void commit();  // flushes all data to disk; nothing may be written afterwards

 private:
  std::filesystem::path path_;
  int descriptor_ = -1;
};

// Writes the names in a folder to disk, so that what was created, renamed or removed there stays so after a
// power cut. Does nothing where the file system cannot do this.
void flush_folder(const std::filesystem::path& folder);

}  // namespace stipple
