// SPDX-License-Identifier: Apache-2.0
#include "apps/stipple/run/run_writer.h"

#include <fmt/format.h>
#include <sys/utsname.h>

#include <sstream>

#include "apps/stipple/run/memory_use.h"
#include "apps/stipple/run/options_json.h"
#include "stipple/core/error.h"
#include "stipple/core/parallel.h"
#include "stipple/io/input_file.h"
#include "stipple/io/json.h"
#include "stipple/io/output_file.h"

namespace stipple {

namespace fs = std::filesystem;

namespace {

using nlohmann::json;
using nlohmann::ordered_json;

void write(const ordered_json& content, OutputFile& to) { to.write(with_utf8(content).dump(2) + "\n"); }

void save(const fs::path& path, const ordered_json& content) {
  OutputFile file(path);
  write(content, file);
  file.commit();
}

// Empty if there is no such file.
std::string text_of(const fs::path& path) { return fs::exists(path) ? read_text(path) : ""; }

std::string machine() {
  utsname name{};
  uname(&name);
  return fmt::format("{} {} {}, {} threads", name.sysname, name.release, name.machine, thread_count());
}

ordered_json number_or_null(double value) {
  return std::isfinite(value) ? ordered_json(value) : ordered_json();
}

}  // namespace

void RunWriter::save_options(const RunOptions& options, const fs::path& scene, const Backend& backend) {
  ordered_json& out = options_;
  out["version"] = STIPPLE_VERSION;
  out["backend"] = std::string(backend.name());
  out["machine"] = fmt::format("{}; {}", machine(), backend.description());
  out["scene"] = fs::absolute(scene).lexically_normal().string();
  out["scene_options"] = scene_options_to_json(options.scene);
  out["train"] = run_options_to_json(options);
  if (!is_waiting_ && writes_) save(folder_ / "options.json", out);
}

void RunWriter::replace_earlier_run() {
  if (writes_) remove_earlier_run();
  waiting_log_.clear();
  is_waiting_ = false;
}

// And writes what belongs to the new one.
void RunWriter::remove_earlier_run() {
  // First what is likely to fail, on a full disk for example, while the earlier run is unchanged.
  OutputFile options(folder_ / "options.json"), log(folder_ / "log.jsonl");
  write(options_, options);
  log.write(waiting_log_);
  has_begun_to_replace_ = true;
  for (const char* name : {"checkpoint", "metrics.json"}) {
    std::error_code error;
    fs::remove(folder_ / name, error);
    if (error) throw Error(fmt::format("cannot remove {}: {}", (folder_ / name).string(), error.message()));
  }
  flush_folder(folder_);  // or the new options could reach the disk before the old checkpoint is gone
  options.commit();
  log.commit();
}

void RunWriter::resume_at(int step) {
  if (!writes_) return;
  std::istringstream old(text_of(folder_ / "log.jsonl"));
  std::string kept;
  for (std::string line; std::getline(old, line);) {
    const json parsed = parse_json(line);
    if (!parsed.is_object() || !parsed.contains("step") || !parsed["step"].is_number() ||
        parsed["step"] > step)
      continue;
    kept += line + "\n";
    if (const auto found = parsed.find("seconds"); found != parsed.end() && found->is_number())
      seconds_ = *found;
  }
  OutputFile file(folder_ / "log.jsonl");
  file.write(kept);
  file.commit();
  const ordered_json parsed = parse_json<ordered_json>(text_of(folder_ / "metrics.json"));
  if (!parsed.is_object()) return;
  const auto keep_earlier = [&](const char* name, ordered_json& to) {
    const auto found = parsed.find(name);
    if (found == parsed.end() || !found->is_array()) return;
    for (const ordered_json& e : *found)
      if (e.is_object() && e.contains("step") && e["step"].is_number() && e["step"] <= step) to.push_back(e);
  };
  keep_earlier("evaluations", evaluations_);
  keep_earlier("guard", guard_events_);
}

void RunWriter::add(const StepReport& report, double seconds) {
  seconds_ += seconds;
  last_ = report;
  if (!report.was_skipped) {
    ++summed_;
    loss_ += static_cast<double>(report.loss);
    psnr_ += report.psnr;
    exchanged_bytes_ += static_cast<double>(report.exchanged_bytes);
    for (std::size_t i = 0; i < ms_.size(); ++i) ms_[i] += report.ms[i];
  }
  if (report.step % kLogEvery == 0) write_line();
}

void RunWriter::write_line() {
  if (summed_ == 0) return;
  ordered_json line;
  line["step"] = last_.step;
  line["seconds"] = seconds_;
  line["loss"] = loss_ / summed_;
  line["psnr"] = psnr_ / summed_;
  line["gaussians"] = last_.gaussian_count;
  if (exchanged_bytes_ > 0) line["exchanged_bytes"] = exchanged_bytes_ / summed_;
  for (std::size_t i = 0; i < ms_.size(); ++i) line["ms"][kStageNames[i]] = ms_[i] / summed_;
  add_to_log(line.dump() + "\n");
  summed_ = 0;
  loss_ = psnr_ = exchanged_bytes_ = 0;
  ms_ = {};
}

void RunWriter::add_to_log(const std::string& line) {
  if (!writes_) return;
  if (is_waiting_) {
    waiting_log_ += line;
    return;
  }
  if (!log_.is_open()) log_.open(folder_ / "log.jsonl", std::ios::app);
  log_ << line << std::flush;
  if (!log_)
    throw Error(
        fmt::format("cannot write {}, perhaps because the disk is full", (folder_ / "log.jsonl").string()));
}

void RunWriter::add(const Evaluation& evaluation, int step, std::size_t gaussian_count) {
  ordered_json e;
  e["step"] = step;
  e["seconds"] = seconds_;
  e["gaussians"] = gaussian_count;
  e["psnr"] = number_or_null(evaluation.psnr);
  e["ssim"] = number_or_null(evaluation.ssim);
  e["views"] = ordered_json::array();
  for (const ViewScore& v : evaluation.views) {
    ordered_json view;
    view["name"] = v.name;
    view["psnr"] = number_or_null(v.psnr);
    view["ssim"] = number_or_null(v.ssim);
    e["views"].push_back(std::move(view));
  }
  evaluations_.push_back(std::move(e));
}

void RunWriter::add(const GuardEvent& event, int step) {
  ordered_json e;
  e["step"] = step;
  e["kind"] = to_text(event.kind);
  e["best_step"] = event.best_step;
  e["psnr"] = number_or_null(event.psnr);
  e["best_psnr"] = number_or_null(event.best_psnr);
  e["last_step"] = event.last_step;
  guard_events_.push_back(std::move(e));
}

void RunWriter::save_metrics(int step, std::size_t gaussian_count, const Backend& backend) const {
  if (!writes_) return;
  ordered_json out;
  out["steps"] = step;
  out["gaussians"] = gaussian_count;
  out["seconds"] = seconds_;
  out["peak_memory_bytes"] = peak_memory_bytes();
  out["peak_device_bytes"] = backend.peak_used_bytes();
  if (!guard_events_.empty()) out["guard"] = guard_events_;
  out["evaluations"] = evaluations_;
  save(folder_ / "metrics.json", out);
}

}  // namespace stipple
