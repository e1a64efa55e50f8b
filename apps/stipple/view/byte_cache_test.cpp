// SPDX-License-Identifier: Apache-2.0
#include "apps/stipple/view/byte_cache.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "stipple/core/error.h"

namespace stipple {
namespace {

class Texts : public ::testing::Test {
 protected:
  // The text of the key, of which `made_` tells the order.
  std::string get(int key) {
    return *cache_.get(key, [&] {
      made_ += std::to_string(key);
      return std::make_shared<const std::string>(std::string(4, static_cast<char>('0' + key)));
    });
  }

  ByteCache<int, std::string> cache_{12, [](const std::string& text) { return text.size(); }};
  std::string made_;
};

TEST_F(Texts, AreMadeOnceAsLongAsTheyFit) {
  for (const int key : {1, 2, 3, 2, 1, 3}) EXPECT_EQ(get(key), std::string(4, static_cast<char>('0' + key)));
  EXPECT_EQ(made_, "123");
}

TEST_F(Texts, LastUsedLongestAgoAreDropped) {
  for (const int key : {1, 2, 3, 1, 4}) get(key);  // drops 2
  for (const int key : {3, 1, 4}) get(key);
  EXPECT_EQ(made_, "1234");
  get(2);  // drops 3
  for (const int key : {1, 4, 2, 3}) get(key);
  EXPECT_EQ(made_, "123423");
}

TEST_F(Texts, LargerThanTheCacheAreKeptUntilTheNextOne) {
  const auto large = [] { return std::make_shared<const std::string>(100, 'x'); };
  const std::shared_ptr<const std::string> first = cache_.get(0, large);
  EXPECT_EQ(cache_.get(0, large), first);
  get(1);
  EXPECT_NE(cache_.get(0, large), first);
}

TEST_F(Texts, ThatCannotBeMadeAreTriedAgain) {
  EXPECT_THROW(cache_.get(1, []() -> std::shared_ptr<const std::string> { throw Error("no"); }), Error);
  EXPECT_EQ(get(1), "1111");
}

}  // namespace
}  // namespace stipple
