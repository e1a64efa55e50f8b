// SPDX-License-Identifier: Apache-2.0
// Reads options.json, log.jsonl or metrics.json of a run, chosen by the first byte; the run has no other
// file.
#include "apps/stipple/run/options_json.h"
#include "apps/stipple/run/run_folder.h"
#include "apps/stipple/run/run_writer.h"
#include "fuzz/fuzz_folder.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace stipple;
  static const FuzzFolder folder;
  static const char* const names[] = {"options.json", "log.jsonl", "metrics.json"};
  if (size == 0) return 0;
  for (const char* name : names) std::filesystem::remove(folder.path() / name);
  const std::filesystem::path path = folder.write(names[data[0] % 3], data + 1, size - 1);
  if (path.filename() == "options.json") {
    expect_error_or_result([&] { load_option_texts(path); });
    expect_error_or_result([&] { load_run_record(folder.path()); });
    return 0;
  }
  expect_error_or_result([&] { load_run_log(folder.path()); });
  expect_error_or_result([&] { load_run_metrics(folder.path()); });
  expect_error_or_result([&] { RunWriter(folder.path(), false).resume_at(200); });
  return 0;
}
