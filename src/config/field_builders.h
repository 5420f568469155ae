// The tables of fields, one a section.
#pragma once

#include "config/fields.h"

namespace alibi {

Fields model_fields(ModelConfig& m);
Fields batch_fields(BatchConfig& b);
Fields data_fields(DataConfig& d);
Fields tokenizer_fields(TokenizerConfig& t);
Fields initialize_fields(InitializeConfig& i);
Fields optimizer_fields(OptimizerConfig& o);
Fields schedule_fields(ScheduleConfig& s);
Fields guard_fields(GuardConfig& g);
Fields run_fields(RunConfig& r, ScheduleKind schedule, bool rolls_back);
Fields distributed_fields(DistributedConfig& d);
Fields evaluate_fields(EvaluateConfig& e);
Fields answers_fields(EvaluateConfig& e);
Fields key_tokens_fields(EvaluateConfig& e);
Fields runtime_fields(RuntimeConfig& r);
Fields attention_fields(AttentionConfig& a);

}  // namespace alibi
