// SPDX-License-Identifier: Apache-2.0
#include "apps/stipple/server/tests/test_site.h"

#include <algorithm>
#include <stdexcept>

namespace stipple {

HttpResponse TestSite::respond(const HttpRequest& request) {
  if (request.path == "/throw") throw std::runtime_error("the site has failed");
  if (const auto found = responses.find(request.path); found != responses.end()) return found->second;
  return text_response(200, request.method + " " + request.path + " " + request.body);
}

void TestSite::opened(const std::shared_ptr<Connection>& visitor) {
  const std::lock_guard lock(mutex_);
  visitors_.push_back(visitor);
  changed_.notify_all();
}

void TestSite::received(const std::shared_ptr<Connection>& visitor, std::string_view text) {
  if (text == "throw") throw std::runtime_error("the site has failed");
  visitor->send_text("you said: " + std::string(text));
}

void TestSite::closed(const std::shared_ptr<Connection>& visitor) {
  const std::lock_guard lock(mutex_);
  std::erase(visitors_, visitor);
  ++gone_count_;
  changed_.notify_all();
}

void TestSite::wait_for_visitors(std::size_t count) {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return visitors_.size() == count; });
}

void TestSite::wait_for_gone(std::size_t count) {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return gone_count_ >= count; });
}

std::vector<std::shared_ptr<Connection>> TestSite::visitors() const {
  const std::lock_guard lock(mutex_);
  return visitors_;
}

std::shared_ptr<Connection> TestSite::visitor(std::size_t index) {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return visitors_.size() > index; });
  return visitors_[index];
}

TestServer::TestServer(ServerOptions options) {
  options.port = 0;
  server = std::make_unique<Server>(options, site);
  const std::string url = server->url();
  const std::size_t begin = std::string("http://").size(), end = url.find('/', begin);
  host = url.substr(begin, end - begin);
  token = url.substr(end + 1);
  port = static_cast<std::uint16_t>(std::stoul(host.substr(host.rfind(':') + 1)));
}

TestClient TestServer::connect(bool is_connected) const {
  TestClient client(port);
  if (is_connected) client.connect();
  return client;
}

std::string TestServer::request(const std::string& target, const std::string& headers,
                                const std::string& method) const {
  return method + " " + target + " HTTP/1.1\r\nHost: " + host + "\r\n" + headers + "\r\n";
}

TestAnswer TestServer::get(const std::string& target, const std::string& headers,
                           const std::string& method) const {
  TestClient client = connect();
  client.send(request(target, headers, method));
  return read_answer(client, method != "HEAD");
}

int TestServer::status_of(const std::string& bytes) const {
  TestClient client = connect();
  client.send(bytes);
  return read_answer(client).status;
}

std::string TestServer::upgrade(const std::string& headers, const std::string& target) const {
  return request(target,
                 "Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n"
                 "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n" +
                     headers);
}

TestClient TestServer::visit() const {
  TestClient client = connect();
  client.send(upgrade("", "/socket" + token));
  if (read_answer(client).status != 101) throw std::runtime_error("the server does not take a visitor");
  return client;
}

}  // namespace stipple
