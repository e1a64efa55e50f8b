// SPDX-License-Identifier: Apache-2.0
// A library to be preloaded into the command (LD_PRELOAD), through which its operations on files pass. It can
// let one of them fail, and record all of them.
//
//   FAULT_PATHS=A:B     only files whose path contains A or B count
//   FAULT=KIND:N        operation number N, from 1, of this kind fails: open, read, write, fsync, close,
//                       link, rename, unlink, or alloc (a large block of host memory); "short" writes only
//                       half, and "interrupt" ends a read or write with EINTR: the program must notice
//                       neither
//   FAULT_COUNTS=FILE   at the end, writes a line "KIND COUNT" for every kind
//   FAULT_TRACE=FILE    records what a disk would be told, for power_cut_test.py: lines "open ID PATH",
//                       "truncate ID", "write ID BYTES" followed by the bytes, "fsync ID", "flush FOLDER",
//                       "link ID PATH", "rename A B" and "unlink PATH"
//
// A file that is opened without a name has an empty PATH. Relative paths are as the program gave them.
#include <dlfcn.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>

namespace {

enum Kind {
  kOpen,
  kRead,
  kWrite,
  kFsync,
  kClose,
  kLink,
  kRename,
  kUnlink,
  kAlloc,
  kShort,
  kInterrupt,
  kKinds
};
constexpr const char* kNames[] = {"open",   "read",   "write", "fsync", "close",    "link",
                                  "rename", "unlink", "alloc", "short", "interrupt"};
constexpr int kMostFiles = 1024;
constexpr std::size_t kLargeBlock = 4096;

std::array<std::atomic<long>, kKinds> counts{};
std::array<std::atomic<int>, kMostFiles> id_of{};  // 0 for files that do not count
std::array<std::atomic<bool>, kMostFiles> is_folder{};
std::atomic<int> last_id = 0;
std::atomic<bool> is_ready = false;
std::mutex trace_mutex;
int trace = -1;
Kind failing = kKinds;
long which = 0;

template <class F>
F real(const char* name) {
  return reinterpret_cast<F>(dlsym(RTLD_NEXT, name));
}

const char* value_of(const char* name) {
  const char* value = std::getenv(name);
  return value ? value : "";
}

bool counts_path(const char* path) {
  if (!is_ready || !path) return false;
  for (const char* part = value_of("FAULT_PATHS"); *part;) {
    const std::size_t length = std::strcspn(part, ":");
    if (length > 0 && std::string_view(path).find(std::string_view(part, length)) != std::string_view::npos)
      return true;
    part += length + (part[length] == ':');
  }
  return false;
}

int id_at(int file) { return 0 <= file && file < kMostFiles ? id_of[file].load() : 0; }

// Whether this operation is to fail.
bool fails(Kind kind) { return ++counts[kind] == which && kind == failing; }

void record(const std::string& line, const void* data = nullptr, std::size_t bytes = 0) {
  if (trace < 0) return;
  const std::lock_guard lock(trace_mutex);
  syscall(SYS_write, trace, line.data(), line.size());
  if (bytes > 0) syscall(SYS_write, trace, data, bytes);
}

void note_open(int file, const char* path, int flags) {
  if (file < 0 || file >= kMostFiles) return;
  const bool is_unnamed = (flags & O_TMPFILE) == O_TMPFILE;
  is_folder[file] = (flags & O_DIRECTORY) != 0 && !is_unnamed;
  const int id = ++last_id;
  id_of[file] = id;
  if (is_folder[file] || (flags & O_ACCMODE) == O_RDONLY) return;
  record("open " + std::to_string(id) + " " + (is_unnamed ? "" : path) + "\n");
  if (flags & O_TRUNC) record("truncate " + std::to_string(id) + "\n");
}

std::array<std::string, kMostFiles>& folder_names() {
  static std::array<std::string, kMostFiles> names;
  return names;
}

template <class Open>
int open_counted(const char* path, int flags, Open open_really) {
  if (!counts_path(path)) return open_really();
  if (fails(kOpen)) {
    errno = EIO;
    return -1;
  }
  const int file = open_really();
  note_open(file, path, flags);
  if (file >= 0 && file < kMostFiles && is_folder[file]) folder_names()[file] = path;
  return file;
}

mode_t mode_of(int flags, va_list arguments) {
  const bool creates = (flags & O_CREAT) != 0 || (flags & O_TMPFILE) == O_TMPFILE;
  return creates ? static_cast<mode_t>(va_arg(arguments, int)) : 0;
}

// The number of bytes to pass on, or -1 if the operation fails with errno set.
ssize_t checked_size(Kind kind, int error, std::size_t bytes) {
  if (fails(kInterrupt)) {
    errno = EINTR;
    return -1;
  }
  if (fails(kind)) {
    errno = error;
    return -1;
  }
  if (kind == kWrite && bytes > 1 && fails(kShort)) return static_cast<ssize_t>(bytes / 2);
  return static_cast<ssize_t>(bytes);
}

struct Setup {
  Setup() {
    const std::string fault = value_of("FAULT");
    const std::size_t colon = fault.find(':');
    for (int kind = 0; kind < kKinds && colon != std::string::npos; ++kind)
      if (fault.compare(0, colon, kNames[kind]) == 0) {
        failing = static_cast<Kind>(kind);
        which = std::atol(fault.c_str() + colon + 1);
      }
    if (*value_of("FAULT_TRACE"))
      trace = static_cast<int>(syscall(SYS_openat, AT_FDCWD, value_of("FAULT_TRACE"),
                                       O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644));
    is_ready = true;
  }
  ~Setup() {
    is_ready = false;
    if (!*value_of("FAULT_COUNTS")) return;
    std::FILE* file = std::fopen(value_of("FAULT_COUNTS"), "w");
    for (int kind = 0; file && kind < kKinds; ++kind)
      std::fprintf(file, "%s %ld\n", kNames[kind], counts[kind].load());
    if (file) std::fclose(file);
  }
} setup;

}  // namespace

