// SPDX-License-Identifier: Apache-2.0
#include "apps/stipple/server/http_session.h"

#include <array>
#include <boost/asio/post.hpp>
#include <boost/asio/write.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/core/tcp_stream.hpp>
#include <boost/beast/http/empty_body.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/read.hpp>
#include <boost/beast/http/rfc7230.hpp>
#include <boost/beast/http/string_body.hpp>
#include <boost/beast/websocket/rfc6455.hpp>
#include <memory>
#include <optional>
#include <utility>

#include "apps/stipple/server/access.h"
#include "apps/stipple/server/http_target.h"
#include "apps/stipple/server/shared.h"
#include "apps/stipple/server/visitor.h"

namespace stipple::http {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace bhttp = boost::beast::http;
using boost::system::error_code;
using namespace std::chrono_literals;

namespace {

constexpr std::uint32_t kMaxHeadBytes = 16 << 10;
constexpr std::uint64_t kMaxBodyBytes = 64 << 20;
constexpr std::size_t kMaxUploads = 4;
constexpr std::size_t kMaxReadAhead = 64 << 10;
// A body is sent in pieces, each of which must be taken within the patience of the server.
constexpr std::size_t kPieceBytes = 256 << 10;
constexpr int kPatienceForBody = 10;  // times that for a head

std::string_view view_of(beast::string_view text) { return {text.data(), text.size()}; }

bool accepts_gzip(beast::string_view accept_encoding) {
  for (const auto& [name, parameters] : bhttp::ext_list(accept_encoding)) {
    if (!beast::iequals(name, "gzip")) continue;
    for (const auto& [key, value] : parameters)
      if (beast::iequals(key, "q") && value.find_first_of("123456789") == beast::string_view::npos)
        return false;
    return true;
  }
  return false;
}

// The parser takes a body with another encoding for no body, and would go on to read it as the next request.
bool has_known_length(const bhttp::request<bhttp::string_body>& request) {
  const std::size_t count = request.count(bhttp::field::transfer_encoding);
  return count == 0 || (count == 1 && beast::iequals(request[bhttp::field::transfer_encoding], "chunked"));
}

class HttpSession : public std::enable_shared_from_this<HttpSession> {
 public:
  HttpSession(Shared& shared, asio::ip::tcp::socket socket)
      : shared_(shared), stream_(std::move(socket)), connection_(shared.connection_count) {}

  void read_head() {
    parser_.emplace();
    parser_->header_limit(kMaxHeadBytes);
    parser_->body_limit(kMaxBodyBytes);
    stream_.expires_after(shared_.patience);
    bhttp::async_read_header(
        stream_, buffer_, *parser_,
        [self = shared_from_this()](error_code error, std::size_t) { self->on_head(error); });
  }

 private:
  void on_head(error_code error) {
    if (error) return on_bad_request(error);
    const Request& request = parser_->get();
    if (request.method() != bhttp::verb::get && request.method() != bhttp::verb::head &&
        request.method() != bhttp::verb::post)
      return refuse(405, "This server takes GET, HEAD and POST only.");
    target_ = parse_target(view_of(request.target()));
    if (!target_) return refuse(400, "The address of the request is malformed.");
    if (request.count(bhttp::field::host) != 1) return refuse(400, "The request must have one Host header.");
    if (request.count(bhttp::field::origin) > 1)
      return refuse(400, "The request has several Origin headers.");
    if (!has_known_length(request))
      return refuse(400, "A body may be sent in chunks, but with no other encoding.");
    const std::string_view why = why_refused(asked(request), shared_.token);
    if (!why.empty()) return refuse(403, why);
    if (beast::websocket::is_upgrade(request)) return upgrade();
    if (parser_->is_done()) return ask_site();
    if (request.method() != bhttp::verb::post) return refuse(400, "Only a POST may have a body.");
    read_body();
  }

  // Some of these leave nothing to answer to.
  void on_bad_request(error_code error) {
    if (error == bhttp::error::header_limit) return refuse(431, "The headers of the request are too long.");
    if (error == bhttp::error::body_limit) return refuse(413, "The body of the request is too long.");
    if (error == bhttp::error::end_of_stream || error == bhttp::error::partial_message) return;
    if (error.category() == bhttp::make_error_code(bhttp::error::bad_method).category())
      return refuse(400, "The request is malformed: " + error.message() + ".");
  }

  using Request = bhttp::request<bhttp::string_body>;

  Asked asked(const Request& request) {
    token_ = query_parameter(target_->query, "token");
    Asked asked{.host = view_of(request[bhttp::field::host]),
                .origin = std::nullopt,
                .token = token_,
                .fetch_site = view_of(request["Sec-Fetch-Site"]),
                .fetch_mode = view_of(request["Sec-Fetch-Mode"])};
    if (const auto origin = request.find(bhttp::field::origin); origin != request.end())
      asked.origin = view_of(origin->value());
    return asked;
  }

