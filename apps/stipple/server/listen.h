// SPDX-License-Identifier: Apache-2.0
#pragma once
// Where a server listens.
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <string>

#include "apps/stipple/server/server.h"

namespace stipple::http {

// Throws Error, as Server does.
boost::asio::ip::tcp::acceptor listen(boost::asio::io_context& io, const ServerOptions& options);

// "http://127.0.0.1:8080/". If it listens at every address of the machine, one that other machines can use.
std::string url_of(const boost::asio::ip::tcp::endpoint& endpoint);

}  // namespace stipple::http
