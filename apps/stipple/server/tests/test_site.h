// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <atomic>
#include <condition_variable>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "apps/stipple/server/server.h"
#include "apps/stipple/server/tests/test_client.h"

namespace stipple {

// Answers a request with what it was, and a message with what was said.
class TestSite final : public Site {
 public:
  HttpResponse respond(const HttpRequest& request) override;
  void opened(const std::shared_ptr<Connection>& visitor) override;
  void received(const std::shared_ptr<Connection>& visitor, std::string_view text) override;
  void closed(const std::shared_ptr<Connection>& visitor) override;

  // Wait until so many visitors are here, or have gone.
  void wait_for_visitors(std::size_t count);
  void wait_for_gone(std::size_t count);
  std::vector<std::shared_ptr<Connection>> visitors() const;
  std::shared_ptr<Connection> visitor(std::size_t index);  // waits for it

  std::map<std::string, HttpResponse> responses;  // by path; set before the server starts

 private:
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<std::shared_ptr<Connection>> visitors_;
  std::size_t gone_count_ = 0;
};

// A server at a free port.
class TestServer {
 public:
  explicit TestServer(ServerOptions options = {});

  TestSite site;
  std::unique_ptr<Server> server;
  std::uint16_t port = 0;
  std::string host;   // "127.0.0.1:8080"
  std::string token;  // "", or "?token=..."

  TestClient connect(bool is_connected = true) const;
  // The request of a browser on this machine, with more headers, each ending with "\r\n".
  std::string request(const std::string& target, const std::string& headers = "",
                      const std::string& method = "GET") const;
  TestAnswer get(const std::string& target, const std::string& headers = "",
                 const std::string& method = "GET") const;
  // Sends the bytes, and returns the status of the answer.
  int status_of(const std::string& bytes) const;
  std::string upgrade(const std::string& headers = "", const std::string& target = "/socket") const;
  TestClient visit() const;  // a WebSocket that has been opened
};

}  // namespace stipple
