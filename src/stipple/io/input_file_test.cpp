// SPDX-License-Identifier: Apache-2.0
#include "stipple/io/input_file.h"

#include <sys/stat.h>

#include "tests/helpers/test_folder.h"

namespace stipple {
namespace {

TEST(InputFile, ReportsWhyAFileCannotBeOpened) {
  TestFolder folder;
  const auto open = [](const std::filesystem::path& path) { return error_of([&] { InputFile file(path); }); };
  EXPECT_EQ(open("no/garden.ply"), "cannot open no/garden.ply: No such file or directory");
  EXPECT_EQ(open(folder.path()), "cannot open " + folder.path().string() + ": it is a directory");
  EXPECT_EQ(open("/dev/null"), "cannot open /dev/null: it is not a regular file");
  ASSERT_EQ(::mkfifo((folder / "pipe").c_str(), 0600), 0);
  EXPECT_EQ(open(folder / "pipe"),
            "cannot open " + (folder / "pipe").string() + ": it is not a regular file");  // must not block
}

TEST(InputFile, ReadsBytesAndLines) {
  TestFolder folder;
  const std::string long_line(3'000'000, 'x');  // longer than one chunk
  InputFile file(folder.write("a", "one\r\n\ntwo\n" + long_line + "\nabcdef"));
  EXPECT_EQ(file.take_line(100), "one");
  EXPECT_EQ(file.take_line(100), "");
  EXPECT_EQ(file.take_line(3), std::nullopt);  // the line ending does not fit
  EXPECT_EQ(file.take_line(4), "two");
  EXPECT_EQ(file.take_line(1'000'000), std::nullopt);
  EXPECT_GT(file.remaining_bytes(), 1'000'000u);
  EXPECT_EQ(file.take_line(4'000'000), long_line);
  EXPECT_EQ(file.remaining_bytes(), 6u);
  EXPECT_EQ(file.take_line(100), std::nullopt);
  file.skip(2);
  EXPECT_EQ(file.take(2).size(), 2u);
  const std::span<const std::byte> rest = file.take(100);
  ASSERT_EQ(rest.size(), 2u);
  EXPECT_EQ(rest[0], std::byte{'e'});
  EXPECT_EQ(file.remaining_bytes(), 0u);
  EXPECT_TRUE(file.take(1).empty());
}

TEST(InputFile, PeekDoesNotConsume) {
  TestFolder folder;
  InputFile file(folder.write("a", "abcdef"), 2);
  EXPECT_EQ(file.peek(3).size(), 3u);
  EXPECT_EQ(file.peek(100).size(), 6u);
  EXPECT_EQ(file.remaining_bytes(), 6u);
  EXPECT_EQ(file.take(1)[0], std::byte{'a'});
  EXPECT_EQ(file.peek(1)[0], std::byte{'b'});
}

TEST(InputFile, SkipsBeyondTheBuffer) {
  TestFolder folder;
  std::string content(5'000'000, 'a');
  content[4'500'000] = 'b';
  InputFile file(folder.write("a", content));
  EXPECT_EQ(file.take(10).size(), 10u);
  file.skip(4'499'990);
  EXPECT_EQ(file.take(1)[0], std::byte{'b'});
  EXPECT_EQ(file.take_rest().size(), 499'999u);
}

TEST(InputFile, StopsAtTheNewEndOfAShrunkFile) {
  TestFolder folder;
  InputFile file(folder.write("a", std::string(1000, 'x')));
  std::filesystem::resize_file(folder / "a", 300);
  EXPECT_EQ(file.take(1000).size(), 300u);
  EXPECT_EQ(file.remaining_bytes(), 0u);
}

}  // namespace
}  // namespace stipple
