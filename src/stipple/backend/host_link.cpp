// SPDX-License-Identifier: Apache-2.0
#include "stipple/backend/backend.h"
#include "stipple/backend/rank_link.h"

namespace stipple {

namespace {

class HostLink : public RankLink {
 public:
  using RankLink::RankLink;

  std::string_view name() const override { return "the memory of the hosts"; }

 private:
  std::vector<std::size_t> join_blocks(std::span<const Block> to, const MakeRoom& room) override {
    std::vector<Ranks::Bytes> outgoing(to.size());
    for (std::size_t r = 0; r < to.size(); ++r) {
      outgoing[r].resize(to[r].bytes);
      if (to[r].bytes > 0) device().download(*to[r].memory, outgoing[r]);
    }
    const std::vector<Ranks::Bytes> from = ranks().all_to_all(std::move(outgoing));
    std::vector<std::size_t> counts;
    Ranks::Bytes joined;
    for (const Ranks::Bytes& bytes : from) {
      counts.push_back(bytes.size());
      joined.insert(joined.end(), bytes.begin(), bytes.end());
    }
    Memory* const memory = room(joined.size());
    if (!joined.empty()) device().upload(joined, *memory);
    return counts;
  }

  void split_blocks(std::span<const Block> to, std::span<const Block> from) override {
    const std::size_t total = to.empty() ? 0 : to.back().begin + to.back().bytes;
    Ranks::Bytes joined(total);
    if (total > 0) device().download(*to.front().memory, joined);
    std::vector<Ranks::Bytes> outgoing;
    for (const Block& block : to) {
      const auto begin = joined.begin() + static_cast<std::ptrdiff_t>(block.begin);
      outgoing.emplace_back(begin, begin + static_cast<std::ptrdiff_t>(block.bytes));
    }
    const std::vector<Ranks::Bytes> arrived = ranks().all_to_all(std::move(outgoing));
    for (std::size_t r = 0; r < from.size(); ++r)
      if (from[r].bytes > 0) device().upload(arrived.at(r), *from[r].memory);
  }
};

}  // namespace

std::unique_ptr<RankLink> make_host_link(Device& device, Ranks& ranks) {
  return std::make_unique<HostLink>(device, ranks);
}

std::unique_ptr<RankLink> Backend::link(Ranks& ranks) { return make_host_link(*this, ranks); }

}  // namespace stipple
