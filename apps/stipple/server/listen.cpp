// SPDX-License-Identifier: Apache-2.0
#include "apps/stipple/server/listen.h"

#include <fmt/format.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <unistd.h>

#include <array>
#include <boost/asio/ip/v6_only.hpp>
#include <cstring>
#include <memory>
#include <optional>
#include <vector>

#include "stipple/core/error.h"

namespace stipple::http {

using boost::asio::ip::tcp;
using boost::system::error_code;
namespace asio = boost::asio;

namespace {

constexpr int kPortsToTry = 100;

std::vector<asio::ip::address> addresses_of(asio::io_context& io, const std::string& name) {
  error_code error;
  std::vector<asio::ip::address> addresses;
  if (!name.empty())  // which the resolver takes as every address
    for (const auto& found : tcp::resolver(io).resolve(name, "", tcp::resolver::flags(), error))
      addresses.push_back(found.endpoint().address());
  if (addresses.empty())
    throw Error(
        fmt::format("cannot listen at '{}', which is not an address of this machine; use 127.0.0.1, or "
                    "0.0.0.0 for all its addresses",
                    name),
        {"address"});
  return addresses;
}

std::optional<tcp::acceptor> try_listen(asio::io_context& io, const tcp::endpoint& endpoint,
                                        error_code& error) {
  tcp::acceptor acceptor(io);
  acceptor.open(endpoint.protocol(), error);
  if (!error) acceptor.set_option(tcp::acceptor::reuse_address(true), error);
  if (!error && endpoint.address().is_v6())
    acceptor.set_option(asio::ip::v6_only(!endpoint.address().is_unspecified()), error);
  if (!error) acceptor.bind(endpoint, error);
  if (!error) acceptor.listen(tcp::acceptor::max_listen_connections, error);
  if (error) return std::nullopt;
  return acceptor;
}

std::string text_of(const tcp::endpoint& endpoint) {
  const std::string address = endpoint.address().to_string();
  return fmt::format("{}:{}", endpoint.address().is_v6() ? "[" + address + "]" : address, endpoint.port());
}

[[noreturn]] void fail(const tcp::endpoint& endpoint, const error_code& error) {
  const std::string where = text_of(endpoint);
  if (error == asio::error::address_in_use)
    throw Error(where + " is in use by another program; choose another port", {"port"});
  if (error == asio::error::access_denied)
    throw Error(where + " is for programs of root only; choose a port from 1024", {"port"});
  throw Error(fmt::format("cannot listen at {}: {}", where, error.message()), {"address"});
}

// The first address of this machine on a network; IPv4 if it has one, since it is easier to type.
std::optional<std::string> address_on_network() {
  ifaddrs* list = nullptr;
  if (getifaddrs(&list) != 0) return std::nullopt;
  const std::unique_ptr<ifaddrs, void (*)(ifaddrs*)> owner(list, freeifaddrs);
  std::optional<std::string> v6;
  for (const ifaddrs* i = list; i; i = i->ifa_next) {
    if (!i->ifa_addr || !(i->ifa_flags & IFF_UP) || (i->ifa_flags & IFF_LOOPBACK)) continue;
    if (i->ifa_addr->sa_family == AF_INET) {
      sockaddr_in address{};
      std::memcpy(&address, i->ifa_addr, sizeof address);
      return asio::ip::address_v4(ntohl(address.sin_addr.s_addr)).to_string();
    }
    if (i->ifa_addr->sa_family == AF_INET6 && !v6) {
      sockaddr_in6 address{};
      std::memcpy(&address, i->ifa_addr, sizeof address);
      asio::ip::address_v6::bytes_type bytes;
      std::memcpy(bytes.data(), &address.sin6_addr, bytes.size());
      const asio::ip::address_v6 number(bytes);
      if (!number.is_link_local()) v6 = "[" + number.to_string() + "]";  // a browser cannot open those
    }
  }
  return v6;
}

std::string name_on_network() {
  if (const auto address = address_on_network()) return *address;
  std::array<char, 256> name{};
  if (gethostname(name.data(), name.size() - 1) != 0 || name[0] == '\0') return "localhost";
  return name.data();
}

}  // namespace

tcp::acceptor listen(asio::io_context& io, const ServerOptions& options) {
  const std::vector<asio::ip::address> addresses = addresses_of(io, options.address);
  const bool may_change_port = !options.is_port_wanted && options.port != 0;
  for (int i = 0; i < (may_change_port ? kPortsToTry : 1) && options.port + i <= 65535; ++i) {
    bool is_taken = false;
    tcp::endpoint endpoint;
    error_code error;
    for (const asio::ip::address& address : addresses) {
      endpoint = tcp::endpoint(address, static_cast<std::uint16_t>(options.port + i));
      if (auto acceptor = try_listen(io, endpoint, error)) return std::move(*acceptor);
      is_taken = is_taken || error == asio::error::address_in_use;
    }
    if (!is_taken) fail(endpoint, error);
  }
  fail(tcp::endpoint(addresses.front(), options.port), asio::error::address_in_use);
}

std::string url_of(const tcp::endpoint& endpoint) {
  if (!endpoint.address().is_unspecified()) return fmt::format("http://{}/", text_of(endpoint));
  return fmt::format("http://{}:{}/", name_on_network(), endpoint.port());
}

}  // namespace stipple::http
