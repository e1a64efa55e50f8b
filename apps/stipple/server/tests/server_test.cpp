// SPDX-License-Identifier: Apache-2.0
// Where a server listens, who may connect, how many, and how it ends.
#include "apps/stipple/server/server.h"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <optional>
#include <string>
#include <thread>

#include "apps/stipple/server/tests/test_site.h"
#include "stipple/core/error.h"

namespace stipple {
namespace {

std::string error_of(const ServerOptions& options) {
  TestSite site;
  try {
    const Server server(options, site);
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

TEST(Server, TheNextPortIsTakenUnlessThisOneIsWanted) {
  const TestServer first;
  ServerOptions options;
  options.port = first.port;
  options.is_port_wanted = true;
  EXPECT_EQ(error_of(options), first.host + " is in use by another program; choose another port");
  options.is_port_wanted = false;
  TestSite site;
  const Server second(options, site);
  EXPECT_NE(second.url(), first.server->url());
  EXPECT_TRUE(second.url().starts_with("http://127.0.0.1:"));
}

TEST(Server, AnAddressThatIsNotOfThisMachineIsAnError) {
  ServerOptions options;
  options.port = 0;
  for (const char* address : {"", "no such name", "127.0.0.1.example.invalid", "198.51.100.1"}) {
    options.address = address;
    EXPECT_TRUE(error_of(options).starts_with("cannot listen at ")) << address << ": " << error_of(options);
  }
}

TEST(Server, OnTheLoopbackInterfaceThereIsNoToken) {
  ServerOptions options;
  for (const char* address : {"127.0.0.1", "127.0.0.2", "localhost"}) {
    options.address = address;
    const TestServer server(options);
    EXPECT_EQ(server.token, "") << address;
  }
}

TEST(Server, OtherNamesOfThisMachineAreRefused) {
  TestServer server;
  server.host = "rebound.example:" + std::to_string(server.port);
  for (const std::string& bytes : {server.request("/"), server.request("/", "", "POST"), server.upgrade(),
                                   server.upgrade("Origin: http://" + server.host + "\r\n")})
    EXPECT_EQ(server.status_of(bytes), 403);
  server.host = "localhost:9000";  // a port that ssh has forwarded
  EXPECT_EQ(server.status_of(server.request("/")), 200);
}

TEST(Server, PagesOfOtherSitesAreRefused) {
  TestServer server;
  const std::string other = "Origin: http://evil.example\r\n", own = "Origin: http://" + server.host + "\r\n";
  const std::string another_port = "Origin: http://127.0.0.1:1\r\n", file = "Origin: null\r\n";
  for (const std::string& origin : {other, another_port, file}) {
    EXPECT_EQ(server.status_of(server.request("/", origin)), 403);
    EXPECT_EQ(server.status_of(server.request("/save", origin, "POST")), 403);
    EXPECT_EQ(server.status_of(server.upgrade(origin)), 403);
  }
  EXPECT_EQ(server.status_of(server.request("/", own)), 200);
  EXPECT_EQ(server.status_of(server.request("/save", own, "POST")), 200);
  EXPECT_EQ(server.status_of(server.upgrade(own)), 101);
  const std::string elsewhere = "Sec-Fetch-Site: cross-site\r\n";
  EXPECT_EQ(server.status_of(server.request("/photo/0", elsewhere + "Sec-Fetch-Mode: no-cors\r\n")), 403);
  EXPECT_EQ(server.status_of(server.request("/", elsewhere + "Sec-Fetch-Mode: navigate\r\n")), 200);
}

TEST(Server, OthersNeedTheToken) {
  ServerOptions options;
  options.address = "0.0.0.0";
  TestServer server(options);
  ASSERT_TRUE(server.token.starts_with("?token="));
  EXPECT_EQ(server.token.size(), std::string("?token=").size() + 32);
  EXPECT_FALSE(server.host.starts_with("0.0.0.0"));  // which is no address to open
  std::string wrong = server.token;
  wrong.back() = wrong.back() == '0' ? '1' : '0';
  for (const std::string& token : {std::string(), std::string("?token="), std::string("?other=1"), wrong,
                                   server.token + "0", "?Token" + server.token.substr(6)}) {
    const TestAnswer answer = server.get("/" + token);
    EXPECT_EQ(answer.status, 403) << token;
    EXPECT_NE(answer.body.find("?token="), std::string::npos);
    EXPECT_EQ(server.get("/save" + token, "", "POST").status, 403) << token;
    EXPECT_EQ(server.status_of(server.upgrade("", "/socket" + token)), 403) << token;
  }
  EXPECT_EQ(server.get("/" + server.token).status, 200);
  EXPECT_EQ(server.get("/a?size=1&" + server.token.substr(1)).status, 200);
  server.host = "any.example";
  EXPECT_EQ(server.get("/" + server.token).status, 200);
  EXPECT_EQ(server.get("/" + server.token, "Origin: http://evil.example\r\n").status, 403);
  server.visit();
}

TEST(Server, Version6OfTheInternetProtocol) {
  ServerOptions options;
  options.address = "::1";
  if (options.port = 0; !error_of(options).empty()) GTEST_SKIP() << "this machine has no IPv6";
  const TestServer local(options);
  EXPECT_TRUE(local.host.starts_with("[::1]:"));
  EXPECT_EQ(local.token, "");
  options.address = "::";
  TestServer all(options);  // takes IPv4 as well
  EXPECT_EQ(all.get("/" + all.token).status, 200);
  EXPECT_EQ(all.get("/").status, 403);
}

TEST(Server, TakesOnlySoManyVisitors) {
  ServerOptions options;
  options.max_visitors = 2;
  TestServer server(options);
  std::optional<TestClient> first = server.visit();
  const TestClient second = server.visit();
  EXPECT_EQ(server.status_of(server.upgrade()), 503);
  first.reset();
  server.site.wait_for_gone(1);
  server.visit();
}

TEST(Server, TakesOnlySoManyConnections) {
  ServerOptions options;
  options.max_visitors = 0;
  TestServer server(options);
  std::vector<TestClient> idle;
  for (int i = 0; i < 7; ++i) idle.push_back(server.connect());
  TestClient one_more = server.connect();
  const TestAnswer answer = read_answer(one_more);
  EXPECT_EQ(answer.status, 503);
  EXPECT_EQ(answer.body, "This server has as many connections as it takes.\n");
  idle[3].send(server.request("/"));
  EXPECT_EQ(read_answer(idle[3]).status, 200);
}

TEST(Server, GoesOnAfterTheFilesOfTheProcessWereUsedUp) {
  TestServer server;
  TestClient before = server.connect();
  before.send(server.request("/"));
  read_answer(before);
  rlimit limit{};
  getrlimit(RLIMIT_NOFILE, &limit);
  const rlim_t normal = limit.rlim_cur;
  {
    TestClient waits = server.connect(false);
    const int next = dup(0);  // the lowest that is free
    close(next);
    limit.rlim_cur = static_cast<rlim_t>(next);
    setrlimit(RLIMIT_NOFILE, &limit);
    waits.connect();
    waits.send(server.request("/"));
    for (int i = 0; i < 3; ++i) {  // meanwhile, the server goes on
      before.send(server.request("/"));
      EXPECT_EQ(read_answer(before).status, 200);
    }
    limit.rlim_cur = normal;
    setrlimit(RLIMIT_NOFILE, &limit);
    EXPECT_EQ(read_answer(waits).status, 200);
  }
}

TEST(Server, EndsWhateverItsVisitorsDo) {
  auto server = std::make_unique<TestServer>();
  const SharedBytes big = std::make_shared<const std::vector<std::byte>>(std::size_t(30) << 20);
  server->site.responses["/model"].body = big;
  const TestClient idle = server->connect();
  TestClient half = server->connect(), reads_nothing = server->connect(), body = server->connect();
  half.send("GET / HTTP/1.1\r\nHo");
  reads_nothing.send(server->request("/model"));
  body.send(server->request("/", "Content-Length: 100\r\n", "POST") + "abc");
  TestClient visitor = server->visit(), stuck = server->visit();
  server->site.wait_for_visitors(2);
  server->site.visitor(0)->send_text("the end");
  server->site.visitor(1)->send_binary(big);
  server->server.reset();
  EXPECT_TRUE(server->site.visitors().empty());  // the site was told of each
  EXPECT_EQ(read_frame(visitor).payload, "the end");
  server.reset();
  EXPECT_EQ(big.use_count(), 1);
}

// The site's threads send, visitors come and go, and the server ends, all at the same time.
TEST(Server, ManyThreads) {
  auto server = std::make_unique<TestServer>();
  std::atomic<bool> is_over = false;
  const SharedBytes picture = std::make_shared<const std::vector<std::byte>>(std::size_t(10'000));
  std::vector<std::thread> threads;
  for (int i = 0; i < 2; ++i)
    threads.emplace_back([&] {
      while (!is_over) {
        for (const auto& visitor : server->site.visitors()) {
          visitor->send_binary(picture);
          if (visitor->waiting() > 100) visitor->close();
        }
        std::this_thread::yield();
      }
    });
  for (int i = 0; i < 3; ++i)
    threads.emplace_back([&] {
      for (int k = 0; k < 20; ++k) {
        TestClient visitor = server->visit();
        visitor.send(frame(kText, "hello"));
        for (int n = 0; n < 5; ++n) read_frame(visitor);
        server->get("/");
      }
    });
  for (std::size_t i = 2; i < threads.size(); ++i) threads[i].join();
  server->server.reset();
  is_over = true;
  threads[0].join();
  threads[1].join();
  EXPECT_TRUE(server->site.visitors().empty());
}

}  // namespace
}  // namespace stipple
