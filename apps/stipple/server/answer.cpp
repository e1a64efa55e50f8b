// SPDX-License-Identifier: Apache-2.0
#include "apps/stipple/server/answer.h"

#include <fmt/format.h>
#include <zlib.h>

#include <new>
#include <span>
#include <utility>

#include "apps/stipple/server/page_policy.h"

namespace stipple {

SharedBytes shared_bytes(std::string_view text) {
  const auto bytes = std::as_bytes(std::span(text));
  return std::make_shared<const std::vector<std::byte>>(bytes.begin(), bytes.end());
}

HttpResponse text_response(int status, std::string_view text) {
  HttpResponse response;
  response.status = status;
  response.body = shared_bytes(text);
  return response;
}

HttpResponse json_response(int status, std::string_view json) {
  HttpResponse response = text_response(status, json);
  response.content_type = "application/json";
  return response;
}

}  // namespace stipple

namespace stipple::http {

namespace {

const char* reason_of(int status) {
  switch (status) {
    case 200:
      return "OK";
    case 304:
      return "Not Modified";
    case 400:
      return "Bad Request";
    case 403:
      return "Forbidden";
    case 404:
      return "Not Found";
    case 405:
      return "Method Not Allowed";
    case 409:
      return "Conflict";
    case 413:
      return "Content Too Large";
    case 431:
      return "Request Header Fields Too Large";
    case 500:
      return "Internal Server Error";
    case 503:
      return "Service Unavailable";
    default:
      return status < 400 ? "OK" : "Error";
  }
}

SharedBytes compress(const std::vector<std::byte>& bytes) {
  constexpr int kGzipWindow = 15 + 16;  // 16: in the format of gzip
  z_stream stream{};
  if (deflateInit2(&stream, Z_DEFAULT_COMPRESSION, Z_DEFLATED, kGzipWindow, 8, Z_DEFAULT_STRATEGY) != Z_OK)
    throw std::bad_alloc();
  std::vector<std::byte> compressed(deflateBound(&stream, bytes.size()));
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<std::byte*>(bytes.data()));
  stream.avail_in = static_cast<uInt>(bytes.size());
  stream.next_out = reinterpret_cast<Bytef*>(compressed.data());
  stream.avail_out = static_cast<uInt>(compressed.size());
  deflate(&stream, Z_FINISH);  // cannot fail: there is room for the worst case
  compressed.resize(stream.total_out);
  deflateEnd(&stream);
  return std::make_shared<const std::vector<std::byte>>(std::move(compressed));
}

constexpr std::size_t kMaxPageBytes = std::size_t(1) << 30;  // what zlib takes at once

bool is_page(const HttpResponse& response) {
  return response.body && response.content_type.starts_with("text/html") &&
         response.body->size() < kMaxPageBytes;
}

}  // namespace

Answer error_answer(int status, std::string_view sentence) {
  return {.response = text_response(status, fmt::format("{}\n", sentence)), .policy = kNoPagePolicy};
}

std::string head_of(const Answer& answer, const AnswerOptions& options, const std::string& tag) {
  const HttpResponse& response = answer.response;
  std::string head = fmt::format(
      "HTTP/1.1 {} {}\r\n"
      "Content-Security-Policy: {}\r\n"
      "X-Content-Type-Options: nosniff\r\n"
      "X-Frame-Options: DENY\r\n"
      "Referrer-Policy: no-referrer\r\n"
      "Cross-Origin-Opener-Policy: same-origin\r\n"
      "Cross-Origin-Resource-Policy: same-origin\r\n"
      "Connection: {}\r\n",
      response.status, reason_of(response.status), answer.policy,
      options.keeps_alive ? "keep-alive" : "close");
  // The browser asks each time whether what it has kept is of this run: the next one at this address may show
  // something else.
  head += response.is_constant ? fmt::format("Cache-Control: private, no-cache\r\nETag: W/\"{}\"\r\n", tag)
                               : "Cache-Control: no-store\r\n";
  if (answer.response.content_type.starts_with("text/html")) head += "Vary: Accept-Encoding\r\n";
  if (answer.is_gzip) head += "Content-Encoding: gzip\r\n";
  if (response.status == 405) head += "Allow: GET, HEAD, POST\r\n";
  if (response.status != 304)
    head += fmt::format("Content-Type: {}\r\nContent-Length: {}\r\n", response.content_type,
                        response.body ? response.body->size() : 0);
  return head + "\r\n";
}

PageMaker::Page PageMaker::page_of(const HttpResponse& response, bool accepts_gzip) {
  const auto make = [&](Page page) {
    if (page.plain != response.body) page = {response.body, nullptr, policy_of_page(*response.body)};
    if (accepts_gzip && !page.compressed) page.compressed = compress(*response.body);
    return page;
  };
  if (!response.is_constant) return make({});
  const std::lock_guard lock(mutex_);
  return last_ = make(std::move(last_));
}

Answer PageMaker::make(HttpResponse response, bool accepts_gzip) {
  if (!is_page(response)) return {.response = std::move(response), .policy = kNoPagePolicy};
  Page page = page_of(response, accepts_gzip);
  if (accepts_gzip) response.body = page.compressed;
  return {.response = std::move(response), .policy = std::move(page.policy), .is_gzip = accepts_gzip};
}

}  // namespace stipple::http
