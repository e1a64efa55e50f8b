// SPDX-License-Identifier: Apache-2.0
// The maths as a shader: a Vulkan device evaluates every function of math/*.glsl on random inputs, and so
// does C++. Both results must lie in the interval that Vulkan's precision leaves (Bounded), which also says
// how much they may differ.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <bit>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <regex>
#include <set>

#include "stipple/backend/vulkan/runtime/shader.h"
#include "stipple/backend/vulkan/vulkan_backend.h"
#include "stipple/core/random.h"
#include "tests/helpers/backend_run.h"
#include "tests/helpers/bounded.h"
#include "tests/helpers/source_folder.h"

namespace stipple {
namespace {

constexpr std::uint32_t kWords[] =
#include "shaders/maths.inc"
    ;

enum class Distribution {
  kOrdinary,
  kLimits,               // each number is one of the limits of the ordinary ones
  kZeros,                // half of the numbers are 0
  kExtreme,              // a quarter of the numbers have magnitudes from 1e-30 to 1e30
  kDegenerateRotations,  // the length of a quaternion is near the limits of what is usable, or far beyond
  kNeedles,              // or discs
};
constexpr Distribution kDistributions[] = {Distribution::kOrdinary,
                                           Distribution::kLimits,
                                           Distribution::kZeros,
                                           Distribution::kExtreme,
                                           Distribution::kDegenerateRotations,
                                           Distribution::kNeedles};
constexpr std::size_t kCasesEach = 500;

// The inputs of one case. Each is drawn when it is first asked for, and can then be read again.
class Inputs {
 public:
  Inputs(std::uint64_t seed, Distribution distribution) : random_(seed), distribution_(distribution) {}

  const std::vector<std::uint32_t>& words() const { return words_; }
  void rewind() { next_ = 0; }

  float number(double low, double high) { return next_float(draw(low, high)); }
  int integer(int low, int high) {
    const auto drawn = random_.below(static_cast<std::uint64_t>(high - low + 1));
    return static_cast<int>(next_word(static_cast<std::uint32_t>(low + static_cast<int>(drawn))));
  }
  std::uint32_t word() { return next_word(static_cast<std::uint32_t>(random_.bits())); }

  Vec3f log_scale() {
    const auto odd = static_cast<int>(random_.below(3));  // the axis of a needle or of a disc
    const bool is_needle = random_.below(2);
    Vec3f v;
    for (int k = 0; k < 3; ++k)
      if (distribution_ == Distribution::kNeedles)
        v[k] = (k == odd) == is_needle ? number(-1, 1) : number(-14, -8);
      else
        v[k] = number(-4, 0);
    return v;
  }

  Vec4f rotation() {
    constexpr float kLengths[] = {0, 1e-25f, 1e-13f, 1e-12f, 1e-11f, 1e11f, 1e12f, 1e13f, 1e25f};
    const float length = kLengths[random_.below(std::size(kLengths))];
    Vec4f q;
    for (float* v : {&q.x, &q.y, &q.z, &q.w})
      *v = distribution_ == Distribution::kDegenerateRotations ? next_float(length * random_.uniform(-1, 1))
                                                               : number(-1, 1);
    return q;
  }

 private:
  std::uint32_t next_word(std::uint32_t drawn) {
    if (next_ == words_.size()) words_.push_back(drawn);
    return words_[next_++];
  }
  float next_float(float drawn) {
    return std::bit_cast<float>(next_word(std::bit_cast<std::uint32_t>(drawn)));
  }
  float draw(double low, double high) {
    const float ordinary = random_.uniform(static_cast<float>(low), static_cast<float>(high));
    if (distribution_ == Distribution::kLimits) return static_cast<float>(random_.below(2) ? low : high);
    if (distribution_ == Distribution::kZeros) return random_.below(2) ? 0 : ordinary;
    if (distribution_ == Distribution::kExtreme && random_.below(4) == 0)
      return std::copysign(std::pow(10.0f, random_.uniform(-30, 30)), ordinary);
    return ordinary;
  }

  Random random_;
  Distribution distribution_;
  std::vector<std::uint32_t> words_;
  std::size_t next_ = 0;
};

struct Result {
  const char* call;  // the expression inside GIVE()
  bool is_real;
  double low, high;  // the same for a number, and infinite for an interval of which nothing is known
};

// What every_function.glsl uses besides the maths; stream.glsl is the same for GLSL.
template <class real>
struct Stream {
  Inputs& inputs;
  std::vector<Result> results;
  const char* call = nullptr;

