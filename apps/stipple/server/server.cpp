// SPDX-License-Identifier: Apache-2.0
#include "apps/stipple/server/server.h"

#include <pthread.h>
#include <signal.h>

#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <thread>

#include "apps/stipple/server/access.h"
#include "apps/stipple/server/http_session.h"
#include "apps/stipple/server/http_target.h"
#include "apps/stipple/server/listen.h"
#include "apps/stipple/server/shared.h"
#include "apps/stipple/server/visitor.h"

namespace stipple {

using boost::asio::ip::tcp;
using boost::system::error_code;
namespace asio = boost::asio;
using namespace std::chrono_literals;

namespace {

// A browser has up to six connections for requests, and a WebSocket.
constexpr std::size_t kConnectionsPerVisitor = 7;
constexpr auto kTimeForFarewell = 500ms;
constexpr auto kPauseAfterFailure = 200ms;

// While this exists, threads start with all signals blocked: these are for the program's own threads.
class SignalsBlocked {
 public:
  SignalsBlocked() {
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before_);
  }
  ~SignalsBlocked() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
  SignalsBlocked(const SignalsBlocked&) = delete;
  SignalsBlocked& operator=(const SignalsBlocked&) = delete;

 private:
  sigset_t before_;
};

}  // namespace

std::string HttpRequest::parameter(std::string_view name) const { return http::query_parameter(query, name); }

class Server::Impl {
 public:
  Impl(const ServerOptions& options, Site& site)
      : shared_(site, options),
        max_connections_(kConnectionsPerVisitor * (options.max_visitors + 1)),
        acceptor_(http::listen(shared_.io, options)),
        pause_(shared_.io) {
    const tcp::endpoint endpoint = acceptor_.local_endpoint();
    shared_.tag = http::random_token();
    if (!endpoint.address().is_loopback()) shared_.token = http::random_token();
    url_ = http::url_of(endpoint) + (shared_.token.empty() ? "" : "?token=" + shared_.token);
    accept();
    thread_ = std::thread([this] { run(); });
  }

  ~Impl() {
    // First wait for the calls of respond(), then end the thread that makes the other calls.
    shared_.workers.stop();
    shared_.workers.join();
    asio::post(shared_.io, [this] { shut_down(); });
    thread_.join();
  }

  std::string url() const { return url_; }

 private:
  // What a handler throws, such as that there is no memory, ends its connection alone.
  void run() {
    const auto work = asio::make_work_guard(shared_.io);
    while (!shared_.io.stopped()) {
      try {
        shared_.io.run();
      } catch (const std::exception&) {
      }
    }
  }

  void accept() {
    acceptor_.async_accept([this](error_code error, tcp::socket socket) {
      if (shared_.is_closing) return;
      if (error && error != asio::error::connection_aborted) return accept_later();
      accept();
      if (!error) serve(std::move(socket));
    });
  }

  // Without free file descriptors, accepting fails again at once.
  void accept_later() {
    pause_.expires_after(kPauseAfterFailure);
    pause_.async_wait([this](error_code error) {
      if (!error && !shared_.is_closing) accept();
    });
  }

  void serve(tcp::socket socket) {
    if (shared_.connection_count < max_connections_) return http::serve_http(shared_, std::move(socket));
    const http::Answer answer = http::error_answer(503, "This server has as many connections as it takes.");
    const auto& body = *answer.response.body;
    std::string text = head_of(answer, {.keeps_alive = false, .is_head_only = false}, shared_.tag);
    text.append(reinterpret_cast<const char*>(body.data()), body.size());
    error_code ignored;
    socket.non_blocking(true, ignored);
    socket.write_some(asio::buffer(text), ignored);
  }

  // Lets the visitors have what was sent to them before, but does not wait for those who do not read.
  void shut_down() {
    shared_.is_closing = true;
    error_code ignored;
    acceptor_.close(ignored);
    pause_.expires_after(kTimeForFarewell);
    pause_.async_wait([this](error_code) {
      while (!shared_.visitors.empty()) http::drop(**shared_.visitors.begin());  // which removes it
      shared_.io.stop();
    });
    const auto visitors = shared_.visitors;  // one whose WebSocket is not open yet is removed
    for (http::Visitor* visitor : visitors) http::see_off(*visitor);
    if (shared_.visitors.empty()) shared_.io.stop();
  }

  http::Shared shared_;
  const std::size_t max_connections_;
  tcp::acceptor acceptor_;
  asio::steady_timer pause_;
  std::string url_;
  std::thread thread_;
};

Server::Server(const ServerOptions& options, Site& site) {
  const SignalsBlocked blocked;
  impl_ = std::make_unique<Impl>(options, site);
}

Server::~Server() = default;

std::string Server::url() const { return impl_->url(); }

}  // namespace stipple
