// SPDX-License-Identifier: Apache-2.0
// Requests, well formed and not, as they come from a socket.
#include <gtest/gtest.h>
#include <zlib.h>

#include <future>
#include <string>
#include <thread>

#include "apps/stipple/server/tests/test_site.h"

namespace stipple {
namespace {

std::string gunzip(const std::string& bytes) {
  z_stream stream{};
  inflateInit2(&stream, 15 + 16);
  std::string text(1 << 20, '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data()));
  stream.avail_in = static_cast<uInt>(bytes.size());
  stream.next_out = reinterpret_cast<Bytef*>(text.data());
  stream.avail_out = static_cast<uInt>(text.size());
  const int status = inflate(&stream, Z_FINISH);
  inflateEnd(&stream);
  return status == Z_STREAM_END ? text.substr(0, stream.total_out) : "damaged";
}

TEST(Http, GetHeadAndPost) {
  TestServer server;
  const TestAnswer get = server.get("/a%20b?x=1");
  EXPECT_EQ(get.status, 200);
  EXPECT_EQ(get.body, "GET /a b ");
  EXPECT_EQ(get.header("Content-Type"), "text/plain; charset=utf-8");

  TestClient head = server.connect();
  head.send(server.request("/a", "Connection: close\r\n", "HEAD"));
  const TestAnswer of_head = read_answer(head, false);
  EXPECT_EQ(of_head.header("Content-Length"), std::to_string(std::string("GET /a ").size()));
  EXPECT_EQ(head.read_all(), "");

  TestClient post = server.connect();
  post.send(server.request("/a", "Content-Length: 4\r\n", "POST") + "body");
  EXPECT_EQ(read_answer(post).body, "POST /a body");
}

TEST(Http, OneConnectionTakesManyRequests) {
  TestServer server;
  TestClient client = server.connect();
  client.send(server.request("/1") + server.request("/2", "Content-Length: 3\r\n", "POST") + "two");
  EXPECT_EQ(read_answer(client).body, "GET /1 ");
  EXPECT_EQ(read_answer(client).body, "POST /2 two");
  client.send(server.request("/3", "Connection: close\r\n"));
  const TestAnswer last = read_answer(client);
  EXPECT_EQ(last.body, "GET /3 ");
  EXPECT_EQ(last.header("Connection"), "close");
  EXPECT_EQ(client.read_all(), "");
}

TEST(Http, ABodyMayComeInChunksOrAfterAQuestion) {
  TestServer server;
  TestClient chunks = server.connect();
  chunks.send(server.request("/a", "Transfer-Encoding: chunked\r\n", "POST") +
              "3\r\nabc\r\n2;x=y\r\nde\r\n0\r\n\r\n");
  EXPECT_EQ(read_answer(chunks).body, "POST /a abcde");

  TestClient asks = server.connect();
  asks.send(server.request("/a", "Expect: 100-continue\r\nContent-Length: 2\r\n", "POST"));
  EXPECT_EQ(asks.read_until("\r\n\r\n"), "HTTP/1.1 100 Continue\r\n\r\n");
  asks.send("ab");
  EXPECT_EQ(read_answer(asks).body, "POST /a ab");
}

TEST(Http, ALongBodyArrivesWhole) {
  TestServer server;
  std::vector<std::byte> bytes(5'000'000);
  for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<std::byte>(i * i / 7);
  server.site.responses["/model"].body = std::make_shared<const std::vector<std::byte>>(bytes);
  const TestAnswer answer = server.get("/model");
  EXPECT_TRUE(answer.body == std::string(reinterpret_cast<const char*>(bytes.data()), bytes.size()));
}

TEST(Http, ALongPostArrivesWhole) {
  TestServer server;
  TestClient client = server.connect();
  const std::string body = repeated("0123456789", 300'000);
  client.send(server.request("/", "Content-Length: " + std::to_string(body.size()) + "\r\n", "POST") + body);
  EXPECT_TRUE(read_answer(client).body == "POST / " + body);
}

TEST(Http, EveryAnswerRestrictsWhatTheBrowserDoesWithIt) {
  TestServer server;
  for (const char* target : {"/", "/%00"}) {
    const TestAnswer answer = server.get(target);
    EXPECT_EQ(answer.header("X-Content-Type-Options"), "nosniff");
    EXPECT_EQ(answer.header("X-Frame-Options"), "DENY");
    EXPECT_EQ(answer.header("Referrer-Policy"), "no-referrer");
    EXPECT_EQ(answer.header("Cross-Origin-Resource-Policy"), "same-origin");
    EXPECT_EQ(answer.header("Content-Security-Policy"), "default-src 'none'; frame-ancestors 'none'");
    EXPECT_EQ(answer.header("Cache-Control"), "no-store");
  }
}

TEST(Http, PagesAreCompressedForThoseWhoTakeIt) {
  TestServer server;
  const std::string text = "<script>1</script>" + repeated("page ", 10'000);
  for (const bool is_constant : {false, true}) {
    HttpResponse page = text_response(200, text);
    page.content_type = "text/html; charset=utf-8";
    page.is_constant = is_constant;
    server.site.responses["/"] = page;
    for (const char* accepts : {"gzip", "br;q=1, GZIP;q=0.5, *;q=0"}) {
      const TestAnswer answer = server.get("/", std::string("Accept-Encoding: ") + accepts + "\r\n");
      EXPECT_EQ(answer.header("Content-Encoding"), "gzip");
      EXPECT_LT(answer.body.size(), text.size() / 10);
      EXPECT_TRUE(gunzip(answer.body) == text);
      EXPECT_NE(answer.header("Content-Security-Policy").find("'sha256-"), std::string::npos);
    }
    for (const char* accepts : {"Accept-Encoding: gzip;q=0\r\n", "Accept-Encoding: br\r\n", ""}) {
      const TestAnswer answer = server.get("/", accepts);
      EXPECT_EQ(answer.header("Content-Encoding"), "");
      EXPECT_TRUE(answer.body == text);
      EXPECT_EQ(answer.header("Vary"), "Accept-Encoding");
    }
  }
}

TEST(Http, TheBrowserKeepsWhatIsConstantForThisRunOfTheServer) {
  HttpResponse constant = text_response(200, "model");
  constant.is_constant = true;
  TestServer server, later;
  server.site.responses["/m"] = later.site.responses["/m"] = constant;
  const TestAnswer first = server.get("/m");
  EXPECT_EQ(first.header("Cache-Control"), "private, no-cache");
  const std::string known = "If-None-Match: " + first.header("ETag") + "\r\n";
  TestClient client = server.connect();
  client.send(server.request("/m", known) + server.request("/other", known));
  const TestAnswer second = read_answer(client);
  EXPECT_EQ(second.status, 304);
  EXPECT_EQ(second.header("Content-Length"), "");
  EXPECT_EQ(read_answer(client).status, 200);  // not constant
  EXPECT_EQ(later.get("/m", known).body, "model");
}

TEST(Http, WhatTheSiteThrowsIsTheAnswer) {
  TestServer server;
  const TestAnswer answer = server.get("/throw");
  EXPECT_EQ(answer.status, 500);
  EXPECT_EQ(answer.body, "the site has failed\n");
  EXPECT_EQ(server.get("/").status, 200);
}

// A site that takes its time for some requests.
class SlowSite final : public Site {
 public:
  HttpResponse respond(const HttpRequest& request) override {
    if (request.path == "/slow") go_on.get_future().wait();
    return text_response(200, request.path);
  }
  void opened(const std::shared_ptr<Connection>&) override {}
  void received(const std::shared_ptr<Connection>&, std::string_view) override {}
  void closed(const std::shared_ptr<Connection>&) override {}

  std::promise<void> go_on;
};

TEST(Http, OthersAreServedWhileTheSiteTakesItsTime) {
  SlowSite site;
  ServerOptions options;
  options.port = 0;
  const Server server(options, site);
  const auto port = static_cast<std::uint16_t>(std::stoul(server.url().substr(server.url().rfind(':') + 1)));
  const auto request = [](const std::string& path) {
    return "GET " + path + " HTTP/1.1\r\nHost: localhost\r\n\r\n";
  };
  TestClient slow(port), quick(port);
  slow.connect();
  quick.connect();
  slow.send(request("/slow"));
  quick.send(request("/quick"));
  EXPECT_EQ(read_answer(quick).body, "/quick");
  site.go_on.set_value();
  EXPECT_EQ(read_answer(slow).body, "/slow");
}

TEST(Http, OtherMethodsAreRefused) {
  TestServer server;
  for (const char* method : {"PUT", "DELETE", "OPTIONS", "TRACE", "CONNECT", "PATCH", "BREW"}) {
    const TestAnswer answer = server.get("/", "", method);
    EXPECT_EQ(answer.status, 405) << method;
    EXPECT_EQ(answer.header("Allow"), "GET, HEAD, POST");
    EXPECT_EQ(answer.body, "This server takes GET, HEAD and POST only.\n");
  }
}

TEST(Http, MalformedRequestsAreRefusedInASentence) {
  TestServer server;
  const std::string host = "Host: localhost\r\n", start = "GET / HTTP/1.1\r\n" + host, end = "\r\n";
  const std::string post = "POST / HTTP/1.1\r\n" + host;
  for (const std::string& bytes :
       {std::string("\0\1\2\3garbage\r\n\r\n", 15),
        std::string("\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03", 11),
        "GET\r\n\r\n" + end,
        "GET /\r\n" + host + end,
        "GET / HTTP/2.0\r\n" + host + end,
        "GET / HTTP/1.1 \r\n" + host + end,
        "GET / HTTPS/1.1\r\n" + host + end,
        "G@T / HTTP/1.1\r\n" + host + end,
        "GET /a b HTTP/1.1\r\n" + host + end,
        "GET /\x01 HTTP/1.1\r\n" + host + end,
        "GET / HTTP/1.1\r\n" + end,
        "GET / HTTP/1.1\r\nHost: localhost" + std::string(1, '\0') + ".evil.example\r\n" + end,
        start + host + end,
        start + "No colon\r\n" + end,
        start + ": no name\r\n" + end,
        start + "A: \x01\x02\r\n" + end,
        start + "Spaced : a\r\n" + end,
        start + "A: b\nC: d\r\r\n" + end,
        start + "Origin: http://localhost\r\nOrigin: http://localhost\r\n" + end,
        start + "Content-Length: 3\r\n" + end,
        post + "Content-Length: x\r\n" + end,
        post + "Content-Length: -1\r\n" + end,
        post + "Content-Length: 1\r\nContent-Length: 2\r\n" + end,
        post + "Content-Length: 18446744073709551616\r\n" + end,
        post + "Content-Length: 3\r\nTransfer-Encoding: chunked\r\n" + end,
        post + "Transfer-Encoding: gzip\r\n" + end + start + end,
        post + "Transfer-Encoding: identity\r\n" + end + start + end,
        post + "Transfer-Encoding: xchunked\r\n" + end + start + end,
        post + "Transfer-Encoding: chunked, gzip\r\n" + end + start + end,
        post + "Transfer-Encoding: gzip, chunked\r\n" + end + "0\r\n\r\n",
        post + "Transfer-Encoding: gzip\r\nTransfer-Encoding: chunked\r\n" + end + "0\r\n\r\n",
        post + "Transfer-Encoding: gzip\r\nContent-Length: 1\r\n" + end + "a",
        post + "Transfer-Encoding: chunked\r\n" + end + "x\r\nabc\r\n",
        post + "Transfer-Encoding: chunked\r\n" + end + "3\r\nabcdefg\r\n",
        post + "Transfer-Encoding: chunked\r\n" + end + "ffffffffffffffffff\r\nabc",
        "GET http://localhost/ HTTP/1.1\r\n" + host + end,
        "GET /../a HTTP/1.1\r\n" + host + end,
        "GET /%00 HTTP/1.1\r\n" + host + end,
        "GET /%2e%2e%2fetc HTTP/1.1\r\n" + host + end,
        "GET /%0d%0aSet-Cookie:%20a=b HTTP/1.1\r\n" + host + end,
        "GET /a%2f..%2fb HTTP/1.1\r\n" + host + end,
        "GET * HTTP/1.1\r\n" + host + end}) {
    TestClient client = server.connect();
    client.send(bytes);
    const TestAnswer answer = read_answer(client);
    EXPECT_EQ(answer.status, 400) << bytes;
    EXPECT_TRUE(answer.body.ends_with(".\n")) << bytes;
    EXPECT_EQ(client.read_all(), "") << bytes;  // closed
  }
  EXPECT_EQ(server.get("/").status, 200);
}

TEST(Http, WhatIsTooLongIsRefused) {
  TestServer server;
  const std::string many = repeated("Name: " + std::string(90, 'v') + "\r\n", 200);
  EXPECT_EQ(server.get("/", many).status, 431);
  EXPECT_EQ(server.get("/", "Long: " + std::string(20'000, 'v') + "\r\n").status, 431);
  EXPECT_EQ(server.status_of(std::string(100'000, 'G')), 431);
  EXPECT_EQ(server.get("/" + std::string(20'000, 'a')).status, 431);
  EXPECT_EQ(server.get("/", "Content-Length: 67108865\r\n", "POST").status, 413);
  TestClient chunks = server.connect();
  chunks.send(server.request("/", "Transfer-Encoding: chunked\r\n", "POST") + "4000001\r\n");
  EXPECT_EQ(read_answer(chunks).status, 413);
}

TEST(Http, ATruncatedRequestGetsNoAnswer) {
  TestServer server;
  const std::string whole = server.request("/", "Content-Length: 9\r\n", "POST") + "body";
  for (const std::size_t size :
       {std::size_t(0), std::size_t(1), std::size_t(20), whole.size() - 5, whole.size()}) {
    TestClient client = server.connect();
    client.send(whole.substr(0, size));
    client.stop_sending();
    EXPECT_EQ(client.read_all(), "") << size;
  }
}

TEST(Http, OldVersionsAreAnsweredOnce) {
  TestServer server;
  TestClient client = server.connect();
  client.send("GET /old HTTP/1.0\r\nHost: localhost\r\n\r\n");
  EXPECT_EQ(read_answer(client).body, "GET /old ");
  EXPECT_EQ(client.read_all(), "");
}

TEST(Http, FourLongBodiesAtOnce) {
  TestServer server;
  std::vector<TestClient> clients;
  for (int i = 0; i < 5; ++i) {
    clients.push_back(server.connect());
    clients[i].send(server.request("/", "Expect: 100-continue\r\nContent-Length: 3\r\n", "POST"));
    if (i < 4) {
      EXPECT_EQ(clients[i].read_until("\r\n\r\n"), "HTTP/1.1 100 Continue\r\n\r\n");
    }
  }
  EXPECT_EQ(read_answer(clients[4]).status, 503);
  clients[0].send("abc");
  EXPECT_EQ(read_answer(clients[0]).body, "POST / abc");
  clients[0].send(server.request("/", "Content-Length: 3\r\n", "POST") + "def");  // there is room again
  EXPECT_EQ(read_answer(clients[0]).body, "POST / def");
}

TEST(Http, WhoIsSlowIsDisconnected) {
  ServerOptions options;
  options.patience = std::chrono::milliseconds(200);
  TestServer server(options);
  TestClient idle = server.connect(), half = server.connect(), used = server.connect();
  half.send("GET / HTTP/1.1\r\n");
  used.send(server.request("/"));
  EXPECT_EQ(read_answer(used).status, 200);
  EXPECT_EQ(idle.read_all(), "");
  EXPECT_EQ(half.read_all(), "");
  EXPECT_EQ(used.read_all(), "");
}

// One byte now and then must not keep a connection (Slowloris).
TEST(Http, AFewBytesNowAndThenAreNotEnough) {
  ServerOptions options;
  options.patience = std::chrono::milliseconds(200);
  TestServer server(options);
  TestClient client = server.connect();
  client.send("GET / HTTP/1.1\r\nName: ");
  int sent = 0;
  for (; sent < 2000 && client.send("x"); ++sent) std::this_thread::sleep_for(std::chrono::milliseconds(10));
  EXPECT_LT(sent, 2000);
}

TEST(Http, WhoDoesNotReadALongAnswerIsDisconnected) {
  ServerOptions options;
  options.patience = std::chrono::milliseconds(200);
  TestServer server(options);
  const auto body = std::make_shared<const std::vector<std::byte>>(std::size_t(64) << 20);
  server.site.responses["/model"].body = body;
  const long uses = body.use_count();
  TestClient client = server.connect();
  client.send(server.request("/model"));
  client.read_until("\r\n\r\n");
  while (body.use_count() > uses) std::this_thread::sleep_for(std::chrono::milliseconds(5));  // let go of
}

}  // namespace
}  // namespace stipple
