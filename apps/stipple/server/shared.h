// SPDX-License-Identifier: Apache-2.0
#pragma once
// What the connections of a server share. Only the thread of the server uses it, except where it says
// otherwise.
#include <boost/asio/io_context.hpp>
#include <boost/asio/thread_pool.hpp>
#include <chrono>
#include <cstddef>
#include <string>
#include <unordered_set>

#include "apps/stipple/server/answer.h"
#include "apps/stipple/server/server.h"

namespace stipple::http {

class Visitor;

struct Shared {
  Shared(Site& its_site, const ServerOptions& options)
      : site(its_site), patience(options.patience), max_visitors(options.max_visitors) {}

  Site& site;
  const std::chrono::milliseconds patience;
  const std::size_t max_visitors;
  std::string token;  // empty if there is none
  std::string tag;    // of this run
  PageMaker pages;    // any thread
  std::size_t connection_count = 0;
  std::size_t upload_count = 0;  // requests whose body is in memory
  std::unordered_set<Visitor*> visitors;
  bool is_closing = false;
  // Last, since what is still waiting in them when they are destroyed refers to the rest.
  boost::asio::io_context io{1};        // any thread may post
  boost::asio::thread_pool workers{4};  // any thread may post; they call the site
};

// One of a limited number of things, from construction to destruction.
class Slot {
 public:
  explicit Slot(std::size_t& count) : count_(&count) { ++count; }
  Slot(Slot&& other) noexcept : count_(other.count_) { other.count_ = nullptr; }
  Slot& operator=(Slot&&) = delete;
  ~Slot() {
    if (count_) --*count_;
  }

 private:
  std::size_t* count_;
};

}  // namespace stipple::http
