// SPDX-License-Identifier: Apache-2.0
#include "apps/stipple/server/tests/test_client.h"

#include <arpa/inet.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstdlib>
#include <stdexcept>
#include <utility>

namespace stipple {

TestClient::TestClient(std::uint16_t port) : port_(port), socket_(::socket(AF_INET, SOCK_STREAM, 0)) {}

void TestClient::connect() {
  sockaddr_in to{};
  to.sin_family = AF_INET;
  to.sin_port = htons(port_);
  to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  if (::connect(socket_, reinterpret_cast<const sockaddr*>(&to), sizeof to) != 0)
    throw std::runtime_error("cannot connect");
}

TestClient::TestClient(TestClient&& other) noexcept
    : port_(other.port_), socket_(std::exchange(other.socket_, -1)), buffer_(std::move(other.buffer_)) {}

TestClient::~TestClient() {
  if (socket_ >= 0) close(socket_);
}

bool TestClient::send(std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t count = ::send(socket_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (count <= 0) return false;
    bytes.remove_prefix(static_cast<std::size_t>(count));
  }
  return true;
}

void TestClient::stop_sending() { shutdown(socket_, SHUT_WR); }

bool TestClient::receive() {
  char piece[65536];
  const ssize_t count = recv(socket_, piece, sizeof piece, 0);
  if (count <= 0) return false;
  buffer_.append(piece, static_cast<std::size_t>(count));
  return true;
}

std::string TestClient::read_until(std::string_view end) {
  std::size_t at;
  while ((at = buffer_.find(end)) == std::string::npos)
    if (!receive()) return std::exchange(buffer_, {});
  return read(at + end.size());
}

std::string TestClient::read(std::size_t count) {
  while (buffer_.size() < count)
    if (!receive()) return std::exchange(buffer_, {});
  std::string bytes = buffer_.substr(0, count);
  buffer_.erase(0, count);
  return bytes;
}

std::string TestClient::read_all() {
  while (receive()) {
  }
  return std::exchange(buffer_, {});
}

std::string TestAnswer::header(const std::string& name) const {
  const std::size_t at = head.find("\r\n" + name + ": ");
  if (at == std::string::npos) return {};
  const std::size_t begin = at + name.size() + 4;
  return head.substr(begin, head.find("\r\n", begin) - begin);
}

TestAnswer read_answer(TestClient& client, bool has_body) {
  TestAnswer answer;
  answer.head = client.read_until("\r\n\r\n");
  if (answer.head.starts_with("HTTP/1.1 ")) answer.status = std::atoi(answer.head.c_str() + 9);
  const std::string length = answer.header("Content-Length");
  if (has_body && !length.empty()) answer.body = client.read(std::stoul(length));
  return answer;
}

std::string repeated(std::string_view text, std::size_t count) {
  std::string all;
  for (std::size_t i = 0; i < count; ++i) all += text;
  return all;
}

std::string frame(std::uint8_t first, std::string_view payload) {
  std::string bytes(1, static_cast<char>(first));
  const std::size_t size = payload.size();
  const int length_bytes = size < 126 ? 0 : size < 65536 ? 2 : 8;
  bytes += static_cast<char>(0x80 | (length_bytes == 0 ? size : length_bytes == 2 ? 126 : 127));
  for (int i = length_bytes - 1; i >= 0; --i) bytes += static_cast<char>(size >> (8 * i));
  constexpr std::string_view kMask = "\x12\x34\x56\x78";
  bytes += kMask;
  for (std::size_t i = 0; i < size; ++i) bytes += static_cast<char>(payload[i] ^ kMask[i % 4]);
  return bytes;
}

TestFrame read_frame(TestClient& client) {
  const std::string start = client.read(2);
  if (start.size() < 2) return {};
  std::size_t size = start[1] & 0x7f;
  if (size >= 126) {
    const std::string length = client.read(size == 126 ? 2 : 8);
    size = 0;
    for (const char byte : length) size = size << 8 | static_cast<unsigned char>(byte);
  }
  return {static_cast<unsigned char>(start[0]), client.read(size)};
}

}  // namespace stipple
