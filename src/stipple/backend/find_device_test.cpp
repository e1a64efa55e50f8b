// SPDX-License-Identifier: Apache-2.0
#include "stipple/backend/find_device.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "stipple/core/error.h"

namespace stipple {
namespace {

const std::vector<std::string> kNames = {"AMD Radeon RX 7900 XTX (RADV NAVI31)",
                                         "Intel(R) Arc(tm) A770",
                                         "NVIDIA A100",
                                         "NVIDIA A100-SXM4",
                                         "NVIDIA H200",
                                         "NVIDIA H200",
                                         "llvmpipe (LLVM 15.0.6, 256 bits)"};
constexpr std::string_view kList =
    "0: AMD Radeon RX 7900 XTX (RADV NAVI31), 1: Intel(R) Arc(tm) A770, 2: NVIDIA A100, 3: NVIDIA A100-SXM4, "
    "4: NVIDIA H200, 5: NVIDIA H200, 6: llvmpipe (LLVM 15.0.6, 256 bits)";

std::size_t found(std::string_view wanted) { return find_device("vulkan", kNames, wanted); }

std::string error_of(std::string_view wanted) {
  try {
    found(wanted);
  } catch (const Error& e) {
    return e.what();
  }
  return "";
}

TEST(FindDevice, ANumberCountsFromZero) {
  EXPECT_EQ(found("0"), 0u);
  EXPECT_EQ(found("6"), 6u);
}

TEST(FindDevice, APartOfTheNameInUpperOrLowerCaseIsEnough) {
  EXPECT_EQ(found("radeon"), 0u);
  EXPECT_EQ(found("ARC(TM)"), 1u);
  EXPECT_EQ(found("rx 7900"), 0u);
  EXPECT_EQ(found("llvmpipe"), 6u);
}

TEST(FindDevice, AWholeNameIsNotAmbiguousWithLongerOnes) { EXPECT_EQ(found("nvidia a100"), 2u); }

// An error, up to the list of the devices.
std::string error_before_list(std::string_view wanted) {
  const std::string error = error_of(wanted);
  EXPECT_TRUE(error.ends_with(kList)) << error;
  return error.substr(0, error.size() - std::min(error.size(), kList.size()));
}

TEST(FindDevice, DigitsAreAlwaysANumber) {
  EXPECT_EQ(error_before_list("7900"), "there is no vulkan device 7900; available are ");
}

TEST(FindDevice, ErrorsListTheDevices) {
  EXPECT_EQ(error_before_list("7"), "there is no vulkan device 7; available are ");
  EXPECT_EQ(error_before_list("99999999999999999999"),
            "there is no vulkan device 99999999999999999999; available are ");
  EXPECT_EQ(error_before_list("-1"), "there is no vulkan device with '-1' in its name; available are ");
  EXPECT_EQ(error_before_list("geforce"),
            "there is no vulkan device with 'geforce' in its name; available are ");
  EXPECT_EQ(error_before_list("nvidia"),
            "there are 4 vulkan devices with 'nvidia' in their names; choose by number from ");
  EXPECT_EQ(error_before_list("NVIDIA H200"),
            "there are 2 vulkan devices with 'NVIDIA H200' in their names; choose by number from ");
  EXPECT_EQ(error_before_list(""),
            "the device must be a number or a part of a name; the vulkan devices are ");
}

}  // namespace
}  // namespace stipple
