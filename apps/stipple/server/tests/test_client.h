// SPDX-License-Identifier: Apache-2.0
#pragma once
// A client of raw sockets, which can send what no well-behaved program would.
#include <cstdint>
#include <string>
#include <string_view>

namespace stipple {

class TestClient {
 public:
  explicit TestClient(std::uint16_t port);  // on this machine
  ~TestClient();
  TestClient(TestClient&& other) noexcept;
  TestClient& operator=(TestClient&&) = delete;

  void connect();  // must be the first call
  // False if the server has closed the connection.
  bool send(std::string_view bytes);
  void stop_sending();  // half-closes
  // What comes up to and including `end`, or before the connection ends.
  std::string read_until(std::string_view end);
  std::string read(std::size_t count);
  std::string read_all();

 private:
  bool receive();

  std::uint16_t port_;
  int socket_;
  std::string buffer_;  // received, but not read
};

struct TestAnswer {
  int status = 0;  // 0: none
  std::string head, body;
  // The value of a header; empty if there is none.
  std::string header(const std::string& name) const;
};

TestAnswer read_answer(TestClient& client, bool has_body = true);

std::string repeated(std::string_view text, std::size_t count);

// A frame as a browser sends it: masked, final. `first` is its first byte: 0x81 for text.
std::string frame(std::uint8_t first, std::string_view payload);
constexpr std::uint8_t kText = 0x81, kBinary = 0x82, kClose = 0x88, kPing = 0x89, kPong = 0x8a;

struct TestFrame {
  int first = -1;  // -1: the connection has ended
  std::string payload;
};
TestFrame read_frame(TestClient& client);

}  // namespace stipple
