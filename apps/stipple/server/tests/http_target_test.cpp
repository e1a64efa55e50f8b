// SPDX-License-Identifier: Apache-2.0
#include "apps/stipple/server/http_target.h"

#include <gtest/gtest.h>

namespace stipple::http {
namespace {

TEST(HttpTarget, PathsAreDecodedAndQueriesAreNot) {
  const auto target = parse_target("/photo/a%20b%C3%BC?size=640&name=%41");
  ASSERT_TRUE(target);
  EXPECT_EQ(target->path, "/photo/a b\xC3\xBC");
  EXPECT_EQ(target->query, "size=640&name=%41");
  EXPECT_EQ(parse_target("/")->path, "/");
  EXPECT_EQ(parse_target("/?")->query, "");
  EXPECT_EQ(parse_target("/..a/b../...")->path, "/..a/b../...");
}

TEST(HttpTarget, WhatIsNoAddressOfASiteIsRefused) {
  for (const char* target : {"",        "*",         "photo",    "http://localhost/",
                             "?a=b",    "/a%00b",    "/a%0ab",   "/a%7f",
                             "/a%2fb",  "/a%2Fb",    "/../etc",  "/a/..",
                             "/a/../b", "/%2e%2e/b", "/./a",     "/a\\b",
                             "/a%5cb",  "/a#b",      "/a%",      "/a%4",
                             "/a%zz",   "/%ff",      "/%c0%ae",  "/\xff",
                             "/a?%",    "/a?b=%00",  "/a?b=%ff", "/a?b=%0d%0a"})
    EXPECT_FALSE(parse_target(target)) << target;
}

TEST(HttpTarget, ParametersOfAQuery) {
  const char* query = "size=640&name=a+b%26c&empty=&flag&size=2&=x";
  EXPECT_EQ(query_parameter(query, "size"), "640");
  EXPECT_EQ(query_parameter(query, "name"), "a b&c");
  for (const char* name : {"empty", "flag", "siz", "sizes", "none"})
    EXPECT_EQ(query_parameter(query, name), "") << name;
  EXPECT_EQ(query_parameter("", "size"), "");
  EXPECT_EQ(query_parameter("size=%4", "size"), "");
}

}  // namespace
}  // namespace stipple::http
