// SPDX-License-Identifier: Apache-2.0
#include "stipple/options/option_text.h"

#include <fmt/format.h>

#include <array>
#include <cmath>
#include <limits>

#include "stipple/io/text.h"

namespace stipple {

namespace {

constexpr const char* kAuto = "auto";
constexpr std::array<const char*, 2> kStrategies = {"adc", "mcmc"};
constexpr std::array<const char*, 2> kGuardUses = {"auto", "off"};
constexpr std::array<const char*, 2> kOffloads = {"auto", "off"};
constexpr std::array<const char*, 5> kAlphaUses = {"auto", "object", "weight", "white", "black"};
constexpr std::array<const char*, 2> kSpzFrames = {"rub", "rdf"};

template <class Enum, std::size_t kCount>
std::optional<std::string> parse_name(const std::string& text, const std::array<const char*, kCount>& names,
                                      Enum& value) {
  std::string list;
  for (std::size_t i = 0; i < kCount; ++i) {
    if (text == names[i]) {
      value = static_cast<Enum>(i);
      return {};
    }
    list += fmt::format("{}{}", i == 0 ? "" : i + 1 < kCount ? ", " : " or ", names[i]);
  }
  return fmt::format("must be {}, not '{}'", list, text);
}

// No option takes a negative number.
template <class T>
std::optional<std::string> parse_not_negative(const std::string& text, T& value) {
  T parsed{};
  if (!parse_number(text, parsed) || !(parsed >= 0) || !std::isfinite(parsed))
    return fmt::format("must be a number that is not negative, not '{}'", text);
  value = parsed;
  return {};
}

// Up to 2^63 - 1, which every JSON reader accepts.
template <class T>
std::optional<std::string> parse_count(const std::string& text, T& value) {
  std::int64_t parsed = 0;
  if (!parse_whole(text, parsed) || parsed < 0 ||
      static_cast<std::uint64_t>(parsed) > static_cast<std::uint64_t>(std::numeric_limits<T>::max()))
    return fmt::format("must be a whole number that is not negative, not '{}'", text);
  value = static_cast<T>(parsed);
  return {};
}

}  // namespace

std::string to_text(Strategy strategy) { return kStrategies[static_cast<std::size_t>(strategy)]; }
std::string to_text(GuardUse use) { return kGuardUses[static_cast<std::size_t>(use)]; }
std::string to_text(Offload use) { return kOffloads[static_cast<std::size_t>(use)]; }
std::string to_text(AlphaUse use) { return kAlphaUses[static_cast<std::size_t>(use)]; }
std::string to_text(SpzFrame frame) { return kSpzFrames[static_cast<std::size_t>(frame)]; }
std::string to_text(Vec3f c) { return fmt::format("{},{},{}", c.x, c.y, c.z); }
std::string to_text(const std::filesystem::path& path) { return path.string(); }
std::string to_text(const std::string& text) { return text; }
std::string to_text(bool value) { return value ? "true" : "false"; }
std::string to_text(double value) { return fmt::format("{}", value); }
std::string to_text(float value) { return fmt::format("{}", value); }
std::string to_text(std::optional<float> value) { return value ? to_text(*value) : kAuto; }
std::string to_text(std::int64_t value) { return fmt::format("{}", value); }
std::string to_text(int value) { return fmt::format("{}", value); }
std::string to_text(std::uint64_t value) { return fmt::format("{}", value); }

std::span<const char* const> choices_of(Strategy) { return kStrategies; }
std::span<const char* const> choices_of(GuardUse) { return kGuardUses; }
std::span<const char* const> choices_of(Offload) { return kOffloads; }
std::span<const char* const> choices_of(AlphaUse) { return kAlphaUses; }
std::span<const char* const> choices_of(SpzFrame) { return kSpzFrames; }

std::optional<std::string> parse_option(const std::string& text, Strategy& value) {
  return parse_name(text, kStrategies, value);
}
std::optional<std::string> parse_option(const std::string& text, GuardUse& value) {
  return parse_name(text, kGuardUses, value);
}
std::optional<std::string> parse_option(const std::string& text, Offload& value) {
  return parse_name(text, kOffloads, value);
}
std::optional<std::string> parse_option(const std::string& text, SpzFrame& value) {
  return parse_name(text, kSpzFrames, value);
}
std::optional<std::string> parse_option(const std::string& text, AlphaUse& value) {
  return parse_name(text, kAlphaUses, value);
}
std::optional<std::string> parse_option(const std::string& text, Vec3f& value) {
  Vec3f color(0, 0, 0);
  std::string_view rest = text;
  for (int c = 0; c < 3; ++c) {
    const std::size_t comma = rest.find(',');
    const bool is_last = c == 2;
    if ((comma == rest.npos) != is_last || !parse_number(rest.substr(0, comma), color[c]) ||
        !std::isfinite(color[c]))
      return fmt::format("must be red,green,blue, such as 1,0.5,0, not '{}'", text);
    rest.remove_prefix(is_last ? rest.size() : comma + 1);
  }
  value = color;
  return {};
}
std::optional<std::string> parse_option(const std::string& text, std::filesystem::path& value) {
  value = text;
  return {};
}
std::optional<std::string> parse_option(const std::string& text, std::string& value) {
  value = text;
  return {};
}
std::optional<std::string> parse_option(const std::string& text, bool& value) {
  if (text != "true" && text != "false") return fmt::format("must be true or false, not '{}'", text);
  value = text == "true";
  return {};
}
std::optional<std::string> parse_option(const std::string& text, double& value) {
  return parse_not_negative(text, value);
}
std::optional<std::string> parse_option(const std::string& text, float& value) {
  return parse_not_negative(text, value);
}
std::optional<std::string> parse_option(const std::string& text, std::optional<float>& value) {
  float parsed = 0;
  if (text != kAuto && parse_not_negative(text, parsed))
    return fmt::format("must be auto or a number that is not negative, not '{}'", text);
  value = text == kAuto ? std::nullopt : std::optional(parsed);
  return {};
}
std::optional<std::string> parse_option(const std::string& text, int& value) {
  return parse_count(text, value);
}
std::optional<std::string> parse_option(const std::string& text, std::uint64_t& value) {
  return parse_count(text, value);
}

}  // namespace stipple