extern "C" {

int open(const char* path, int flags, ...) {
  va_list arguments;
  va_start(arguments, flags);
  const mode_t mode = mode_of(flags, arguments);
  va_end(arguments);
  return open_counted(path, flags,
                      [&] { return static_cast<int>(syscall(SYS_openat, AT_FDCWD, path, flags, mode)); });
}
int open64(const char* path, int flags, ...) __attribute__((alias("open")));

std::FILE* fopen(const char* path, const char* mode) {
  static const auto really = real<std::FILE* (*)(const char*, const char*)>("fopen");
  if (!counts_path(path)) return really(path, mode);
  if (fails(kOpen)) {
    errno = EIO;
    return nullptr;
  }
  std::FILE* file = really(path, mode);
  if (file)
    note_open(fileno(file), path, *mode == 'r' ? O_RDONLY : *mode == 'w' ? O_WRONLY | O_TRUNC : O_WRONLY);
  return file;
}
std::FILE* fopen64(const char* path, const char* mode) __attribute__((alias("fopen")));

ssize_t read(int file, void* to, std::size_t bytes) {
  if (id_at(file) == 0) return syscall(SYS_read, file, to, bytes);
  const ssize_t size = checked_size(kRead, EIO, bytes);
  return size < 0 ? -1 : syscall(SYS_read, file, to, static_cast<std::size_t>(size));
}

ssize_t write(int file, const void* from, std::size_t bytes) {
  if (id_at(file) == 0) return syscall(SYS_write, file, from, bytes);
  const ssize_t size = checked_size(kWrite, ENOSPC, bytes);
  if (size < 0) return -1;
  const ssize_t written = syscall(SYS_write, file, from, static_cast<std::size_t>(size));
  if (written > 0)
    record("write " + std::to_string(id_at(file)) + " " + std::to_string(written) + "\n", from,
           static_cast<std::size_t>(written));
  return written;
}

// The standard library's streams write in this way.
ssize_t writev(int file, const iovec* parts, int count) {
  if (id_at(file) == 0) return syscall(SYS_writev, file, parts, count);
  std::string whole;
  for (int i = 0; i < count; ++i) whole.append(static_cast<const char*>(parts[i].iov_base), parts[i].iov_len);
  return write(file, whole.data(), whole.size());
}

int fsync(int file) {
  if (id_at(file) == 0) return static_cast<int>(syscall(SYS_fsync, file));
  if (fails(kFsync)) {
    errno = EIO;
    return -1;
  }
  const int result = static_cast<int>(syscall(SYS_fsync, file));
  if (result == 0)
    record(is_folder[file] ? "flush " + folder_names()[file] + "\n"
                           : "fsync " + std::to_string(id_at(file)) + "\n");
  return result;
}

int dup(int file) {
  const int copy = static_cast<int>(syscall(SYS_dup, file));
  if (0 <= copy && copy < kMostFiles) id_of[copy] = id_at(file);
  return copy;
}

int close(int file) {
  const bool is_counted = id_at(file) != 0;
  if (0 <= file && file < kMostFiles) id_of[file] = 0;
  const int result = static_cast<int>(syscall(SYS_close, file));
  if (is_counted && fails(kClose)) {
    errno = EIO;
    return -1;
  }
  return result;
}

int linkat(int from_folder, const char* from, int to_folder, const char* to, int flags) {
  if (!counts_path(to)) return static_cast<int>(syscall(SYS_linkat, from_folder, from, to_folder, to, flags));
  if (fails(kLink)) {
    errno = EIO;
    return -1;
  }
  const int result = static_cast<int>(syscall(SYS_linkat, from_folder, from, to_folder, to, flags));
  const std::string_view self = "/proc/self/fd/";
  if (result == 0 && std::string_view(from).starts_with(self))
    record("link " + std::to_string(id_at(std::atoi(from + self.size()))) + " " + to + "\n");
  return result;
}

int rename(const char* from, const char* to) {
  if (!counts_path(to)) return static_cast<int>(syscall(SYS_renameat, AT_FDCWD, from, AT_FDCWD, to));
  if (fails(kRename)) {
    errno = EIO;
    return -1;
  }
  const int result = static_cast<int>(syscall(SYS_renameat, AT_FDCWD, from, AT_FDCWD, to));
  if (result == 0) record(std::string("rename ") + from + " " + to + "\n");
  return result;
}

int unlink(const char* path) {
  if (!counts_path(path)) return static_cast<int>(syscall(SYS_unlinkat, AT_FDCWD, path, 0));
  if (fails(kUnlink)) {
    errno = EIO;
    return -1;
  }
  const int result = static_cast<int>(syscall(SYS_unlinkat, AT_FDCWD, path, 0));
  if (result == 0) record(std::string("unlink ") + path + "\n");
  return result;
}

// std::filesystem::remove calls this.
int remove(const char* path) {
  struct stat status {};
  if (lstat(path, &status) == 0 && S_ISDIR(status.st_mode))
    return static_cast<int>(syscall(SYS_unlinkat, AT_FDCWD, path, AT_REMOVEDIR));
  return unlink(path);
}

void* __libc_malloc(std::size_t bytes);
void* __libc_memalign(std::size_t alignment, std::size_t bytes);

// The chosen allocation fails again when it is repeated, after the program's reserve has been released.
static bool allocation_fails(std::size_t bytes) {
  static thread_local bool fails_again = false;
  if (!is_ready || bytes < kLargeBlock) return false;
  if (std::exchange(fails_again, false)) return true;
  return fails_again = fails(kAlloc);
}

void* malloc(std::size_t bytes) {
  if (!allocation_fails(bytes)) return __libc_malloc(bytes);
  errno = ENOMEM;
  return nullptr;
}

void* aligned_alloc(std::size_t alignment, std::size_t bytes) {
  if (!allocation_fails(bytes)) return __libc_memalign(alignment, bytes);
  errno = ENOMEM;
  return nullptr;
}

}  // extern "C"
