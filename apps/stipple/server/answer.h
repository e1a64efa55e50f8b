// SPDX-License-Identifier: Apache-2.0
#pragma once
// What is sent back for a request: the response of the site, made ready for the browser.
#include <mutex>
#include <string>
#include <string_view>

#include "apps/stipple/server/server.h"

namespace stipple::http {

struct Answer {
  HttpResponse response;
  std::string policy;  // Content-Security-Policy
  bool is_gzip = false;
};

Answer error_answer(int status, std::string_view sentence);

// How the client wants it.
struct AnswerOptions {
  bool keeps_alive = true;
  bool is_head_only = false;  // HEAD
};

// The lines before the body. `tag` identifies this run of the server.
std::string head_of(const Answer& answer, const AnswerOptions& options, const std::string& tag);

// Pages get a policy, and are compressed if the browser accepts it. Remembers the last constant page, so that
// this is done once.
class PageMaker {
 public:
  Answer make(HttpResponse response, bool accepts_gzip);  // any thread

 private:
  struct Page {
    SharedBytes plain, compressed;
    std::string policy;
  };
  Page page_of(const HttpResponse& response, bool accepts_gzip);

  std::mutex mutex_;
  Page last_;
};

}  // namespace stipple::http
