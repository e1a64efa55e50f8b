// SPDX-License-Identifier: Apache-2.0
#include "apps/stipple/convert/format_flags.h"

#include "apps/stipple/options/option_flags.h"
#include "apps/stipple/options/whole_number.h"

namespace stipple {

namespace {

constexpr const char* kAntialiased = "antialiased";
constexpr const char* kGroup = "Formats";

SpzFrame spz_frame_of(const std::string& name) { return name == "rdf" ? SpzFrame::kRdf : SpzFrame::kRub; }

}  // namespace

bool FormatFlags::gives_antialiased() const { return given.contains(kAntialiased); }

void add_format_flags(CLI::App& command, FormatFlags& f) {
  add_option_flag(command, kAntialiased, kGroup, f.save.antialiased,
                  "note in the file, if its format has a place for it, that the model was trained for "
                  "antialiased rendering; by default, if the input says so",
                  f.given);
  command
      .add_option("--spz-version", f.save.spz_version,
                  "version of an .spz; 4 compresses with Zstandard, and few programs read it")
      ->check(whole_number(2, 4))
      ->capture_default_str()
      ->group(kGroup);
  const CLI::IsMember frames({"rub", "rdf"});
  command
      .add_option("--spz-frame", f.spz_frame,
                  "frame of an .spz: rub, as the format says, or rdf, for programs that take its numbers as "
                  "they are")
      ->check(frames)
      ->capture_default_str()
      ->group(kGroup);
  command
      .add_option("--from-spz-frame", f.from_spz_frame,
                  "frame of .spz inputs that do not say it: rub, the default, or rdf if the model is upside "
                  "down otherwise")
      ->check(frames)
      ->group(kGroup);
}

LoadModelOptions load_options(const FormatFlags& f) {
  LoadModelOptions options;
  options.spz_frame = spz_frame_of(f.from_spz_frame);
  return options;
}

SaveModelOptions save_options(const FormatFlags& f, bool antialiased) {
  SaveModelOptions options = f.save;
  options.antialiased = antialiased;
  apply_flag(f.given, kAntialiased, options.antialiased);
  options.spz_frame = spz_frame_of(f.spz_frame);
  return options;
}

}  // namespace stipple
