// SPDX-License-Identifier: Apache-2.0
#pragma once
// Option values as text and back, for flags, keyword arguments, options.json and errors.
#include <concepts>
#include <filesystem>
#include <optional>
#include <span>
#include <string>

#include "stipple/model/model_file.h"
#include "stipple/scene/scene.h"
#include "stipple/train/train_options.h"

namespace stipple {

// to_text() and parse_option() are inverses. parse_option() returns the problem, worded to follow the
// option's name ("must be true or false, not 'maybe'"), or nothing if the text is valid.
std::string to_text(Strategy strategy);
std::string to_text(GuardUse use);
std::string to_text(Offload use);
std::string to_text(AlphaUse use);
std::string to_text(SpzFrame frame);
std::string to_text(Vec3f color);
std::string to_text(const std::filesystem::path& path);
std::string to_text(const std::string& text);
std::string to_text(bool value);
std::string to_text(double value);
std::string to_text(float value);
std::string to_text(std::optional<float> value);  // "auto" if empty
std::string to_text(std::int64_t value);
std::string to_text(int value);
std::string to_text(std::uint64_t value);

// Every text that parse_option() accepts for a value of this type.
std::span<const char* const> choices_of(Strategy);
std::span<const char* const> choices_of(GuardUse);
std::span<const char* const> choices_of(Offload);
std::span<const char* const> choices_of(AlphaUse);
std::span<const char* const> choices_of(SpzFrame);

std::optional<std::string> parse_option(const std::string& text, Strategy& value);
std::optional<std::string> parse_option(const std::string& text, GuardUse& value);
std::optional<std::string> parse_option(const std::string& text, Offload& value);
std::optional<std::string> parse_option(const std::string& text, AlphaUse& value);
std::optional<std::string> parse_option(const std::string& text, SpzFrame& value);
std::optional<std::string> parse_option(const std::string& text, Vec3f& value);
std::optional<std::string> parse_option(const std::string& text, std::filesystem::path& value);
std::optional<std::string> parse_option(const std::string& text, std::string& value);
std::optional<std::string> parse_option(const std::string& text, bool& value);
std::optional<std::string> parse_option(const std::string& text, double& value);
std::optional<std::string> parse_option(const std::string& text, float& value);
std::optional<std::string> parse_option(const std::string& text, std::optional<float>& value);
std::optional<std::string> parse_option(const std::string& text, int& value);
std::optional<std::string> parse_option(const std::string& text, std::uint64_t& value);

}  // namespace stipple
