// How the tables of fields are written; for fields*.cc alone.
#pragma once

#include <utility>

#include "config/fields.h"

namespace alibi {

using Fields = std::vector<Field>;

template <class Target>
Field& add(Fields& fields, const char* name, Target target, const char* documentation) {
  Field& field = fields.emplace_back();
  field.name = name;
  field.target = std::move(target);
  field.documentation = documentation;
  return field;
}

template <NamedEnum Enum>
EnumTarget choice(Enum& value) {
  return {all_names<Enum>(), [&value] { return static_cast<int>(value); },
          [&value](int index) { value = static_cast<Enum>(index); }};
}

// One a section.
Fields model_fields(ModelConfig& m);
Fields batch_fields(BatchConfig& b);
Fields data_fields(DataConfig& d);
Fields tokenizer_fields(TokenizerConfig& t);
Fields initialize_fields(InitializeConfig& i);
Fields optimizer_fields(OptimizerConfig& o);
Fields schedule_fields(ScheduleConfig& s);
Fields guard_fields(GuardConfig& g);
Fields run_fields(RunConfig& r, ScheduleKind schedule, bool rolls_back);
Fields evaluate_fields(EvaluateConfig& e);
Fields passkey_fields(EvaluateConfig& e);
Fields runtime_fields(RuntimeConfig& r);
Fields attention_fields(AttentionConfig& a);

}  // namespace alibi
