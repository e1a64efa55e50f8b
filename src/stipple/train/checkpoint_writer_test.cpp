// SPDX-License-Identifier: Apache-2.0
#include "stipple/train/checkpoint_writer.h"

#include <gtest/gtest.h>

#include <cstring>
#include <fstream>
#include <functional>
#include <string>

#include "stipple/core/checksum.h"
#include "stipple/core/error.h"
#include "stipple/io/input_file.h"
#include "tests/helpers/test_folder.h"
#include "tests/helpers/thread_ranks.h"

namespace stipple {
namespace {

namespace fs = std::filesystem;

std::span<const std::byte> bytes_of(const std::string& text) { return std::as_bytes(std::span(text)); }

// Does something before one of the exchanges.
class Disturbed : public Ranks {
 public:
  Disturbed(Ranks& ranks, int exchange, std::function<void()> disturb)
      : ranks_(ranks), left_(exchange), disturb_(std::move(disturb)) {}
  int rank() const override { return ranks_.rank(); }
  int count() const override { return ranks_.count(); }
  std::vector<Bytes> all_to_all(std::vector<Bytes> to) override {
    if (--left_ == 0) disturb_();
    return ranks_.all_to_all(std::move(to));
  }

 private:
  Ranks& ranks_;
  int left_;
  std::function<void()> disturb_;
};

void write(const fs::path& path, Ranks& ranks) {
  CheckpointWriter file(path, ranks);
  file.add_from_first(bytes_of("head "));
  file.add(bytes_of("part " + std::to_string(ranks.rank()) + " "));
  file.commit();
}

fs::path temporary_in(const fs::path& folder) {
  for (const auto& entry : fs::directory_iterator(folder))
    if (entry.path().string().ends_with(".part")) return entry.path();
  return {};
}

TEST(CheckpointWriter, JoinsThePartsOfTheRanks) {
  TestFolder folder;
  run_as_ranks(3, [&](Ranks& ranks) { write(folder / "checkpoint", ranks); });
  const std::string text = "head part 0 part 1 part 2 ", file = read_text(folder / "checkpoint");
  ASSERT_EQ(file.size(), text.size() + sizeof(std::uint32_t));
  EXPECT_EQ(file.substr(0, text.size()), text);
  std::uint32_t sum = 0;
  std::memcpy(&sum, file.data() + text.size(), sizeof(sum));
  EXPECT_EQ(sum, checksum(0, bytes_of(text)));
}

// As if the machine of rank 0 wrote a whole page over what rank 1 has written there. This is the fifth
// exchange, the one after which the ranks read their parts again.
TEST(CheckpointWriter, KeepsTheEarlierFileIfTheFileSystemMixesUpTheParts) {
  TestFolder folder;
  std::ofstream(folder / "checkpoint") << "earlier";
  const auto overwrite = [&] {
    std::fstream file(temporary_in(folder.path()), std::ios::in | std::ios::out | std::ios::binary);
    file.seekp(14);
    file.put('\0');
    EXPECT_TRUE(file.good());
  };
  std::string reason;
  try {
    run_as_ranks(2, [&](Ranks& ranks) {
      Disturbed disturbed(ranks, ranks.rank() == 0 ? 5 : 0, overwrite);
      write(folder / "checkpoint", disturbed);
    });
  } catch (const Error& error) {
    reason = error.what();
  }
  EXPECT_NE(reason.find("its file system has changed what was written"), std::string::npos) << reason;
  EXPECT_EQ(read_text(folder / "checkpoint"), "earlier");
  EXPECT_TRUE(temporary_in(folder.path()).empty());
}

}  // namespace
}  // namespace stipple
