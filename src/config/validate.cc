#include "config/validate.h"

#include <cmath>

#include "base/strings.h"

namespace alibi {
namespace {

class Faults {
 public:
  void add(std::string pointer, std::string problem, std::string way_out = {}) {
    faults_.push_back({std::move(pointer), std::move(problem), std::move(way_out)});
  }
  std::vector<ConfigFault> take() { return std::move(faults_); }

 private:
  std::vector<ConfigFault> faults_;
};

void check_shape(const ModelConfig& m, Faults& faults) {
  if (m.width % m.heads != 0) {
    faults.add("/model/heads", cat(m.heads, " does not divide width ", m.width),
               cat("choose a divisor of ", m.width));
  } else if (m.position == Position::kRotary && (m.width / m.heads) % 2 != 0) {
    faults.add("/model/position",
               cat("rotary turns pairs, but the head width ", m.width / m.heads, " is odd"),
               "choose an even width / heads");
  }
  if (m.key_value_heads && m.heads % *m.key_value_heads != 0) {
    faults.add("/model/key_value_heads",
               cat(*m.key_value_heads, " does not divide heads ", m.heads));
  }
  if (m.position == Position::kSinusoidal && m.width % 2 != 0) {
    faults.add("/model/position",
               cat("sinusoidal positions fill pairs, but width ", m.width, " is odd"),
               "choose an even width");
  }
  if (!m.causal) {
    faults.add("/model/causal", "found false, expected true",
               "slope * (j - i) would reward future keys; this program trains decoders only");
  }
}

void check_positions(const ModelConfig& m, Faults& faults) {
  if (!m.slopes.empty() && static_cast<std::int64_t>(m.slopes.size()) != m.heads) {
    faults.add("/model/slopes", cat("found ", m.slopes.size(), " slopes, expected one for each of ",
                                    m.heads, " heads"));
  }
  for (std::size_t h = 0; h < m.slopes.size(); ++h) {
    if (!(m.slopes[h] > 0)) {
      faults.add(cat("/model/slopes/", h),
                 cat("found ", m.slopes[h], ", expected a number above 0"),
                 "a slope of 0 or less would not favour near keys");
    }
  }
  if (m.position == Position::kT5 && m.t5_max_distance <= m.t5_buckets / 2) {
    faults.add("/model/t5_max_distance",
               cat("found ", m.t5_max_distance,
                   ", expected more than t5_buckets / 2 = ", m.t5_buckets / 2));
  }
}

void check_batch(const Config& c, Faults& faults) {
  const BatchConfig& b = c.batch;
  const double s = b.train_sequence_length_scaling;
  if (s > 1) {
    faults.add("/batch/train_sequence_length_scaling", cat("found ", s, ", expected at most 1"),
               "to train on longer sequences raise batch.sequence_length");
    return;
  }
  int exponent = 0;
  const bool power = std::frexp(s, &exponent) == 0.5;
  if (!power) {
    faults.add("/batch/train_sequence_length_scaling",
               cat("found ", s, ", expected 1, 1/2, 1/4, 1/8, ..."), "write 0.5, 0.25, 0.125, ...");
    return;
  }
  const std::int64_t parts = std::int64_t{1} << (1 - exponent);
  if (b.sequence_length % parts != 0) {
    faults.add("/batch/train_sequence_length_scaling",
               cat(b.sequence_length, " * ", s, " is not a whole length"),
               cat("make batch.sequence_length a multiple of ", parts));
    return;
  }
  const BatchShape shape = batch_shape(b);
  if (b.micro_batch_tokens) {
    const std::int64_t micro = *b.micro_batch_tokens;
    if (micro % shape.length != 0 || shape.tokens() % micro != 0) {
      faults.add("/batch/micro_batch_tokens",
                 cat("found ", micro, ", expected a multiple of the trained length ", shape.length,
                     " that divides the ", shape.tokens(), " tokens of a step"));
    }
  }
  if (c.model.position == Position::kLearned && c.model.max_sequence_length &&
      *c.model.max_sequence_length < shape.length) {
    faults.add("/model/max_sequence_length",
               cat("found ", *c.model.max_sequence_length,
                   ", expected at least the trained length ", shape.length));
  }
}

void check_schedule(const Config& c, Faults& faults) {
  const ScheduleConfig& s = c.schedule;
  if (s.warmup_tokens > c.run.train_tokens) {
    faults.add(
        "/schedule/warmup_tokens",
        cat("found ", s.warmup_tokens, ", expected at most run.train_tokens ", c.run.train_tokens));
  }
  const bool decays = s.kind == ScheduleKind::kWsd;
  const std::int64_t decay = decays ? s.decay_tokens.value_or(default_decay_tokens(c.run)) : 0;
  if (s.warmup_tokens + decay > c.run.train_tokens && decays) {
    faults.add("/schedule/decay_tokens", cat("warm-up and decay take ", s.warmup_tokens + decay,
                                             " tokens, run.train_tokens is ", c.run.train_tokens));
  }
}

// "1x", "2.5x" or a whole number of tokens.
bool is_length(const std::string& text) {
  const bool multiple = text.ends_with('x');
  const std::string digits = multiple ? text.substr(0, text.size() - 1) : text;
  if (digits.empty() || digits.size() > 12) return false;
  bool point = false;
  double value = 0;
  for (const char c : digits) {
    if (c == '.' && multiple && !point) {
      point = true;
    } else if (c < '0' || c > '9') {
      return false;
    } else {
      value = value * 10 + (c - '0');
    }
  }
  return value > 0;
}

void check_rest(const Config& c, Faults& faults) {
  if (c.evaluate.lengths.empty())
    faults.add("/evaluate/lengths", "found an empty list", "write [\"1x\", \"10x\"]");
  for (std::size_t i = 0; i < c.evaluate.lengths.size(); ++i) {
    if (!is_length(c.evaluate.lengths[i])) {
      faults.add(cat("/evaluate/lengths/", i),
                 cat("found \"", c.evaluate.lengths[i],
                     "\", expected a multiple like \"4x\" or a length like \"512\""));
    }
  }
  const std::string& name = c.run.name;
  if (name.empty() || name.find('/') != std::string::npos || name.starts_with('.')) {
    faults.add("/run/name", cat("found \"", name, "\", expected a plain name without '/'"));
  }
  for (const auto* list : {&c.data.train, &c.data.valid}) {
    for (std::size_t i = 0; i < list->size(); ++i) {
      if (!(*list)[i].empty()) continue;
      faults.add(cat(list == &c.data.train ? "/data/train/" : "/data/valid/", i),
                 "found an empty name, expected a file or folder");
    }
  }
}

}  // namespace

std::vector<ConfigFault> validate(const Config& c) {
  Faults faults;
  check_shape(c.model, faults);
  check_positions(c.model, faults);
  check_batch(c, faults);
  check_schedule(c, faults);
  check_rest(c, faults);
  return faults.take();
}

}  // namespace alibi
