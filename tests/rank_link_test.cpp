// SPDX-License-Identifier: Apache-2.0
// Links between ranks: what was joined arrives in order of rank, and splitting brings the parts back.
#include <gtest/gtest.h>

#include "tests/helpers/backend_run.h"
#include "tests/helpers/thread_ranks.h"

namespace stipple {
namespace {

using Row = Vec3f;

// What rank `from` sends to rank `to`: as many rows as the sum of their numbers, so that some send nothing.
std::vector<Row> rows_between(int from, int to) {
  std::vector<Row> rows;
  for (int i = 0; i < from + to; ++i)
    rows.push_back({static_cast<float>(from), static_cast<float>(to), static_cast<float>(i)});
  return rows;
}

// Every rank sends to all, and what arrives is sent back.
void send_there_and_back(Device& device, RankLink& link) {
  const int rank = link.ranks().rank(), count = link.ranks().count();
  std::vector<DeviceArray<Row>> to;
  std::vector<Row> expected;
  for (int r = 0; r < count; ++r) {
    to.emplace_back(device, rows_between(rank, r));
    const std::vector<Row> arriving = rows_between(r, rank);
    expected.insert(expected.end(), arriving.begin(), arriving.end());
  }
  DeviceArray<Row> joined;
  const std::vector<std::size_t> counts = link.join(to, joined);
  ASSERT_EQ(counts.size(), static_cast<std::size_t>(count));
  for (int r = 0; r < count; ++r)
    EXPECT_EQ(counts[static_cast<std::size_t>(r)], static_cast<std::size_t>(r + rank));
  const std::vector<Row> arrived = joined.download(device);
  ASSERT_EQ(arrived.size(), expected.size());
  for (std::size_t i = 0; i < arrived.size(); ++i)
    for (int c = 0; c < 3; ++c) EXPECT_EQ(arrived[i][c], expected[i][c]);

  std::vector<DeviceArray<Row>> back(static_cast<std::size_t>(count));
  for (int r = 0; r < count; ++r)
    back[static_cast<std::size_t>(r)].resize(device, static_cast<std::size_t>(r + rank));
  link.split(joined, counts, back);
  for (int r = 0; r < count; ++r) {
    const std::vector<Row> sent = rows_between(rank, r),
                           returned = back[static_cast<std::size_t>(r)].download(device);
    for (std::size_t i = 0; i < sent.size(); ++i)
      for (int c = 0; c < 3; ++c) EXPECT_EQ(returned[i][c], sent[i][c]);
  }
}

class RankLinkTest : public PerBackendTest {};
INSTANTIATE_TEST_SUITE_P(, RankLinkTest, testing::ValuesIn(test_backend_names()),
                         [](const auto& name) { return name.param; });

TEST_P(RankLinkTest, WhatIsJoinedCanBeSplitAgain) {
  for (const int count : {1, 2, 4})
    run_as_ranks(count, [&](Ranks& ranks) {
      auto backend = make_test_backend(GetParam());
      const auto link = backend->link(ranks);
      send_there_and_back(*backend, *link);
      const std::uint64_t once = link->sent_bytes();
      send_there_and_back(*backend, *link);  // it keeps nothing of the first time
      EXPECT_EQ(link->sent_bytes(), 2 * once);
      std::uint64_t expected = 0;
      for (int r = 0; r < count; ++r)
        if (r != ranks.rank()) expected += 2 * sizeof(Row) * static_cast<std::uint64_t>(r + ranks.rank());
      EXPECT_EQ(once, expected);
    });
}

}  // namespace
}  // namespace stipple
