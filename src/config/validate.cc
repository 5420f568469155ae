#include "config/validate.h"

#include <algorithm>
#include <cmath>
#include <initializer_list>
#include <set>

#include "base/printable.h"
#include "base/strings.h"
#include "config/key_pattern.h"
#include "config/lengths.h"
#include "config/protocols.h"

namespace alibi {
namespace {

constexpr const char* kScaling = "/batch/train_sequence_length_scaling";
constexpr const char* kLength = "/batch/sequence_length";

void check_shape(const ModelConfig& m, Faults& faults) {
  if (faults.sound({"/model/width", "/model/heads"}) && m.width % m.heads != 0) {
    faults.add("/model/heads", cat(m.heads, " does not divide width ", m.width),
               cat("choose a divisor of ", m.width));
  }
  if (faults.sound({"/model/heads", "/model/key_value_heads"}) && m.key_value_heads &&
      m.heads % *m.key_value_heads != 0) {
    faults.add("/model/key_value_heads",
               cat(*m.key_value_heads, " does not divide heads ", m.heads));
  }
  if (!m.causal) {
    faults.add("/model/causal", "found false, expected true",
               "slope * (j - i) would reward future keys; this program trains decoders only");
  }
}

// Where keys are hashed they are the queries: a layer has one projection for both.
void check_hashed_layers(const ModelConfig& m, Faults& faults) {
  bool any = false;
  for (std::int64_t layer = 0; layer < m.layers; ++layer) {
    const KeyParts first = key_parts(m, layer, 0);
    bool hashes = false, same = true;
    for (std::int64_t head = 0; head < m.heads; ++head) {
      const KeyParts parts = key_parts(m, layer, head);
      hashes = hashes || parts.buckets > 0;
      same = same && parts == first;
    }
    if (hashes && !same) {
      faults.add("/model/attention_pattern",
                 cat("found lsh for some heads of layer ", layer, ", expected all of them alike"),
                 cat("write \"layers ", layer, ": lsh(...)\" without heads"));
      return;
    }
    any = any || hashes;
  }
  if (any && m.key_value_heads.value_or(m.heads) != m.heads)
    faults.add("/model/key_value_heads",
               cat("found ", *m.key_value_heads, ", expected heads ", m.heads,
                   ": where model.attention_pattern has lsh, queries are keys"),
               "leave it out");
}

// Like keys, entries without effect are refused: later ones name all their heads.
void check_entries_count(const ModelConfig& m, Faults& faults) {
  std::set<std::size_t> deciding;
  for (std::int64_t layer = 0; layer < m.layers; ++layer)
    for (std::int64_t head = 0; head < m.heads; ++head)
      if (const auto entry = deciding_entry(m, layer, head)) deciding.insert(*entry);
  for (std::size_t i = 0; i < m.attention_pattern.size(); ++i) {
    if (!deciding.contains(i))
      faults.add(
          cat("/model/attention_pattern/", i),
          cat("has no effect: later entries name all heads of ", shown(m.attention_pattern[i])),
          "remove it, or write it behind them");
  }
}

void check_pattern(const ModelConfig& m, Faults& faults) {
  if (!faults.sound({"/model/attention_pattern", "/model/layers", "/model/heads"})) return;
  const auto outside = [](const std::vector<std::int64_t>& some, std::int64_t count) {
    return std::ranges::any_of(some, [&](std::int64_t one) { return one >= count; });
  };
  for (std::size_t i = 0; i < m.attention_pattern.size(); ++i) {
    const std::string& text = m.attention_pattern[i];
    const PatternEntry entry = parse_pattern_entry(text);
    const std::string place = cat("/model/attention_pattern/", i),
                      found = cat("found ", shown(text));
    if (!entry.problem.empty())
      faults.add(place, cat(found, ", ", entry.problem));
    else if (outside(entry.layers, m.layers) || outside(entry.heads, m.heads))
      faults.add(place,
                 cat(found, ", expected layers below ", m.layers, " and heads below ", m.heads));
  }
  if (!faults.sound({"/model/attention_pattern"})) return;
  check_hashed_layers(m, faults);
  check_entries_count(m, faults);
}

// Of 1, 1/2, 1/4, ...: how often 1 was halved; nothing for other numbers.
std::optional<int> halvings_of(double scaling) {
  int exponent = 0;
  const bool power = std::frexp(scaling, &exponent) == 0.5;
  const int halvings = 1 - exponent;
  return power && halvings >= 0 && halvings <= kMostHalvings ? std::optional(halvings)
                                                             : std::nullopt;
}

bool divides(std::int64_t length, int halvings) {
  return length % (std::int64_t{1} << halvings) == 0;
}

void check_scaling(const BatchConfig& b, Faults& faults) {
  const double s = b.train_sequence_length_scaling;
  const std::optional<int> halvings = halvings_of(s);
  if (s > 1) {
    faults.add(kScaling, cat("found ", shown(s), ", expected at most 1"),
               "to train on longer sequences raise batch.sequence_length");
  } else if (!halvings) {
    faults.add(kScaling, cat("found ", shown(s), ", expected 1, 1/2, 1/4, 1/8, ..."),
               "write 0.5, 0.25, 0.125, ...");
  } else if (faults.sound({kLength}) && !divides(b.sequence_length, *halvings)) {
    faults.add(kScaling, cat(b.sequence_length, " * ", s, " is not a whole length"),
               cat("make batch.sequence_length a multiple of ", std::int64_t{1} << *halvings));
  }
}

void check_mixture(const BatchConfig& b, Faults& faults) {
  for (std::size_t i = 0; i < b.length_mixture.size(); ++i) {
    const double s = b.length_mixture[i];
    const std::optional<int> halvings = halvings_of(s);
    if (halvings && s <= b.train_sequence_length_scaling && divides(b.sequence_length, *halvings))
      continue;
    faults.add(
        cat("/batch/length_mixture/", i),
        cat("found ", shown(s), ", expected 1, 1/2, 1/4, ... up to train_sequence_length_scaling ",
            b.train_sequence_length_scaling, ", with a whole length"));
    return;
  }
  const auto longest = std::max_element(b.length_mixture.begin(), b.length_mixture.end());
  if (longest == b.length_mixture.end() || *longest == b.train_sequence_length_scaling) return;
  faults.add("/batch/length_mixture",
             cat("its largest is ", *longest, ", expected train_sequence_length_scaling ",
                 b.train_sequence_length_scaling),
             "1x is the longest trained length");
}

void check_lanes(const BatchConfig& b, Faults& faults) {
  if (const auto sequences = undivided_sequences(b)) {
    faults.add("/batch/lanes", cat("found ", lanes_of(b), ", expected a divisor of the ",
                                   *sequences, " sequences that a step trains on"));
  }
}

void check_batch(const Config& c, Faults& faults) {
  if (!faults.sound({kScaling, kLength})) return;  // all below reads the trained length
  if (faults.sound({"/batch/length_mixture"})) check_mixture(c.batch, faults);
  const BatchShape shape = batch_shape(c.batch);
  if (faults.sound({"/batch/sequences", "/batch/micro_batch_tokens"}) &&
      c.batch.micro_batch_tokens) {
    const std::int64_t micro = *c.batch.micro_batch_tokens;
    if (micro % shape.length != 0 || shape.tokens() % micro != 0) {
      faults.add("/batch/micro_batch_tokens",
                 cat("found ", micro, ", expected a multiple of the trained length ", shape.length,
                     " that divides the ", shape.tokens(), " tokens of a step"));
    }
  }
  if (faults.sound({"/batch/sequences", "/batch/lanes", "/batch/length_mixture"}))
    check_lanes(c.batch, faults);
  if (!faults.sound({"/model/position"})) return;
  const auto check = position_method(c.model.position).check_length;
  if (check != nullptr) check(c.model, shape.length, faults);
}

// Its bias would follow what was packed before a document.
void check_places(const Config& c, Faults& faults) {
  if (faults.sound({"/model/position", "/data/separate_documents"}) &&
      c.model.position == Position::kFire && c.data.separate_documents) {
    faults.add("/data/separate_documents",
               "fire counts a query's place from the start of its row, not of its document",
               "set it to false, or choose another model.position");
  }
}

void check_schedule(const Config& c, Faults& faults) {
  const ScheduleConfig& s = c.schedule;
  if (!faults.sound({"/schedule/warmup_tokens", "/run/train_tokens"})) return;  // all below reads
  const std::optional<std::int64_t> tokens = known_train_tokens(c.run);
  if (!tokens) return;  // asked again once they are known
  if (s.warmup_tokens > *tokens) {
    faults.add("/schedule/warmup_tokens",
               cat("found ", s.warmup_tokens, ", expected at most run.train_tokens ", *tokens),
               c.run.train_seconds ? "give more run.train_seconds, or a shorter warm-up"
                                   : "train on more tokens, or set a shorter warm-up");
    return;
  }
  if (!faults.sound({"/schedule/kind", "/schedule/decay_tokens"}) || s.kind != ScheduleKind::kWsd)
    return;
  const std::int64_t decay = s.decay_tokens.value_or(default_decay_tokens(*tokens));
  if (s.warmup_tokens + decay > *tokens) {
    faults.add("/schedule/decay_tokens", cat("warm-up and decay take ", s.warmup_tokens + decay,
                                             " tokens, run.train_tokens is ", *tokens));
  }
}

void check_lengths(const Config& c, Faults& faults) {
  const std::vector<std::string>& lengths = c.evaluate.lengths;
  if (lengths.empty())
    faults.add("/evaluate/lengths", "found an empty list", "write [\"1x\", \"10x\"]");
  const bool known = faults.sound({kScaling, kLength});
  const std::int64_t trained = known ? batch_shape(c.batch).length : 0;
  for (std::size_t i = 0; i < lengths.size(); ++i) {
    const bool multiple = lengths[i].ends_with('x');
    if ((multiple && !known) || length_in_tokens(lengths[i], trained)) continue;
    faults.add(
        cat("/evaluate/lengths/", i),
        cat("found \"", lengths[i], "\", expected a multiple like \"4x\" or a length like \"512\""),
        known ? cat("1x is the trained length ", trained) : "");
  }
}

void check_stretch(const Config& c, Faults& faults) {
  if (!faults.sound({"/evaluate/stretch", "/model/position"})) return;
  const Stretch stretch = c.evaluate.stretch;
  const auto fits = [stretch](const PositionMethod& method, const ModelConfig& model = {}) {
    return method.stretches != nullptr && method.stretches(model, stretch);
  };
  const PositionMethod& method = position_method(c.model.position);
  if (stretch == Stretch::kNone || fits(method, c.model)) return;
  if (fits(method)) {
    faults.add("/evaluate/stretch", "this model's own positions are stretched already",
               "choose none");
    return;
  }
  faults.add("/evaluate/stretch",
             cat("model.position ", name_of(c.model.position), " has no distances to stretch by ",
                 name_of(stretch)),
             cat(name_of(stretch), " is for ",
                 positions_where([&](const PositionMethod& m) { return fits(m); })));
}

void check_protocol(const Config& c, Faults& faults) {
  const EvaluateConfig& e = c.evaluate;
  if (faults.sound({"/evaluate/protocol", "/evaluate/stretch"}) &&
      protocol_row(e.protocol).one_pass && e.stretch != Stretch::kNone && !e.stretch_factor) {
    faults.add("/evaluate/stretch", "one pass has one stretch for all lengths",
               "give evaluate.stretch_factor");
  }
  if (faults.sound({"/evaluate/protocol", "/data/separate_documents"}) &&
      protocol_row(e.protocol).streams && c.data.separate_documents) {
    faults.add("/evaluate/protocol",
               "a stream crosses the borders that data.separate_documents keeps",
               "choose another protocol");
  }
  // What a cache drops, rotated keys and absolute positions still count.
  if (faults.sound({"/evaluate/sinks", "/model/position"}) && e.sinks > 0 &&
      !position_method(c.model.position).counts_distances) {
    faults.add("/evaluate/sinks",
               cat("attention sinks need a relative bias, found model.position ",
                   name_of(c.model.position)),
               cat("choose 0 sinks, or a position method of ",
                   positions_where([](const PositionMethod& m) { return m.counts_distances; })));
  }
  if (faults.sound({"/evaluate/answers/documents", "/data/separate_documents"}) &&
      e.task == Task::kPasskey && e.answers.documents > 1 && c.data.separate_documents) {
    faults.add("/evaluate/answers/documents", "a key is asked for beyond the end of its document",
               "data.separate_documents keeps this model from seeing it; choose 1 document");
  }
  if (e.answers.depths.empty())
    faults.add("/evaluate/answers/depths", "found an empty list", "write [0, 0.5, 1]");
  for (std::size_t i = 0; i < e.answers.depths.size(); ++i) {
    const double depth = e.answers.depths[i];
    if (depth >= 0 && depth <= 1) continue;
    faults.add(cat("/evaluate/answers/depths/", i),
               cat("found ", shown(depth), ", expected 0 (start) to 1 (end)"));
  }
}

void check_names(const Config& c, Faults& faults) {
  const std::string& name = c.run.name;
  if (name.empty() || name.find('/') != std::string::npos || name.starts_with('.')) {
    faults.add("/run/name", cat("found \"", name, "\", expected a plain name without '/'"));
  }
  for (const auto& [key, text] : {std::pair("/run/name", &name), {"/run/folder", &c.run.folder}}) {
    const auto control = [](char letter) { return static_cast<unsigned char>(letter) < 0x20; };
    if (std::ranges::any_of(*text, control))
      faults.add(key, cat("found ", shown(*text), ", expected a name without control characters"));
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

std::optional<std::int64_t> undivided_sequences(const BatchConfig& batch) {
  std::vector<double> scalings = batch.length_mixture;
  scalings.push_back(batch.train_sequence_length_scaling);
  for (const double scaling : scalings) {
    const std::int64_t sequences = batch_shape(batch, scaling).rows;
    if (sequences % lanes_of(batch) != 0) return sequences;
  }
  return std::nullopt;
}

std::vector<ConfigFault> validate(const Config& c, const std::set<std::string>& faulty) {
  Faults faults(faulty);
  check_shape(c.model, faults);
  check_pattern(c.model, faults);
  if (const auto check = position_method(c.model.position).check) check(c.model, faults);
  check_scaling(c.batch, faults);
  check_batch(c, faults);
  check_places(c, faults);
  check_schedule(c, faults);
  check_lengths(c, faults);
  check_stretch(c, faults);
  check_protocol(c, faults);
  check_names(c, faults);
  return faults.take();
}

}  // namespace alibi