  void upgrade() {
    if (target_->path != "/socket") return refuse(404, "There is no WebSocket at this address.");
    if (!parser_->is_done()) return refuse(400, "A request for a WebSocket has no body.");
    if (buffer_.size() > 0)
      return refuse(400, "A visitor may send messages only after the answer to its request.");
    if (shared_.is_closing || shared_.visitors.size() >= shared_.max_visitors)
      return refuse(503, "This server has as many visitors as it takes; try again later.");
    greet(shared_, std::move(stream_), std::move(connection_), parser_->release());
  }

  void read_body() {
    if (shared_.upload_count >= kMaxUploads) return refuse(503, "This server is busy; try again later.");
    upload_.emplace(shared_.upload_count);
    stream_.expires_after(kPatienceForBody * shared_.patience);
    if (!beast::iequals(parser_->get()[bhttp::field::expect], "100-continue")) return read_rest();
    static constexpr std::string_view kContinue = "HTTP/1.1 100 Continue\r\n\r\n";
    asio::async_write(stream_, asio::buffer(kContinue),
                      [self = shared_from_this()](error_code error, std::size_t) {
                        if (!error) self->read_rest();
                      });
  }

  void read_rest() {
    bhttp::async_read(stream_, buffer_, *parser_, [self = shared_from_this()](error_code error, std::size_t) {
      if (error) return self->on_bad_request(error);
      self->ask_site();
    });
  }

  // The workers own the session meanwhile, and give it back, since only the server's thread may destroy it.
  void ask_site() {
    Request request = parser_->release();
    options_ = {.keeps_alive = request.keep_alive(), .is_head_only = request.method() == bhttp::verb::head};
    const bool gzip = accepts_gzip(request[bhttp::field::accept_encoding]);
    const std::string known = request[bhttp::field::if_none_match].to_string();
    HttpRequest question{.method = request.method() == bhttp::verb::post ? "POST" : "GET",
                         .path = std::move(target_->path),
                         .query = std::move(target_->query),
                         .body = std::move(request.body())};
    asio::post(shared_.workers,
               [self = shared_from_this(), question = std::move(question), gzip, known]() mutable {
                 Shared& shared = self->shared_;
                 Answer answer = answer_of(shared, question, gzip);
                 if (answer.response.is_constant && known.find(shared.tag) != std::string::npos) {
                   answer.response.status = 304;
                   answer.response.body = nullptr;
                 }
                 question.body = {};
                 asio::post(shared.io, [self = std::move(self), answer = std::move(answer)]() mutable {
                   self->upload_.reset();
                   self->send(std::move(answer));
                 });
               });
  }

  static Answer answer_of(Shared& shared, const HttpRequest& question, bool gzip) {
    try {
      return shared.pages.make(shared.site.respond(question), gzip);
    } catch (const std::exception& error) {
      return error_answer(500, error.what());
    }
  }

  // The rest of the request has not been read, so the connection cannot be used again.
  void refuse(int status, std::string_view sentence) {
    options_ = {.keeps_alive = false, .is_head_only = parser_->get().method() == bhttp::verb::head};
    send(error_answer(status, sentence));
  }

  void send(Answer answer) {
    head_ = head_of(answer, options_, shared_.tag);
    body_ = options_.is_head_only ? nullptr : std::move(answer.response.body);
    sent_ = 0;
    send_piece(asio::buffer(head_));
  }

  void send_piece(asio::const_buffer head) {
    const std::size_t rest = body_ ? body_->size() - sent_ : 0, size = std::min(rest, kPieceBytes);
    const asio::const_buffer piece =
        rest > 0 ? asio::buffer(body_->data() + sent_, size) : asio::const_buffer();
    stream_.expires_after(shared_.patience);
    asio::async_write(stream_, std::array{head, piece},
                      [self = shared_from_this(), size](error_code error, std::size_t) {
                        if (error) return;
                        self->sent_ += size;
                        self->on_piece_sent();
                      });
  }

  void on_piece_sent() {
    if (body_ && sent_ < body_->size()) return send_piece({});
    body_ = nullptr;
    if (options_.keeps_alive) return read_head();
    // Closing at once could discard the answer, if there is more of the request to come.
    error_code ignored;
    stream_.socket().shutdown(asio::ip::tcp::socket::shutdown_send, ignored);
    stream_.expires_after(std::min<std::chrono::milliseconds>(shared_.patience, 2s));
    discard_rest();
  }

  void discard_rest() {
    buffer_.clear();
    stream_.async_read_some(buffer_.prepare(kMaxReadAhead),
                            [self = shared_from_this()](error_code error, std::size_t) {
                              if (!error) self->discard_rest();
                            });
  }

  Shared& shared_;
  beast::tcp_stream stream_;
  Slot connection_;
  beast::flat_buffer buffer_{kMaxReadAhead};
  std::optional<bhttp::request_parser<bhttp::string_body>> parser_;
  std::optional<HttpTarget> target_;
  std::string token_;
  std::optional<Slot> upload_;
  AnswerOptions options_;
  std::string head_;
  SharedBytes body_;
  std::size_t sent_ = 0;  // of the body
};

}  // namespace

void serve_http(Shared& shared, asio::ip::tcp::socket socket) {
  error_code ignored;
  socket.set_option(asio::ip::tcp::no_delay(true), ignored);
  std::make_shared<HttpSession>(shared, std::move(socket))->read_head();
}

}  // namespace stipple::http
