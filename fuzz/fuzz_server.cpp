// SPDX-License-Identifier: Apache-2.0
// Sends bytes to the HTTP and WebSocket server. An input is what a visitor writes to one connection. Two
// bytes 0x1e in a row are not sent, but let the server read what was sent before. At the end, the visitor
// stops sending and reads to the end of the connection, or if the input ends with a pause, vanishes. After
// every input, the server must have closed the connection, told the site that its visitors have gone, and
// answer another request. This is the server without its thread and its port.
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <cerrno>
#include <chrono>
#include <cstdint>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>

#include "apps/stipple/server/http_session.h"
#include "apps/stipple/server/shared.h"
#include "fuzz/require.h"
#include "stipple/core/byte_text.h"

namespace stipple {
namespace {

constexpr std::string_view kPause = "\x1e\x1e";
constexpr std::size_t kMaxMessageBytes = 64 << 10;

class FuzzSite final : public Site {
 public:
  HttpResponse respond(const HttpRequest& request) override {
    ++question_count;
    require(request.method == "GET" || request.method == "POST");
    require(request.path.starts_with('/') && utf8_from_bytes(request.path) == request.path);
    require(std::none_of(request.path.begin(), request.path.end(), [](char c) { return c >= 0 && c < ' '; }));
    if (request.path == "/page") return page_;
    if (request.path == "/long") return long_;
    if (request.path == "/throw") throw std::runtime_error("the site has failed");
    return text_response(200, request.method + request.path + request.parameter("size") + request.body);
  }
  void opened(const std::shared_ptr<Connection>& visitor) override {
    ++visitor_count;
    visitor->send_text("hello");
  }
  void received(const std::shared_ptr<Connection>& visitor, std::string_view text) override {
    require(text.size() <= kMaxMessageBytes);
    if (text == "throw") throw std::runtime_error("the site has failed");
    visitor->send_text(std::string(text));
    if (text == "close") visitor->close();
  }
  void closed(const std::shared_ptr<Connection>&) override { --visitor_count; }

  std::atomic<int> question_count = 0;  // the workers count
  int visitor_count = 0;

 private:
  const HttpResponse page_{.content_type = "text/html; charset=utf-8",
                           .body = shared_bytes("<script>1</script>"),
                           .is_constant = true};
  const HttpResponse long_{.content_type = "application/octet-stream",  // in several pieces
                           .body = shared_bytes(std::string(600'000, 'a'))};
};

// A connection of a visitor to the server.
class Wire {
 public:
  explicit Wire(http::Shared& shared) : io_(shared.io), connection_count_(shared.connection_count) {
    int ends[2];
    require(socketpair(AF_UNIX, SOCK_STREAM, 0, ends) == 0);
    end_ = ends[0];
    using boost::asio::ip::tcp;
    http::serve_http(shared, tcp::socket(io_, tcp::v4(), ends[1]));
  }
  ~Wire() { vanish(); }
  Wire(const Wire&) = delete;
  Wire& operator=(const Wire&) = delete;

  void send(std::string_view bytes) {
    while (!bytes.empty()) {
      const ssize_t count = ::send(end_, bytes.data(), bytes.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
      if (count < 0 && errno != EAGAIN) return;  // the server has closed the connection
      if (count < 0) work();
      bytes.remove_prefix(static_cast<std::size_t>(std::max<ssize_t>(count, 0)));
    }
  }

  // Lets the server do what it can do without more bytes, but for the answers of the site's threads.
  void pause() {
    while (io_.poll() > 0) read();
  }

  void stop_sending() { shutdown(end_, SHUT_WR); }

  void vanish() {
    if (end_ >= 0) close(std::exchange(end_, -1));
  }

  // All that the server has sent, once it has closed the connection. If it does not, this waits for long.
  std::string wait_for_end() {
    while (connection_count_ > 0) work();
    read();
    return std::move(received_);
  }

 private:
  void work() {
    read();
    io_.run_one();
  }

  void read() {
    char piece[65536];
    ssize_t count;
    while (end_ >= 0 && (count = recv(end_, piece, sizeof piece, MSG_DONTWAIT)) > 0)
      received_.append(piece, static_cast<std::size_t>(count));
  }

  boost::asio::io_context& io_;
  const std::size_t& connection_count_;
  int end_ = -1;
  std::string received_;
};

class FuzzServer {
 public:
  FuzzServer() { shared_.tag = "this run"; }

  // What comes back for these bytes.
  std::string answer_to(std::string_view input) {
    Wire wire(shared_);
    while (true) {
      const std::size_t end = input.find(kPause);
      wire.send(input.substr(0, end));
      if (end == std::string_view::npos) break;
      wire.pause();
      input.remove_prefix(end + kPause.size());
      if (input.empty()) wire.vanish();
    }
    wire.stop_sending();
    std::string answer = wire.wait_for_end();
    require(shared_.upload_count == 0 && shared_.visitors.empty() && site_.visitor_count == 0);
    return answer;
  }

  int take_question_count() { return site_.question_count.exchange(0); }

 private:
  static ServerOptions options() {
    ServerOptions options;
    options.patience = std::chrono::hours(1);  // what only ends by a time limit is a hang
    return options;
  }

  FuzzSite site_;
  http::Shared shared_{site_, options()};
  boost::asio::executor_work_guard<boost::asio::io_context::executor_type> work_{shared_.io.get_executor()};
};

// Whether these bytes have in them what could be a name or number of this machine.
bool may_name_this_machine(std::string_view input) {
  std::string sent;
  for (std::size_t end; !input.empty(); input.remove_prefix(std::min(end + kPause.size(), input.size()))) {
    end = std::min(input.find(kPause), input.size());
    sent += input.substr(0, end);
  }
  std::transform(sent.begin(), sent.end(), sent.begin(),
                 [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; });
  return sent.find("localhost") != std::string::npos || sent.find("127.") != std::string::npos ||
         sent.find('[') != std::string::npos;
}

}  // namespace
}  // namespace stipple

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace stipple;
  static FuzzServer server;
  const std::string_view input(reinterpret_cast<const char*>(data), size);
  const std::string answer = server.answer_to(input);
  require(answer.empty() || answer.starts_with("HTTP/1.1 "));
  require(server.take_question_count() == 0 || may_name_this_machine(input));

  const std::string after =
      server.answer_to("GET /after HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n");
  require(after.starts_with("HTTP/1.1 200 OK\r\n") && after.ends_with("\r\n\r\nGET/after"));
  require(server.take_question_count() == 1);
  return 0;
}
