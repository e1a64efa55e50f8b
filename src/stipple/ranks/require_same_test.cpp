// SPDX-License-Identifier: Apache-2.0
#include "stipple/ranks/require_same.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "stipple/core/error.h"
#include "tests/helpers/thread_ranks.h"

namespace stipple {
namespace {

// What each of the ranks says if they have these scenes.
std::vector<std::string> complaints(const std::vector<std::string>& scenes) {
  std::vector<std::string> said(scenes.size());
  run_as_ranks(static_cast<int>(scenes.size()), [&](Ranks& ranks) {
    const auto own = static_cast<std::size_t>(ranks.rank());
    try {
      require_same(ranks, {{"the version", "1"}, {"the scene", scenes[own]}, {"--steps", "7000"}},
                   "see above");
    } catch (const Error& error) {
      said[own] = error.what();
    }
  });
  return said;
}

TEST(RequireSame, AcceptsRanksThatAgree) {
  EXPECT_EQ(complaints({"a", "a", "a"}), std::vector<std::string>(3, ""));
  EXPECT_EQ(complaints({"", ""}), std::vector<std::string>(2, ""));
}

TEST(RequireSame, AllRanksNameTheFirstDifference) {
  EXPECT_EQ(complaints({"a", "a", "b"}),
            std::vector<std::string>(3,
                                     "all processes must do the same, but the scene is a for rank 0, and "
                                     "the scene is b for rank 2; see above"));
}

// As ranks of different versions of the program may do.
TEST(RequireSame, RefusesOtherFacts) {
  run_as_ranks(2, [](Ranks& ranks) {
    std::vector<Fact> facts{{"the version", "1"}};
    if (ranks.rank() == 0) facts.push_back({"the scene", "a"});
    EXPECT_THROW(require_same(ranks, facts, ""), Error);
  });
}

}  // namespace
}  // namespace stipple
