// SPDX-License-Identifier: Apache-2.0
#pragma once
// A small HTTP and WebSocket server for the pages of this program. It knows nothing of models; what it serves
// is a Site. One thread of its own accepts connections, reads and writes, and never waits for a site.
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace stipple {

using SharedBytes = std::shared_ptr<const std::vector<std::byte>>;

// The WebSocket of one visitor. Any thread may call it, also after the visitor has gone.
class Connection {
 public:
  virtual ~Connection() = default;
  // Sends messages in order. A visitor who does not read them is disconnected when too many wait.
  virtual void send_text(std::string message) = 0;
  virtual void send_binary(SharedBytes message) = 0;
  // The number of messages that wait to be sent.
  virtual std::size_t waiting() const = 0;
  virtual void close() = 0;  // after what waits has been sent
};

struct HttpRequest {
  std::string method;  // GET or POST
  std::string path;    // decoded, without the query: "/photo/3"
  // The value of a parameter of the query, decoded; empty if there is none.
  std::string parameter(std::string_view name) const;
  std::string query;  // as it was sent
  std::string body;
};

struct HttpResponse {
  int status = 200;
  std::string content_type = "text/plain; charset=utf-8";
  SharedBytes body;          // may be null: no content
  bool is_constant = false;  // the browser may keep it for as long as the server runs
};

SharedBytes shared_bytes(std::string_view text);
HttpResponse text_response(int status, std::string_view text);
HttpResponse json_response(int status, std::string_view json);

// What a server serves.
class Site {
 public:
  virtual ~Site() = default;
  // Answers a request that has passed the checks of who may connect. Called by a few threads of the server at
  // once, and may take its time. Exceptions become an answer with status 500.
  virtual HttpResponse respond(const HttpRequest& request) = 0;
  // Called by the thread of the server, in this order for each visitor, and must return quickly.
  virtual void opened(const std::shared_ptr<Connection>& visitor) = 0;
  virtual void received(const std::shared_ptr<Connection>& visitor, std::string_view text) = 0;
  virtual void closed(const std::shared_ptr<Connection>& visitor) = 0;
};

struct ServerOptions {
  std::string address = "127.0.0.1";  // to listen at: a number, or a name of this machine
  // 0 means any free one. If `is_port_wanted` is false and the port is taken, the next free one is used.
  std::uint16_t port = 8080;
  bool is_port_wanted = false;
  std::size_t max_visitors = 64;
  // How long a connection may take for a request or a part of an answer, and a visitor may not show any life.
  std::chrono::milliseconds patience{30'000};
};

// Serves from construction to destruction. Throws Error if the address or the port cannot be used. An address
// that other machines can reach gets a random token.
class Server {
 public:
  Server(const ServerOptions& options, Site& site);
  ~Server();  // disconnects everyone
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;

  // To print: "http://127.0.0.1:8080/", with the token if there is one.
  std::string url() const;

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace stipple
