// SPDX-License-Identifier: Apache-2.0
// load_ply() and save_ply() report malformed files and failed writes, and do nothing worse.
#include <fmt/format.h>

#include "stipple/io/ply/ply.h"
#include "tests/helpers/ply_builder.h"

namespace stipple {
namespace {

TEST(Ply, ReportsMissingProperty) {
  const Gaussians gaussians = whole_number_gaussians(2, 1);
  for (const Column& missing : usual_columns(1, "float", false)) {
    if (missing.name == "scale_2" || missing.name.starts_with("f_rest_")) continue;
    std::vector<Column> columns = usual_columns(1, "float");
    std::erase_if(columns, [&](const Column& column) { return column.name == missing.name; });
    EXPECT_EQ(complaint(ply_file(gaussians, columns, "ascii")),
              fmt::format("property '{}' is missing; the vertices of a 3D Gaussian splatting .ply have "
                          "x y z f_dc_* f_rest_* opacity scale_* rot_*",
                          missing.name));
  }
  const std::vector<Column> points = {{"float", "x"}, {"float", "y"}, {"float", "z"}, {"uchar", "red"}};
  EXPECT_TRUE(complaint(ply_file(gaussians, points, "ascii")).starts_with("property 'f_dc_0' is missing; "));
}

TEST(Ply, RejectsOtherCoefficientCounts) {
  for (const int count : {1, 3, 8, 10, 44, 46, 48, 72, 105}) {
    std::vector<Column> columns = usual_columns(0, "float");
    for (int i = 0; i < count; ++i) columns.push_back({"float", fmt::format("f_rest_{}", i)});
    const std::string file =
        "ply\nformat ascii 1.0\n" + element_header("vertex", 0, columns) + "end_header\n";
    EXPECT_EQ(
        complaint(file),
        count == 72
            ? "spherical harmonics of degree 4 are not supported; the maximum is 3"
            : fmt::format("the number of f_rest_* properties must be 0, 9, 24 or 45 (degree 0 to 3), not {}",
                          count));
  }
  std::vector<Column> gap = usual_columns(1, "float");
  for (Column& column : gap) {
    if (column.name == "f_rest_4") column.name = "f_rest_9";
  }
  const std::string file = "ply\nformat ascii 1.0\n" + element_header("vertex", 0, gap) + "end_header\n";
  EXPECT_TRUE(complaint(file).starts_with("property 'f_rest_4' is missing"));
}

TEST(Ply, RejectsAmbiguousProperties) {
  std::vector<Column> columns = usual_columns(0, "float");
  columns.push_back({"float", "y"});
  EXPECT_EQ(complaint(ply_file(make_gaussians(0, 0), columns, "ascii")), "property 'y' is declared twice");
  columns = usual_columns(0, "float");
  columns[0].type = "list uchar float";
  EXPECT_EQ(complaint(ply_file(make_gaussians(0, 0), columns, "ascii")),
            "property 'x' is a list, not a number");
}

TEST(Ply, ErrorsNameTheHeaderLine) {
  const std::string start = "ply\nformat ascii 1.0\n";
  EXPECT_EQ(complaint(""), "not a PLY file: its first line is not 'ply'");
  EXPECT_EQ(complaint("plywood\n"), "not a PLY file: its first line is not 'ply'");
  EXPECT_EQ(complaint(std::string(3 << 20, 'x')), "not a PLY file: its first line is not 'ply'");
  EXPECT_EQ(complaint("ply\n"), "line 2 of the header: the file is truncated");
  EXPECT_EQ(complaint("ply\nend_header\n"), "line 2 of the header: the header has no format line");
  EXPECT_EQ(complaint("ply\nply\n"), "line 2 of the header: unknown keyword 'ply'");
  EXPECT_EQ(complaint("ply\nformat text 1.0\n"), "line 2 of the header: unknown format 'text'");
  EXPECT_EQ(complaint("ply\nformat ascii 2.0\n"), "line 2 of the header: unknown version '2.0'");
  EXPECT_EQ(complaint(start + "format ascii 1.0\n"), "line 3 of the header: the format is declared twice");
  EXPECT_EQ(complaint(start + "elements vertex 3\n"), "line 3 of the header: unknown keyword 'elements'");
  EXPECT_EQ(complaint(start + "element\n"), "line 3 of the header: the element has no name");
  EXPECT_EQ(complaint(start + "element vertex\n"), "line 3 of the header: '' is not a valid count");
  EXPECT_EQ(complaint(start + "element vertex -5\n"), "line 3 of the header: '-5' is not a valid count");
  EXPECT_EQ(complaint(start + "element vertex 1e3\n"), "line 3 of the header: '1e3' is not a valid count");
  EXPECT_EQ(complaint(start + "element vertex 99999999999999999999\n"),
            "line 3 of the header: '99999999999999999999' is not a valid count");
  EXPECT_EQ(complaint(start + "property float x\n"),
            "line 3 of the header: a property is declared before the first element");
  const std::string vertex = start + "comment a\nelement vertex 1\nproperty float x\n";
  EXPECT_EQ(complaint(vertex + "\nproperty flot y\n"), "line 7 of the header: unknown type 'flot'");
  EXPECT_EQ(complaint(vertex + "property float\n"), "line 6 of the header: the property has no name");
  EXPECT_EQ(complaint(vertex + "property float y z\n"),
            "line 6 of the header: unexpected 'z' after the property name");
  EXPECT_EQ(complaint(vertex + "property list float int y\n"),
            "line 6 of the header: the length of a list must have an integer type");
  EXPECT_EQ(complaint(vertex + "property list uchar list y\n"), "line 6 of the header: unknown type 'list'");
  EXPECT_EQ(complaint(vertex + std::string("\1\x80 bad\n")), "line 6 of the header: unknown keyword '\?\?'");
  EXPECT_EQ(complaint(vertex + std::string(60, 'a') + "\n"),
            "line 6 of the header: unknown keyword '" + std::string(40, 'a') + "...'");
  EXPECT_EQ(complaint(start + "end_header\n"), "there is no element 'vertex'");
  EXPECT_EQ(complaint(start + "element vertex 0\nelement vertex 0\nend_header\n"),
            "element 'vertex' is declared twice");
}

TEST(Ply, LimitsHeaderSize) {
  const std::string start = "ply\nformat ascii 1.0\n";
  EXPECT_EQ(complaint(start + "comment " + std::string(3 << 20, 'x') + "\n"),
            "line 3 of the header: the header is longer than 1 MiB");
  std::string many = start + "element vertex 1\n";
  for (int i = 0; i < 1'000'000; ++i) many += "property int a\n";
  EXPECT_TRUE(complaint(many + "end_header\n").ends_with("of the header: the header is longer than 1 MiB"));
}

TEST(Ply, RejectsCountsLargerThanTheFile) {
  for (const std::string& format : kFormats) {
    std::vector<Column> columns = usual_columns(3, "float");
    for (const bool with_list : {false, true}) {
      if (with_list) columns.push_back({"list uchar double", "extra"});
      const std::string rest = rows(whole_number_gaussians(2, 3), columns, format);
      for (const std::uint64_t count : {3ull, 4'000'000'000ull, 74'382'032'555'280'452ull, ~0ull}) {
        const std::string header = fmt::format("ply\nformat {} 1.0\nelement vertex {}\n", format, count) +
                                   element_header("none", 0, columns).substr(15) + "end_header\n";
        EXPECT_EQ(complaint(header + rest), "vertex 2: the file is truncated") << format << count;
      }
      const std::string face =
          fmt::format("ply\nformat {} 1.0\nelement face {}\nproperty double a\n", format, ~0ull);
      EXPECT_EQ(complaint(face + element_header("vertex", 0, columns) + "end_header\n"),
                "face 0: the file is truncated");
    }
  }
}

TEST(Ply, RejectsInvalidListLengths) {
  std::vector<Column> columns = usual_columns(0, "float");
  columns.push_back({"list int double", "extra"});
  const Gaussians gaussians = whole_number_gaussians(1, 0);
  std::string file = ply_file(gaussians, columns, "binary_little_endian");
  file.replace(file.size() - 4, 4, "\xff\xff\xff\xff");
  EXPECT_EQ(complaint(file), "vertex 0: list 'extra' has a length of -1");
  file.replace(file.size() - 4, 4, "\xff\xff\xff\x7f");
  EXPECT_EQ(complaint(file), "vertex 0: the file is truncated");
  std::string text = ply_file(gaussians, columns, "ascii");
  EXPECT_TRUE(text.ends_with(" 0\n"));
  text.replace(text.size() - 3, 3, " -1\n");
  EXPECT_EQ(complaint(text), "vertex 0: '-1' is not a valid list length");
  text.replace(text.size() - 4, 4, " 4000000000\n");
  EXPECT_EQ(complaint(text), "vertex 0: the line has too few values for 18 properties");
}

TEST(Ply, ErrorsNameTheVertex) {
  std::string file = ply_file(whole_number_gaussians(5, 0), usual_columns(0, "float"), "ascii");
  std::size_t line = file.find("end_header\n") + 11;
  for (int i = 0; i < 3; ++i) line = file.find('\n', line) + 1;
  const auto with = [&](std::string_view word) {
    std::string copy = file;
    return complaint(copy.replace(line, copy.find(' ', line) - line, word));
  };
  EXPECT_EQ(with("abc"), "vertex 3: 'abc' is not a number");
  EXPECT_EQ(with("1.5x"), "vertex 3: '1.5x' is not a number");
  EXPECT_EQ(with("1,5"), "vertex 3: '1,5' is not a number");
  EXPECT_EQ(with("+-1"), "vertex 3: '+-1' is not a number");
  EXPECT_EQ(with("0x10"), "vertex 3: '0x10' is not a number");
  EXPECT_EQ(with("1 2"), "vertex 3: the line has too many values for 17 properties");
  EXPECT_EQ(with(""), "vertex 3: the line has too few values for 17 properties");
}

TEST(Ply, RejectsMoreDataThanDeclared) {
  for (const std::string& format : kFormats) {
    std::string file = ply_file(whole_number_gaussians(5, 0), usual_columns(0, "float"), format);
    EXPECT_NO_THROW(load_bytes(file + "\n"));
    file.replace(file.find("vertex 5"), 8, "vertex 3");
    EXPECT_EQ(complaint(file), "the file has more data than the 3 vertices that its header declares");
  }
}

TEST(Ply, RejectsTruncatedFiles) {
  TestFolder folder;
  std::vector<Column> with_list = usual_columns(0, "double");
  with_list.insert(with_list.begin() + 5, {"list uchar short", "extra"});
  for (const std::string& format : kFormats) {
    const Gaussians gaussians = whole_number_gaussians(3, 1);
    const std::string whole = ply_file(gaussians, usual_columns(1, "float", false), format);
    expect_every_cut_fails(folder, "a.ply", whole, load_ply);
    const std::string lists = ply_file(whole_number_gaussians(3, 0), with_list, format);
    expect_every_cut_fails(folder, "a.ply", lists, load_ply);
  }
}

TEST(Ply, SurvivesCorruptFiles) {
  TestFolder folder;
  std::vector<Column> columns = usual_columns(1, "float");
  columns.insert(columns.begin() + 5, {"list int short", "extra"});
  const Gaussians gaussians = whole_number_gaussians(6, 1);
  for (const std::string& format : kFormats) {
    const std::string whole = ply_file(gaussians, columns, format);
    expect_flips_are_survived(folder, "a.ply", whole, 1000, load_ply);
    const std::string mostly_header = whole.substr(0, whole.find("end_header\n") + 60);
    expect_flips_are_survived(folder, "a.ply", mostly_header, 1000, load_ply);
  }
}

TEST(Ply, FailedWriteKeepsOldFile) {
  TestFolder folder;
  save_ply(whole_number_gaussians(2, 0), folder / "a.ply");
  const std::string before = read_file(folder / "a.ply");
  EXPECT_EQ(error_of([&] { save_ply(whole_number_gaussians(9, 0), "/dev/full"); }),
            "cannot write /dev/full: No space left on device");
  EXPECT_EQ(error_of([&] { save_ply(whole_number_gaussians(9, 0), folder / "a.ply" / "b.ply"); }),
            "cannot write " + (folder / "a.ply").string() + "/b.ply: Not a directory");
  EXPECT_EQ(read_file(folder / "a.ply"), before);
}

TEST(Ply, ErrorKeepsThePathAsGiven) {
  EXPECT_EQ(error_of([] { load_ply("no/such/garden.ply"); }),
            "cannot open no/such/garden.ply: No such file or directory");
}

}  // namespace
}  // namespace stipple
