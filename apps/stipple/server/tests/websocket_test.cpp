// SPDX-License-Identifier: Apache-2.0
// WebSockets, well behaved and not.
#include <gtest/gtest.h>

#include <string>

#include "apps/stipple/server/tests/test_site.h"

namespace stipple {
namespace {

SharedBytes bytes_of_size(std::size_t size) { return std::make_shared<const std::vector<std::byte>>(size); }

// The code of a close frame, 0 without one, -1 if this is not a close frame.
int close_code(const TestFrame& closing) {
  if (closing.first != kClose) return -1;
  if (closing.payload.size() < 2) return 0;
  return static_cast<unsigned char>(closing.payload[0]) << 8 | static_cast<unsigned char>(closing.payload[1]);
}

std::string with_code(int code, const std::string& reason = "") {
  return std::string{static_cast<char>(code >> 8), static_cast<char>(code)} + reason;
}

TEST(WebSocket, MessagesGoBothWaysInOrder) {
  TestServer server;
  TestClient visitor = server.visit();
  visitor.send(frame(kText, "one") + frame(kText, "two"));
  EXPECT_EQ(read_frame(visitor).payload, "you said: one");
  EXPECT_EQ(read_frame(visitor).payload, "you said: two");
  const auto connection = server.site.visitor(0);
  connection->send_binary(bytes_of_size(100'000));
  connection->send_text("after it");
  const TestFrame picture = read_frame(visitor);
  EXPECT_EQ(picture.first, kBinary);  // whole, not in fragments
  EXPECT_EQ(picture.payload.size(), 100'000u);
  const TestFrame text = read_frame(visitor);
  EXPECT_EQ(text.first, kText);
  EXPECT_EQ(text.payload, "after it");
}

TEST(WebSocket, TwentyVisitorsAtOnce) {
  TestServer server;
  std::vector<TestClient> visitors;
  for (int i = 0; i < 20; ++i) visitors.push_back(server.visit());
  server.site.wait_for_visitors(20);
  for (int i = 0; i < 20; ++i) visitors[i].send(frame(kText, std::to_string(i)));
  for (int i = 0; i < 20; ++i) EXPECT_EQ(read_frame(visitors[i]).payload, "you said: " + std::to_string(i));
  for (const auto& visitor : server.site.visitors()) visitor->send_binary(bytes_of_size(1000));
  for (TestClient& visitor : visitors) EXPECT_EQ(read_frame(visitor).payload.size(), 1000u);
}

TEST(WebSocket, AMessageMayComeInFragmentsAroundAPing) {
  TestServer server;
  TestClient visitor = server.visit();
  visitor.send(frame(0x01, "good ") + frame(kPing, "here?") + frame(0x00, "d\xC3") + frame(0x80, "\xA4y"));
  const TestFrame pong = read_frame(visitor);
  EXPECT_EQ(pong.first, kPong);
  EXPECT_EQ(pong.payload, "here?");
  EXPECT_EQ(read_frame(visitor).payload, "you said: good d\xC3\xA4y");
}

TEST(WebSocket, TheVisitorMayLeave) {
  TestServer server;
  TestClient visitor = server.visit();
  visitor.send(frame(kClose, with_code(1000, "bye")));
  EXPECT_EQ(close_code(read_frame(visitor)), 1000);
  EXPECT_EQ(visitor.read_all(), "");
  visitor.stop_sending();
  server.site.wait_for_gone(1);
}

TEST(WebSocket, TheSiteMayEndItAfterAMessage) {
  TestServer server;
  TestClient visitor = server.visit();
  const auto connection = server.site.visitor(0);
  connection->send_text("last");
  connection->close();
  connection->send_text("too late");
  EXPECT_EQ(read_frame(visitor).payload, "last");
  EXPECT_EQ(close_code(read_frame(visitor)), 1000);
  visitor.send(frame(kClose, with_code(1000)));
  EXPECT_EQ(visitor.read_all(), "");
  visitor.stop_sending();
  server.site.wait_for_gone(1);
}

TEST(WebSocket, ASiteThatThrowsLosesTheVisitorOnly) {
  TestServer server;
  TestClient visitor = server.visit();
  visitor.send(frame(kText, "throw"));
  EXPECT_EQ(close_code(read_frame(visitor)), 1011);
  visitor.stop_sending();
  server.site.wait_for_gone(1);
  EXPECT_EQ(server.get("/").status, 200);
}

TEST(WebSocket, TheConnectionMayBeUsedAfterTheVisitorHasGone) {
  std::shared_ptr<Connection> connection;
  {
    TestServer server;
    {
      const TestClient visitor = server.visit();
      connection = server.site.visitor(0);
    }
    server.site.wait_for_gone(1);
    connection->send_text("anyone?");
  }
  connection->send_binary(bytes_of_size(10));
  connection->close();
  EXPECT_EQ(connection->waiting(), 0u);
}

// Bytes that break the protocol, and the code of the answer.
struct Broken {
  const char* name;
  std::string bytes;
  int code;
};

std::vector<Broken> broken_messages() {
  const std::string unmasked = "\x81\x02hi", long_text(65'537, 'a');
  std::string fragments;
  for (int i = 0; i < 70; ++i) fragments += frame(i == 0 ? 0x01 : 0x00, std::string(1000, 'a'));
  return {{"unmasked", unmasked, 1002},
          {"reserved bit 1", frame(0xc1, "a"), 1002},
          {"reserved bit 2", frame(0xa1, "a"), 1002},
          {"reserved bit 3", frame(0x91, "a"), 1002},
          {"reserved kind of message", frame(0x83, "a"), 1002},
          {"reserved kind of control", frame(0x8b, "a"), 1002},
          {"long control", frame(kPing, std::string(126, 'a')), 1002},
          {"fragmented control", frame(0x09, "a"), 1002},
          {"continues nothing", frame(0x80, "a"), 1002},
          {"message in a message", frame(0x01, "a") + frame(kText, "b"), 1002},
          {"length with the highest bit", std::string("\x81\xff\x80\0\0\0\0\0\0\0abcd", 14), 1009},
          {"length in more bytes than needed",
           std::string("\x81\xfe\0\x01"
                       "abcd"
                       "a",
                       9),
           1002},
          {"long by its length",
           std::string("\x81\xff\0\0\0\x7f\xff\xff\xff\xff"
                       "abcd",
                       14),
           1009},
          {"long", frame(kText, long_text), 1009},
          {"fragments without end", fragments, 1009},
          {"not UTF-8", frame(kText, "a\xff"), 1007},
          {"half a character", frame(kText, "a\xc3"), 1007},
          {"half a surrogate", frame(kText, "\xed\xa0\x80"), 1007},
          {"binary", frame(kBinary, "abc"), 1003},
          {"close of one byte", frame(kClose, "a"), 1002},
          {"close with no code", frame(kClose, with_code(999)), 1002},
          {"close with a code that is never sent", frame(kClose, with_code(1005)), 1002},
          {"close with a reason that is not UTF-8", frame(kClose, with_code(1000, "\xff")), 1002}};
}

TEST(WebSocket, BrokenMessagesEndTheVisit) {
  TestServer server;
  std::size_t gone = 0;
  for (const Broken& broken : broken_messages()) {
    TestClient visitor = server.visit();
    visitor.send(broken.bytes);
    EXPECT_EQ(close_code(read_frame(visitor)), broken.code) << broken.name;
    visitor.stop_sending();
    server.site.wait_for_gone(++gone);
  }
  EXPECT_EQ(server.get("/").status, 200);
}

TEST(WebSocket, TruncatedFramesEndTheVisit) {
  TestServer server;
  const std::string whole = frame(kText, std::string(200, 'a'));
  std::size_t gone = 0;
  for (const std::size_t size : {0, 1, 2, 3, 7, 8, 100}) {
    TestClient visitor = server.visit();
    visitor.send(whole.substr(0, size));
    visitor.stop_sending();
    EXPECT_EQ(visitor.read_all(), "") << size;
    server.site.wait_for_gone(++gone);
  }
}

// The memory that the server holds for a visitor is bounded, and then the visitor is disconnected.
TEST(WebSocket, WhoDoesNotReadIsDisconnected) {
  TestServer server;
  TestClient stuck = server.visit(), other = server.visit();
  server.site.wait_for_visitors(2);
  const auto connection = server.site.visitor(0);
  const SharedBytes picture = bytes_of_size(1 << 20);
  long most = 0;
  for (int i = 0; i < 1000 && server.site.visitors().size() == 2; ++i) {
    connection->send_binary(picture);
    most = std::max(most, picture.use_count());
  }
  server.site.wait_for_gone(1);
  EXPECT_LE(most, 1 + 32 + 1);  // this test's, those that wait, and one on its way into the queue
  EXPECT_EQ(connection->waiting(), 0u);
  other.send(frame(kText, "still here"));
  EXPECT_EQ(read_frame(other).payload, "you said: still here");
}

TEST(WebSocket, ManySmallMessagesAreBoundedToo) {
  TestServer server;
  const TestClient stuck = server.visit();
  const auto connection = server.site.visitor(0);
  const SharedBytes filling = bytes_of_size(16 << 20);  // fills the buffers of the system
  connection->send_binary(filling);
  std::size_t most = 0;
  for (int i = 0; i < 100'000 && server.site.visitors().size() == 1; ++i) {
    connection->send_text("status");
    most = std::max(most, connection->waiting());
  }
  server.site.wait_for_gone(1);
  EXPECT_LE(most, 1024u);
}

// Each ping must be answered, which works until the buffers of the system are full.
TEST(WebSocket, WhoPingsWithoutReadingIsDisconnected) {
  ServerOptions options;
  options.patience = std::chrono::milliseconds(400);
  TestServer server(options);
  TestClient visitor = server.visit();
  const std::string pings = repeated(frame(kPing, std::string(125, 'a')), 1000);
  while (visitor.send(pings)) {
  }
  server.site.wait_for_gone(1);
  EXPECT_EQ(server.get("/").status, 200);
}

// The server waits for the visitor to say that it has understood, but not for ever.
TEST(WebSocket, WhoGoesOnAfterTheEndIsDisconnected) {
  ServerOptions options;
  options.patience = std::chrono::milliseconds(400);
  TestServer server(options);
  const std::string messages = repeated(frame(kText, "and another thing"), 1000);
  for (const bool ends_by_site : {true, false}) {
    TestClient visitor = server.visit();
    if (ends_by_site)
      server.site.visitor(0)->close();
    else
      visitor.send(frame(kBinary, "abc"));
    EXPECT_EQ(close_code(read_frame(visitor)), ends_by_site ? 1000 : 1003);
    while (visitor.send(messages)) {
    }
    server.site.wait_for_gone(ends_by_site ? 1 : 2);
  }
}

TEST(WebSocket, CompressionIsDeclined) {
  TestServer server;
  TestClient visitor = server.connect();
  visitor.send(server.upgrade("Sec-WebSocket-Extensions: permessage-deflate; client_max_window_bits\r\n"));
  const TestAnswer answer = read_answer(visitor);
  EXPECT_EQ(answer.status, 101);
  EXPECT_EQ(answer.header("Sec-WebSocket-Extensions"), "");
}

// A visitor who has vanished without closing the connection does not answer either.
TEST(WebSocket, ASilentVisitorIsAskedAndThenDisconnected) {
  ServerOptions options;
  options.patience = std::chrono::milliseconds(400);
  TestServer server(options);
  TestClient silent = server.visit();
  EXPECT_EQ(read_frame(silent).first, kPing);
  server.site.wait_for_gone(1);
}

TEST(WebSocket, AVisitorWhoAnswersStays) {
  ServerOptions options;
  options.patience = std::chrono::seconds(3);
  TestServer server(options);
  TestClient visitor = server.visit();
  for (int i = 0; i < 3; ++i) {
    const TestFrame ping = read_frame(visitor);
    ASSERT_EQ(ping.first, kPing);
    visitor.send(frame(kPong, ping.payload));
  }
  visitor.send(frame(kText, "here"));
  EXPECT_EQ(read_frame(visitor).payload, "you said: here");
}

TEST(WebSocket, OnlyAProperRequestOpensOne) {
  TestServer server;
  const std::string key = "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n",
                    version = "Sec-WebSocket-Version: 13\r\n";
  const std::string upgrade = "Connection: Upgrade\r\nUpgrade: websocket\r\n";
  EXPECT_EQ(server.get("/socket", upgrade + version + key).status, 101);
  EXPECT_EQ(server.get("/else", upgrade + version + key).status, 404);
  EXPECT_EQ(server.get("/socket", upgrade + version).status, 400);
  EXPECT_EQ(server.get("/socket", upgrade + "Sec-WebSocket-Version: 12\r\n" + key).status, 426);
  EXPECT_EQ(server.status_of(server.upgrade() + frame(kText, "too early")), 400);
  EXPECT_EQ(server.status_of(server.upgrade("Content-Length: 1\r\n") + "a"), 400);
  EXPECT_EQ(server.status_of(server.upgrade("Transfer-Encoding: chunked\r\n")), 400);
  EXPECT_EQ(server.status_of(server.upgrade("Transfer-Encoding: gzip\r\n")), 400);
  EXPECT_EQ(server.get("/socket").body, "GET /socket ");  // without an upgrade, it is for the site
}

}  // namespace
}  // namespace stipple