  explicit Stream(Inputs& from) : inputs(from) {}

  real take(double low, double high) { return real(inputs.number(low, high)); }
  int take_int(int low, int high) { return inputs.integer(low, high); }
  std::uint32_t take_uint() { return inputs.word(); }
  bool take_bool() { return inputs.integer(0, 1) != 0; }
  Vec2<real> take_vec2(double low, double high) {
    const real x = take(low, high);
    return {x, take(low, high)};
  }
  Vec3<real> take_vec3(double low, double high) {
    const Vec2<real> xy = take_vec2(low, high);
    return {xy.x, xy.y, take(low, high)};
  }
  Vec4<real> take_vec4(double low, double high) {
    const Vec3<real> xyz = take_vec3(low, high);
    return {xyz.x, xyz.y, xyz.z, take(low, high)};
  }
  Vec3<real> take_log_scale() {
    const Vec3f v = inputs.log_scale();
    return {real(v.x), real(v.y), real(v.z)};
  }
  Vec4<real> take_rotation() {
    const Vec4f q = inputs.rotation();
    return {real(q.x), real(q.y), real(q.z), real(q.w)};
  }

  void give(float v) { add(true, v, v); }
  void give(Bounded v) { add(true, v.low, v.high); }
  void give(Maybe v) { add(false, v.can_be_false ? 0 : 1, v.can_be_true ? 1 : 0); }
  void give(bool v) { add(false, v, v); }
  void give(int v) { give(static_cast<std::uint32_t>(v)); }
  void give(std::uint32_t v) { add(false, v, v); }

