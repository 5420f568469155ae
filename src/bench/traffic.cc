#include "bench/bench.h"

#include "base/stop.h"
#include "base/strings.h"
#include "bench/cases.h"
#include "bench/textbook_attention.h"

namespace alibi {
namespace {

void add_row(BenchRecord& record, std::int64_t length, const std::string& algorithm,
             std::int64_t fast, const Traffic& traffic, double against) {
  const std::int64_t total = traffic.reads + traffic.writes;
  record.table.rows.push_back({with_commas(length), algorithm, fast > 0 ? with_commas(fast) : "",
                               with_commas(traffic.reads), with_commas(traffic.writes),
                               times(against / static_cast<double>(total))});
  record.rows.push_back({{"length", length},
                         {"algorithm", algorithm},
                         {"fast_numbers", fast},
                         {"reads", traffic.reads},
                         {"writes", traffic.writes}});
}

}  // namespace

BenchRecord count_traffic(std::int64_t head_width, const std::vector<std::int64_t>& lengths,
                          const std::vector<std::int64_t>& fast_numbers) {
  BenchRecord record{.benchmark = "attention traffic"};
  record.table.columns = {right("length"), {"algorithm"},   right("M"),
                          right("reads"),  right("writes"), right("fewer than standard")};
  for (const std::int64_t length : lengths) {
    const AttentionInputs inputs = make_attention_inputs({.heads = 1,
                                                          .key_value_heads = 1,
                                                          .length = length,
                                                          .head_width = head_width,
                                                          .type = torch::kFloat},
                                                         1);
    leave_if_stopped("bench");
    Traffic standard;
    standard_attention_forward(inputs, &standard);
    const auto total = static_cast<double>(standard.reads + standard.writes);
    add_row(record, length, "standard", 0, standard, total);
    for (const std::int64_t fast : fast_numbers) {
      Traffic flash;
      flash_attention_forward(inputs, fast, &flash);
      add_row(record, length, "flash", fast, flash, total);
    }
  }
  record.notes = {cat("numbers read from and written to slow memory, forward, one head of ",
                      head_width,
                      "; M numbers fit in fast memory: blocks of ceil(M / 4 d) keys and "
                      "min(ceil(M / 4 d), d) queries")};
  return record;
}

}  // namespace alibi
