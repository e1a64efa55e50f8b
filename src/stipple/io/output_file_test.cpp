// SPDX-License-Identifier: Apache-2.0
#include "stipple/io/output_file.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <csignal>
#include <thread>

#include "tests/helpers/test_folder.h"

namespace stipple {
namespace {

// During its lifetime no file can grow beyond this size, which simulates a disk that fills up.
class FileSizeLimit {
 public:
  explicit FileSizeLimit(rlim_t bytes) {
    ::getrlimit(RLIMIT_FSIZE, &before_);
    handler_ = std::signal(SIGXFSZ, SIG_IGN);  // the write fails with EFBIG instead
    const rlimit limit{bytes, before_.rlim_max};
    ::setrlimit(RLIMIT_FSIZE, &limit);
  }
  ~FileSizeLimit() {
    ::setrlimit(RLIMIT_FSIZE, &before_);
    std::signal(SIGXFSZ, handler_);
  }
  FileSizeLimit(const FileSizeLimit&) = delete;
  FileSizeLimit& operator=(const FileSizeLimit&) = delete;

 private:
  rlimit before_{};
  void (*handler_)(int) = nullptr;
};

TEST(OutputFile, AppearsOnCommit) {
  TestFolder folder;
  OutputFile file(folder / "a.txt");
  file.write("one ");
  file.write(std::as_bytes(std::span("two", 3)));
  EXPECT_FALSE(std::filesystem::exists(folder / "a.txt"));
  file.commit();
  EXPECT_EQ(read_file(folder / "a.txt"), "one two");
  EXPECT_EQ(folder.file_count(), 1u);
}

TEST(OutputFile, KeepsOldFileWithoutCommit) {
  TestFolder folder;
  folder.write("a.txt", "old");
  {
    OutputFile file(folder / "a.txt");
    file.write("new");
  }
  EXPECT_EQ(read_file(folder / "a.txt"), "old");
  EXPECT_EQ(folder.file_count(), 1u);
}

TEST(OutputFile, ReplacesOldFile) {
  TestFolder folder;
  folder.write("a.txt", "something longer");
  OutputFile file(folder / "a.txt");
  file.write("new");
  file.commit();
  EXPECT_EQ(read_file(folder / "a.txt"), "new");
}

TEST(OutputFile, ConcurrentWritersDoNotInterfere) {
  TestFolder folder;
  OutputFile first(folder / "a.txt"), second(folder / "a.txt");
  first.write("first");
  second.write("second");
  first.commit();
  second.commit();
  EXPECT_EQ(read_file(folder / "a.txt"), "second");
  EXPECT_EQ(folder.file_count(), 1u);
}

// As a program leaves it that is killed between naming its temporary file and renaming it.
TEST(OutputFile, RemovesTheTemporaryFilesOfKilledPrograms) {
  TestFolder folder;
  folder.write("a.txt.stipple.part", "left over");
  folder.write("a.txt.part", "of another program");
  OutputFile file(folder / "a.txt");
  file.write("new");
  file.commit();
  EXPECT_EQ(read_file(folder / "a.txt"), "new");
  EXPECT_EQ(read_file(folder / "a.txt.part"), "of another program");
  EXPECT_EQ(folder.file_count(), 2u);
}

TEST(OutputFile, KeepsTheTemporaryFileOfARunningProgram) {
  TestFolder folder;
  folder.write("a.txt.stipple.part", "in use");
  const int in_use = ::open((folder / "a.txt.stipple.part").c_str(), O_RDONLY);
  ASSERT_EQ(::flock(in_use, LOCK_EX), 0);
  OutputFile file(folder / "a.txt");
  file.write("new");
  file.commit();
  EXPECT_EQ(read_file(folder / "a.txt"), "new");
  EXPECT_EQ(read_file(folder / "a.txt.stipple.part"), "in use");
  EXPECT_EQ(folder.file_count(), 2u);
  ::close(in_use);
}

TEST(OutputFile, FailedWriteKeepsOldFile) {
  TestFolder folder;
  folder.write("a.txt", "old");
  std::string message;
  {
    const FileSizeLimit limit(4096);
    message = error_of([&] {
      OutputFile file(folder / "a.txt");
      file.write(std::string(4000, 'x'));
      file.write(std::string(4000, 'y'));  // the first 96 bytes still fit
      file.commit();
    });
  }
  EXPECT_EQ(message, "cannot write " + (folder / "a.txt").string() + ": File too large");
  EXPECT_EQ(read_file(folder / "a.txt"), "old");
  EXPECT_EQ(folder.file_count(), 1u);
}

TEST(OutputFile, ReportsFullDisk) {
  const std::string message = error_of([] {
    OutputFile file("/dev/full");
    file.write("text");
    file.commit();
  });
  EXPECT_EQ(message, "cannot write /dev/full: No space left on device");
  EXPECT_TRUE(std::filesystem::is_character_file("/dev/full"));
}

TEST(OutputFile, WritesDeviceInPlace) {
  OutputFile file("/dev/null");
  file.write("text");
  file.commit();
  EXPECT_TRUE(std::filesystem::is_character_file("/dev/null"));
}

TEST(OutputFile, WritesPipeInPlace) {
  TestFolder folder;
  ASSERT_EQ(::mkfifo((folder / "pipe").c_str(), 0600), 0);
  std::string received;
  std::thread reader([&] { received = read_file(folder / "pipe"); });
  {
    OutputFile file(folder / "pipe");
    file.write("through the pipe");
    file.commit();
  }
  reader.join();
  EXPECT_EQ(received, "through the pipe");
  EXPECT_TRUE(std::filesystem::is_fifo(folder / "pipe"));
}

TEST(OutputFile, KeepsSymbolicLink) {
  TestFolder folder;
  folder.write("real.txt", "old");
  std::filesystem::create_symlink("real.txt", folder / "link.txt");
  OutputFile file(folder / "link.txt");
  file.write("new");
  file.commit();
  EXPECT_TRUE(std::filesystem::is_symlink(folder / "link.txt"));
  EXPECT_EQ(read_file(folder / "real.txt"), "new");
}

TEST(OutputFile, ReportsWhyAFileCannotBeWritten) {
  TestFolder folder;
  const auto open = [](const std::filesystem::path& path) {
    return error_of([&] { OutputFile file(path); });
  };
  const std::string name = folder.path().string();
  EXPECT_EQ(open(folder.path()), "cannot write " + name + ": it is a directory");
  EXPECT_EQ(open(folder / "no/a.txt"),
            "cannot write " + name + "/no/a.txt: the folder " + name + "/no does not exist");
  folder.write("file", "");
  EXPECT_EQ(open(folder / "file/a.txt"), "cannot write " + name + "/file/a.txt: Not a directory");
  EXPECT_EQ(open(""), "cannot write a file: its name is empty");
  const std::string long_name(300, 'x');
  EXPECT_EQ(open(folder / long_name), "cannot write " + name + "/" + long_name + ": File name too long");
}

TEST(OutputFile, RespectsWriteProtection) {
  if (::geteuid() == 0) GTEST_SKIP() << "root ignores write protection";
  TestFolder folder;
  folder.write("a.txt", "old");
  const auto open = [&] { return error_of([&] { OutputFile file(folder / "a.txt"); }); };
  const std::string denied = "cannot write " + (folder / "a.txt").string() + ": Permission denied";
  std::filesystem::permissions(folder / "a.txt", std::filesystem::perms::owner_read);
  EXPECT_EQ(open(), denied);
  std::filesystem::permissions(folder / "a.txt", std::filesystem::perms(0600));
  std::filesystem::permissions(folder.path(), std::filesystem::perms(0500));
  EXPECT_EQ(open(), denied);
  std::filesystem::permissions(folder.path(), std::filesystem::perms(0700));
}

TEST(OutputFile, PermissionsFollowUmask) {
  TestFolder folder;
  const mode_t before = ::umask(027);
  OutputFile file(folder / "a.txt");
  file.commit();
  ::umask(before);
  EXPECT_EQ(std::filesystem::status(folder / "a.txt").permissions(), std::filesystem::perms(0640));
}

}  // namespace
}  // namespace stipple
