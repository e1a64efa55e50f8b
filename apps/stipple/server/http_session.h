// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <boost/asio/ip/tcp.hpp>

namespace stipple::http {

struct Shared;

// Answers the requests of one connection, until it ends or becomes that of a visitor.
void serve_http(Shared& shared, boost::asio::ip::tcp::socket socket);

}  // namespace stipple::http
