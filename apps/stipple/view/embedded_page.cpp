// SPDX-License-Identifier: Apache-2.0
#include "apps/stipple/view/embedded_page.h"

#include <fmt/format.h>

#include <cassert>
#include <cstddef>
#include <span>
#include <string>

#include "apps/stipple/server/page_policy.h"
#include "stipple/core/byte_text.h"
#include "stipple/io/base64.h"

namespace stipple {

namespace {

// In viewer/index.html, once each before the script.
constexpr std::string_view kTitle = "<title>Stipple</title>", kScript = "<script type=\"module\">";
// Starts before all of the page is there, so that visitors see how much of the model has come.
constexpr std::string_view kEarlyScript = "<script type=\"module\" async>";
constexpr std::string_view kEnd = "</body>";

// A multiple of three, so that only the last part is padded. The page decodes one part after the other: as
// one string, a large model would be longer than browsers allow, and take memory several times.
constexpr std::size_t kPartBytes = std::size_t{3} << 20;

std::string replaced(std::string_view text, char character, std::string_view by) {
  std::string result;
  for (const char c : text) {
    if (c == character)
      result += by;
    else
      result += c;
  }
  return result;
}

std::string html_text(std::string_view text) { return replaced(replaced(text, '&', "&amp;"), '<', "&lt;"); }

// In JSON, this character can only be in a string.
std::string json_in_html(std::string_view json) { return replaced(json, '<', "\\u003c"); }

}  // namespace

bool draws_models(std::string_view page) { return page.find("data-page=\"full\"") != page.npos; }

std::uint64_t bytes_with_model(std::string_view page, std::uint64_t model_bytes) {
  return page.size() + (model_bytes + 2) / 3 * 4;  // and a few kB
}

void write_embedded_page(std::string_view page, const Hello& hello, const ServedModel& model,
                         const ByteSink& sink) {
  assert(draws_models(page) && hello.models.size() == 1);
  const auto put = [&](std::string_view text) { sink(std::as_bytes(std::span(text))); };
  const std::string policy = http::policy_of_file(std::as_bytes(std::span(page)));
  const auto put_until = [&](std::string_view mark) {
    const std::size_t at = page.find(mark);
    assert(at != page.npos);
    put(page.substr(0, at));
    page.remove_prefix(at + mark.size());
  };
  put_until(kTitle);
  put(fmt::format("<meta http-equiv=\"Content-Security-Policy\" content=\"{}\">\n<title>{}</title>", policy,
                  html_text(utf8_from_bytes(hello.title))));
  put_until(kScript);
  put(fmt::format("<script type=\"application/json\" id=\"stipple-hello\">{}</script>\n{}",
                  json_in_html(hello_text(hello)), kEarlyScript));
  const std::size_t end = page.rfind(kEnd);
  assert(end != page.npos);
  put(page.substr(0, end));
  model.read(kPartBytes, [&](std::span<const std::byte> part) {
    put("<script type=\"text/plain\" class=\"stipple-model-0\">");
    put(encode_base64(part));
    put("</script>\n");
  });
  put(page.substr(end));
}

}  // namespace stipple
