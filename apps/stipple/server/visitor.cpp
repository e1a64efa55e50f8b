// SPDX-License-Identifier: Apache-2.0
#include "apps/stipple/server/visitor.h"

#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/websocket/stream.hpp>
#include <memory>
#include <utility>

#include "apps/stipple/server/outbox.h"

namespace stipple::http {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace websocket = boost::beast::websocket;
using boost::system::error_code;

namespace {

constexpr std::size_t kMaxMessageBytes = 64 << 10;

}  // namespace

// The WebSocket of one visitor. Lives in the thread of the server.
class Visitor : public std::enable_shared_from_this<Visitor> {
 public:
  Visitor(Shared& shared, beast::tcp_stream stream, Slot connection)
      : shared_(shared),
        connection_(std::move(connection)),
        socket_(std::move(stream)),
        farewell_(shared.io) {
    // Pings a visitor who has been silent for half of this time, and gives up at its end.
    socket_.set_option(websocket::stream_base::timeout{shared.patience, shared.patience, true});
    socket_.read_message_max(kMaxMessageBytes);
    socket_.auto_fragment(false);
    shared_.visitors.insert(this);
  }
  ~Visitor() { finish(); }
  Visitor(const Visitor&) = delete;
  Visitor& operator=(const Visitor&) = delete;

  void accept(const beast::http::request<beast::http::string_body>& request) {
    beast::get_lowest_layer(socket_).expires_never();  // the WebSocket has timeouts of its own
    socket_.async_accept(request, [self = shared_from_this()](error_code error) {
      if (error || self->is_gone_) return self->finish();
      self->open();
    });
  }

  void see_off() {
    if (!outbox_) return drop();
    outbox_->close();
  }

  void drop() {
    beast::get_lowest_layer(socket_).close();
    finish();
  }

 private:
  void open() {
    outbox_ = std::make_shared<Outbox>([&io = shared_.io, weak = weak_from_this()] {
      asio::post(io, [weak] {
        if (const auto self = weak.lock()) self->on_wake();
      });
    });
    if (call_site([&] { shared_.site.opened(outbox_); })) read();
  }

  // Whether the visitor may stay. A site that throws loses the visitor, and not the server.
  template <class Call>
  bool call_site(const Call& call) {
    try {
      call();
      return true;
    } catch (const std::exception&) {
      end(websocket::close_code::internal_error);
      return false;
    }
  }

  void read() {
    socket_.async_read(buffer_, [self = shared_from_this()](error_code error, std::size_t) {
      if (error) return self->drop();
      self->on_message();
    });
  }

  void on_message() {
    if (!socket_.got_text()) return end(websocket::close_code::unknown_data);
    const auto bytes = buffer_.cdata();
    const std::string_view text(static_cast<const char*>(bytes.data()), bytes.size());
    if (!call_site([&] { shared_.site.received(outbox_, text); })) return;
    buffer_.clear();
    read();
  }

  void on_wake() {
    if (outbox_->state() == Outbox::State::overflowing) return drop();
    if (!is_writing_ && !is_ending_) write();
  }

  void write() {
    const Message* message = outbox_->front();
    if (!message) {
      if (outbox_->state() == Outbox::State::ending) end(websocket::close_code::normal);
      return;
    }
    is_writing_ = true;
    socket_.text(std::holds_alternative<std::string>(*message));
    const std::span<const std::byte> bytes = bytes_of(*message);
    socket_.async_write(asio::buffer(bytes.data(), bytes.size()),
                        [self = shared_from_this()](error_code error, std::size_t) {
                          if (error) return self->drop();
                          self->is_writing_ = false;
                          self->outbox_->pop();
                          self->on_wake();
                        });
  }

  // Says why and closes, after the message that is being sent.
  void end(websocket::close_code code) {
    if (std::exchange(is_ending_, true)) return;
    // Beast's own timeout does not go together with a closing handshake that starts while a read is waiting.
    socket_.set_option(websocket::stream_base::timeout{websocket::stream_base::none(),
                                                       websocket::stream_base::none(), false});
    farewell_.expires_after(shared_.patience);
    farewell_.async_wait([weak = weak_from_this()](error_code error) {
      if (const auto self = weak.lock(); self && !error) self->drop();
    });
    socket_.async_close(code, [self = shared_from_this()](error_code) { self->drop(); });
  }

  // Forgets the visitor; its socket is closed, or will be with the last reference to this.
  void finish() {
    if (std::exchange(is_gone_, true)) return;
    shared_.visitors.erase(this);
    if (outbox_) {
      outbox_->shut();
      try {
        shared_.site.closed(outbox_);
      } catch (const std::exception&) {  // there is nobody left to tell
      }
    }
    if (shared_.is_closing && shared_.visitors.empty()) shared_.io.stop();
  }

  Shared& shared_;
  Slot connection_;
  websocket::stream<beast::tcp_stream, false> socket_;  // without compression: pictures are compressed
  beast::flat_buffer buffer_;
  asio::steady_timer farewell_;
  std::shared_ptr<Outbox> outbox_;  // once it is open
  bool is_writing_ = false, is_ending_ = false, is_gone_ = false;
};

void greet(Shared& shared, beast::tcp_stream stream, Slot connection,
           const beast::http::request<beast::http::string_body>& request) {
  std::make_shared<Visitor>(shared, std::move(stream), std::move(connection))->accept(request);
}

void see_off(Visitor& visitor) { visitor.see_off(); }

void drop(Visitor& visitor) { visitor.drop(); }

}  // namespace stipple::http