 private:
  void add(bool is_real, double low, double high) {
    constexpr double kInfinity = std::numeric_limits<double>::infinity();
    if (Bounded::has_guessed)
      results.push_back({call, is_real, -kInfinity, kInfinity});
    else
      results.push_back({call, is_real, low, high});
  }
};

#define GIVE(result) \
  call = #result;    \
  give(result);

struct FloatMaths : Math<float>, Stream<float> {
  using real = float;
  using Stream<real>::Stream;
  using Stream<real>::give;
#include "tests/shaders/every_function.glsl"
};

struct BoundedMaths : Math<Bounded>, Stream<Bounded> {
  using real = Bounded;
  using Stream<real>::Stream;
  using Stream<real>::give;
#include "tests/shaders/every_function.glsl"
};

#define NAME(number, functions) #functions,
constexpr const char* kSections[] = {SECTIONS(NAME)};
#undef NAME

struct Case {
  std::vector<std::uint32_t> inputs;
  std::vector<Result> results, bounds;
};

Case make_case(std::uint32_t section, std::uint64_t seed, Distribution distribution) {
  Inputs inputs(seed, distribution);
  Bounded::has_guessed = false;
  FloatMaths maths(inputs);
  maths.evaluate(section);
  inputs.rewind();
  BoundedMaths bounded(inputs);
  bounded.evaluate(section);
  Bounded::has_guessed = false;
  return {inputs.words(), maths.results, bounded.results};
}

std::vector<Case> make_cases(std::uint32_t section) {
  std::vector<Case> cases;
  for (const Distribution distribution : kDistributions)
    for (std::size_t i = 0; i < kCasesEach; ++i)
      cases.push_back(make_case(section, cases.size(), distribution));
  return cases;
}

// The results of all cases, one after the other, as the device computes them.
std::vector<std::uint32_t> evaluate_on_device(std::uint32_t section, const std::vector<Case>& cases) {
  vulkan::VulkanBackend backend({});
  backend.context().add_shader({"maths", kWords});
  std::vector<std::uint32_t> words;
  for (const Case& c : cases) words.insert(words.end(), c.inputs.begin(), c.inputs.end());
  DeviceArray<std::uint32_t> inputs, results;
  inputs.upload(backend, words);
  const std::size_t result_count = cases[0].results.size();
  results.resize(backend, cases.size() * result_count);
  const std::uint32_t parameters[] = {static_cast<std::uint32_t>(cases.size()),
                                      static_cast<std::uint32_t>(cases[0].inputs.size()),
                                      static_cast<std::uint32_t>(result_count)};
  vulkan::KernelRun(backend.context(), "maths")
      .constants({section})
      .bind(inputs)
      .bind(results)
      .run(parameters, vulkan::groups_for(cases.size(), 64));
  return results.download(backend);
}

double value_of(std::uint32_t word, bool is_real) {
  return is_real ? static_cast<double>(std::bit_cast<float>(word)) : static_cast<double>(word);
}

class VulkanMath : public testing::TestWithParam<std::uint32_t> {
 protected:
  void SetUp() override { STIPPLE_SKIP_UNUSABLE("vulkan"); }
};

TEST_P(VulkanMath, AgreesWithCpp) {
  const std::vector<Case> cases = make_cases(GetParam());
  const std::vector<std::uint32_t> words = evaluate_on_device(GetParam(), cases);
  ASSERT_EQ(words.size(), cases.size() * cases[0].results.size());
  auto word = words.begin();
  std::size_t wrong = 0;
  for (std::size_t i = 0; i < cases.size(); ++i) {
    ASSERT_EQ(cases[i].results.size(), cases[0].results.size());
    for (std::size_t k = 0; k < cases[i].results.size(); ++k, ++word) {
      const Result &ours = cases[i].results[k], &bounds = cases[i].bounds[k];
      const double theirs = value_of(*word, ours.is_real);
      const auto is_inside = [&](double v) { return bounds.low <= v && v <= bounds.high; };  // false for NaN
      if (std::isinf(bounds.low) || (is_inside(ours.low) && is_inside(theirs))) continue;
      if (++wrong <= 3)
        ADD_FAILURE() << fmt::format(
            "case {}, {}: C++ gives {:.9g}, the device {:.9g}; allowed are {:.9g} to {:.9g}", i, ours.call,
            ours.low, theirs, bounds.low, bounds.high);
    }
  }
  EXPECT_EQ(wrong, 0u);
}

// Bounds that are too wide would allow anything, so most of those of ordinary inputs must be narrow in
// relation to the largest number that the call returns. Vulkan's sine has an error of 1/2048.
TEST(VulkanMathBounds, OfOrdinaryInputsAreNarrow) {
  constexpr double kNarrow = 0.005, kLeast = 0.001, kShare = 0.9;
  struct Count {
    int all = 0, narrow = 0;
  };
  std::map<std::string, Count> count_of;
  for (std::uint32_t section = 0; section < std::size(kSections); ++section)
    for (std::size_t i = 0; i < kCasesEach; ++i) {
      const Case c = make_case(section, i, Distribution::kOrdinary);
      std::map<std::string, double> largest;
      for (const Result& r : c.results) largest[r.call] = std::max(largest[r.call], std::abs(r.low));
      for (const Result& r : c.bounds) {
        ++count_of[r.call].all;
        count_of[r.call].narrow += r.high - r.low <= kNarrow * std::max(largest[r.call], kLeast);
      }
    }
  // These take the bits of a sum, of which an interval knows nothing. TrainingStagesTest compares the words
  // of moments that each backend stores.
  for (const char* call : {"narrow_moments(p, random)", "with_narrow_moments(p.value, stored & 0xffffu)"})
    ASSERT_EQ(count_of.erase(call), 1u) << call;
  for (const auto& [call, count] : count_of) EXPECT_GE(count.narrow, kShare * count.all) << call;
}

std::string read_text(const std::filesystem::path& path) {
  std::ifstream file(path);
  EXPECT_TRUE(file) << path;
  return {std::istreambuf_iterator<char>(file), {}};
}

// A result tests the function that its call names first.
std::set<std::string> tested_functions() {
  std::set<std::string> names;
  for (std::uint32_t section = 0; section < std::size(kSections); ++section)
    for (const Result& r : make_case(section, 0, Distribution::kOrdinary).results)
      names.insert(std::string(r.call, std::strchr(r.call, '(')));
  return names;
}

TEST(VulkanMathCoverage, EveryFunctionIsTested) {
  const std::set<std::string> tested = tested_functions();
  const std::regex function(R"((?:^|\n)FN \w+ (\w+)\()");
  int count = 0;
  for (const auto& file : std::filesystem::directory_iterator(source_folder() / "src/stipple/math")) {
    if (file.path().extension() != ".glsl") continue;
    const std::string text = read_text(file.path());
    for (std::sregex_iterator found(text.begin(), text.end(), function), end; found != end; ++found, ++count)
      EXPECT_TRUE(tested.contains((*found)[1])) << (*found)[1] << "() of " << file.path().filename()
                                                << " has no GIVE() in tests/shaders/every_function.glsl";
  }
  EXPECT_GE(count, 80);  // the search above works
}

INSTANTIATE_TEST_SUITE_P(EveryFile, VulkanMath,
                         testing::Range(0u, static_cast<std::uint32_t>(std::size(kSections))),
                         [](const auto& p) { return kSections[p.param]; });

}  // namespace
}  // namespace stipple
