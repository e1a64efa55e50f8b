// SPDX-License-Identifier: Apache-2.0
#pragma once
// XML files, which anyone may have written. Include this in .cpp files only.
#include <filesystem>
#include <optional>
#include <pugixml.hpp>
#include <vector>

namespace stipple {

// Reads a file of up to 1 GiB. Throws Error if it is not XML, or has so many elements and attributes that it
// would take far more memory than the file. Entities that the file defines are not expanded.
void load_xml(const std::filesystem::path& path, pugi::xml_document& to);

// The finite numbers in the text of an element, separated by white space; empty if there is anything else.
std::vector<double> numbers_of(pugi::xml_node node);
std::optional<double> number_of(pugi::xml_node node);  // exactly one

}  // namespace stipple
