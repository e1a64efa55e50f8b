// SPDX-License-Identifier: Apache-2.0
#include "apps/stipple/server/server.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <mutex>
#include <string>
#include <vector>

#include "apps/stipple/server/tests/test_client.h"
#include "apps/stipple/server/tests/test_site.h"

namespace stipple {
namespace {

TEST(Server, AnswersARequest) {
  TestServer server;
  const TestAnswer answer = server.get("/hello");
  EXPECT_EQ(answer.status, 200);
  EXPECT_EQ(answer.body, "GET /hello ");
}

TEST(Server, AVisitorAndTheSiteExchangeMessages) {
  TestServer server;
  TestClient visitor = server.visit();
  visitor.send(frame(kText, "good day"));
  const TestFrame answer = read_frame(visitor);
  EXPECT_EQ(answer.first, kText);
  EXPECT_EQ(answer.payload, "you said: good day");
}

}  // namespace
}  // namespace stipple
