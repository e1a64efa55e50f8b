// SPDX-License-Identifier: Apache-2.0
#include "stipple/draw/canvas.h"

#include <gtest/gtest.h>

#include <set>

#include "stipple/draw/font.h"

namespace stipple {
namespace {

const Vec3f kBlack(0, 0, 0), kWhite(1, 1, 1);

std::string dots_of(char character) {
  std::string dots;
  for (int y = 0; y < kGlyphHeight; ++y)
    for (int x = 0; x < kGlyphWidth; ++x) dots += has_dot(character, x, y) ? '#' : '.';
  return dots;
}

TEST(Font, EveryCharacterLooksDifferent) {
  std::set<std::string> seen;
  for (char c = ' '; c <= '~'; ++c) EXPECT_TRUE(seen.insert(dots_of(c)).second) << c;
}

TEST(Font, OnlyTheSpaceIsEmpty) {
  EXPECT_EQ(dots_of(' ').find('#'), std::string::npos);
  for (char c = '!'; c <= '~'; ++c) EXPECT_NE(dots_of(c).find('#'), std::string::npos) << c;
}

TEST(Font, NonPrintableCharactersBecomeQuestionMarks) {
  for (const char c : {'\n', '\x7f', '\xc3', '\0'}) EXPECT_EQ(dots_of(c), dots_of('?'));
}

TEST(Font, CapitalsAndDigitsStandOnTheBaseline) {
  for (const char c : {'A', 'Q', 'Z', '0', '9'})
    EXPECT_EQ(dots_of(c).find('#', kCapitalHeight * kGlyphWidth), std::string::npos) << c;
}

TEST(Font, WidthExcludesTheTrailingGap) {
  EXPECT_EQ(text_width_px("", 7), 0);
  EXPECT_EQ(text_width_px("a", 7), 5);
  EXPECT_EQ(text_width_px("abc", 14), 2 * 17);
}

TEST(Canvas, TextSevenPixelsHighReproducesTheFont) {
  Canvas canvas(20, 12, kBlack);
  canvas.text({3, 2}, "g", 7, kWhite);
  for (int y = 0; y < 12; ++y)
    for (int x = 0; x < 20; ++x)
      EXPECT_NEAR(canvas.image().at(x, y, 1), has_dot('g', x - 3, y - 2) ? 1 : 0, 0.35) << x << ' ' << y;
}

TEST(Canvas, TextStaysInItsBoundingBox) {
  Canvas canvas(200, 60, kBlack);
  canvas.text({10, 10}, "Wjg_~@", 21, kWhite);
  const float right = 10 + text_width_px("Wjg_~@", 21);
  for (int y = 0; y < 60; ++y)
    for (int x = 0; x < 200; ++x)
      if (x < 9 || static_cast<float>(x) > right + 1 || y < 9 || y > 10 + 9 * 3 + 1) {
        EXPECT_EQ(canvas.image().at(x, y, 0), 0) << x << ' ' << y;
      }
}

TEST(Canvas, TextMayExtendBeyondTheImage) {
  Canvas canvas(10, 10, kBlack);
  canvas.text({-20, -5}, "a long text that goes far beyond", 14, kWhite);
}

TEST(Canvas, ImagesAreClampedAndClipped) {
  Image picture(3, 3, 3);
  for (float& value : picture.values) value = 2;
  Canvas canvas(4, 4, kBlack);
  canvas.picture(2, -1, picture);
  for (int y = 0; y < 4; ++y)
    for (int x = 0; x < 4; ++x) EXPECT_EQ(canvas.image().at(x, y, 2), x >= 2 && y <= 1 ? 1 : 0);
}

}  // namespace
}  // namespace stipple
