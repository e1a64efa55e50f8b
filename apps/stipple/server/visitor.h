// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <boost/beast/core/tcp_stream.hpp>
#include <boost/beast/http/message.hpp>
#include <boost/beast/http/string_body.hpp>

#include "apps/stipple/server/shared.h"

namespace stipple::http {

// Answers a request for a WebSocket, and passes its messages to the site until it ends.
void greet(Shared& shared, boost::beast::tcp_stream stream, Slot connection,
           const boost::beast::http::request<boost::beast::http::string_body>& request);

// Ends the WebSocket: when what waits has been sent, or at once.
void see_off(Visitor& visitor);
void drop(Visitor& visitor);

}  // namespace stipple::http
