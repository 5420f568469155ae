// Keys of training, evaluation and the machine.
#include "config/field_builders.h"
#include "config/protocols.h"
#include "config/seeds.h"

namespace alibi {

Fields initialize_fields(InitializeConfig& i) {
  Fields f;
  add(f, "from", &i.from, "A checkpoint of the same shape to take the weights from.");
  add(f, "standard_deviation", &i.standard_deviation,
      "Standard deviation of the initial weights (normal distribution); that of residual outputs "
      "is divided by sqrt(2 layers). Default: 1 / sqrt(model.width). No effect where "
      "initialize.from "
      "is given.")
      .range(1e-6, 10)
      .counts_if(i.from.empty());
  return f;
}

Fields optimizer_fields(OptimizerConfig& o) {
  const bool matrices = o.updates_matrices();
  const char* matrices_condition = "optimizer.kind is not \"adamw\"";
  Fields f;
  add(f, "kind", choice(o.kind),
      "adamw, or another rule for the matrices of the blocks and AdamW for all else. muon (Jordan "
      "et "
      "al. 2024): momentum made orthogonal by Newton-Schulz. normuon (Li et al. 2025): the same, "
      "each row divided by its root mean square over steps. mud (Southworth and Thomas 2026): "
      "momentum made nearly orthogonal by a triangular solve, cheaper than Newton-Schulz.")
      .counts_if(matrices);
  add(f, "learning_rate", &o.learning_rate, "Peak learning rate.").range(1e-9, 10).may_change();
  add(f, "beta1", &o.beta1, "AdamW: decay of the first moment.").range(0, 0.99999);
  add(f, "beta2", &o.beta2, "AdamW, and rows of normuon: decay of the second moment.")
      .range(0, 0.9999999);
  add(f, "epsilon", &o.epsilon, "Added to the root of the second moment.").range(1e-16, 1);
  add(f, "weight_decay", &o.weight_decay, "Decoupled decay, on matrices only.").range(0, 10);
  add(f, "momentum", &o.momentum,
      "Decay of the momentum of the blocks' matrices, with Nesterov's "
      "look-ahead.")
      .range(0, 0.99999)
      .only_if(matrices, matrices_condition);
  add(f, "matrix_learning_rate", &o.matrix_learning_rate,
      "Peak learning rate of the blocks' matrices, whose steps have a root mean square of 0.2 "
      "times "
      "the rate. Default: learning_rate.")
      .range(1e-9, 10)
      .only_if(matrices, matrices_condition)
      .may_change();
  add(f, "matrix_weight_decay", &o.matrix_weight_decay,
      "Decoupled decay of the blocks' matrices. Default: weight_decay.")
      .range(0, 10)
      .only_if(matrices, matrices_condition);
  add(f, "clip_norm", &o.clip_norm, "Gradients are clipped to this global norm; 0: no clipping.")
      .range(0, 1e9)
      .may_change();
  return f;
}

Fields schedule_fields(ScheduleConfig& s) {
  Fields f;
  add(f, "kind", choice(s.kind),
      "How the learning rate falls after warm-up. wsd: constant, then linear over decay_tokens.");
  add(f, "warmup_tokens", &s.warmup_tokens, "Linear rise from 0 over this many tokens.")
      .range(0, 1e15);
  add(f, "decay_tokens", &s.decay_tokens,
      "Length of the final fall. Default: a fifth of run.train_tokens.")
      .range(1, 1e15)
      .only_if(s.kind == ScheduleKind::kWsd, "schedule.kind is \"wsd\"");
  add(f, "final_fraction", &s.final_fraction, "Learning rate at the end, as a share of the peak.")
      .range(0, 1)
      .only_if(s.kind != ScheduleKind::kConstant, "schedule.kind is not \"constant\"");
  return f;
}

Fields guard_fields(GuardConfig& g) {
  Fields f;
  const bool judges = g.spikes != Spikes::kIgnore;
  add(f, "non_finite", choice(g.non_finite),
      "At a loss or gradient norm that is not finite, which never changes the weights: stop the "
      "run, skip the step, or roll back to the last scheduled checkpoint and leave out the batches "
      "since then.")
      .may_change();
  add(f, "spikes", choice(g.spikes),
      "The same for spikes: a loss or gradient norm far above that of recent steps.")
      .may_change();
  add(f, "spike_window", &g.spike_window,
      "Recent steps that a step is compared with; at least half of them must exist.")
      .range(8, 100000)
      .only_if(judges, "guard.spikes is not \"ignore\"")
      .may_change();
  add(f, "spike_deviations", &g.spike_deviations,
      "A spike is this many standard deviations above the mean of those steps.")
      .range(1, 1000)
      .only_if(judges, "guard.spikes is not \"ignore\"")
      .may_change();
  add(f, "max_consecutive_skips", &g.max_consecutive_skips,
      "The run stops after this many skipped steps in a row.")
      .range(1, 1e9)
      .only_if(g.skips(), "guard.non_finite or guard.spikes is \"skip\"")
      .free();
  add(f, "max_rollbacks", &g.max_rollbacks, "The run stops after this many rollbacks.")
      .range(1, 1e6)
      .only_if(g.rolls_back(), "guard.non_finite or guard.spikes is \"roll_back\"")
      .free();
  add(f, "z_loss", &g.z_loss,
      "Weight of the z-loss, the mean of log(sum exp(logits))^2: keeps logits near 0.")
      .range(0, 1)
      .may_change();
  add(f, "failed_save", choice(g.failed_save),
      "When a checkpoint cannot be written (disk full): stop the run, or warn and try again at the "
      "next scheduled save. If the last save fails, the run always stops.")
      .free();
  return f;
}

Fields run_fields(RunConfig& r, ScheduleKind schedule, bool rolls_back) {
  Fields f;
  add(f, "name", &r.name, "Names the run in folders, logs and plots.").free();
  add(f, "folder", &r.folder, "Where the run is written. Default: runs/<name>.").free();
  add(f, "seed", &r.seed, "Decides initial weights, order of the text and dropout.")
      .range(0, kMostSeed);
  Field& end =
      add(f, "train_tokens", &r.train_tokens,
          "Tokens to train on, rounded up to whole steps. Default: 2,000,000, or what a probe "
          "finds for run.train_seconds. Free where schedule.kind is \"constant\".")
          .range(1, 1e15);
  // All other schedules fall towards this end: moved, it changes the steps before it too.
  if (schedule == ScheduleKind::kConstant) end.free();
  add(f, "train_seconds", &r.train_seconds,
      "Budget of wall time, from before the first step to the last checkpoint; text is prepared "
      "before. Where run.train_tokens is not given, a probe of some seconds, which counts, fixes "
      "it, by its faster steps: the deadline, at which the run ends with a checkpoint, comes at "
      "about 94 % of the schedule on a quiet machine, earlier on one that became slower.")
      .range(1, 1e9)
      .free();
  // A rollback lands where a save was due.
  Field& save_every = add(f, "save_every_tokens", &r.save_every_tokens,
                          "Tokens between checkpoints. Default: a tenth of train_tokens.")
                          .range(1, 1e15)
                          .may_change();
  if (!rolls_back) save_every.free();
  add(f, "evaluate_every_tokens", &r.evaluate_every_tokens,
      "Tokens between validations. Default: a tenth of train_tokens; more where they would take "
      "more "
      "than a quarter of run.train_seconds.")
      .range(1, 1e15)
      .free();
  add(f, "validation_tokens", &r.validation_tokens,
      "Largest number of targets scored at each validation, spread over the held-out text.")
      .range(1, 1e15)
      .free();
  add(f, "log_every_tokens", &r.log_every_tokens, "Tokens between lines of the log; 0: every step.")
      .range(0, 1e15)
      .free();
  add(f, "keep_checkpoints", &r.keep_checkpoints, "Newest checkpoints kept, beside the best one.")
      .range(1, 1e6)
      .free();
  add(f, "save_in_background", &r.save_in_background,
      "Write checkpoints while training goes on, from a copy of weights and moments in memory.")
      .free();
  add(f, "patience", &r.patience, "Stop after this many validations without improvement; 0: never.")
      .range(0, 1e9)
      .free();
  return f;
}

Fields evaluate_fields(EvaluateConfig& e) {
  const bool scores = e.task == Task::kPerplexity;
  const char* scores_condition = "evaluate.task is \"perplexity\"";
  const ProtocolRow& protocol = protocol_row(e.protocol);
  Fields f;
  add(f, "task", choice(e.task),
      "perplexity: loss of held-out text. passkey: retrieval of a key hidden in it. Others: "
      "answers "
      "in texts that the program makes (alibi prepare --task).")
      .free();
  add(f, "lengths", &e.lengths,
      "Lengths to score: \"4x\" is four times the trained length, \"512\" is absolute.")
      .free();
  add(f, "protocol", choice(e.protocol),
      "non_overlapping: windows side by side. sliding: each window scores its last `stride` "
      "targets. streaming: the text runs through a key/value cache of each length. one_pass: all "
      "lengths from windows of the longest.")
      .only_if(scores, scores_condition)
      .free();
  add(f, "stride", &e.stride, "Targets scored per sliding window. Default: half of each length.")
      .range(1, 1 << 24)
      .only_if(scores && protocol.slides, protocol_condition(&ProtocolRow::slides))
      .free();
  add(f, "sinks", &e.sinks,
      "Attention sinks: first tokens of the text that always stay in the streaming cache.")
      .range(0, 1 << 20)
      .only_if(scores && protocol.streams, protocol_condition(&ProtocolRow::streams))
      .free();
  add(f, "split_stride", &e.split_stride,
      "Also scores sliding windows of this stride (at most a quarter of the shortest length), "
      "which splits each change from 1x into fewer early tokens and longer context.")
      .range(1, 1 << 24)
      .only_if(scores && protocol.side_by_side, protocol_condition(&ProtocolRow::side_by_side))
      .free();
  add(f, "far_context_tokens", &e.far_context_tokens,
      "About how many targets the useful context is measured on: far tokens removed, swapped or "
      "shuffled (at least 20 windows). 0: not measured.")
      .range(0, 1e15)
      .only_if(scores, scores_condition)
      .free();
  add(f, "max_tokens", &e.max_tokens,
      "Largest number of targets scored, but at least one window of the longest length; of longer "
      "text, windows spread evenly over it.")
      .range(1, 1e15)
      .only_if(reads_text(e.task), "evaluate.task is \"perplexity\" or \"passkey\"")
      .free();
  add(f, "batch_tokens", &e.batch_tokens, "Tokens per forward pass.").range(1, 1e12).free();
  add(f, "stretch", choice(e.stretch),
      "Position interpolation beyond the trained length. linear: all distances divided by the "
      "factor (PI). ntk: NTK-aware, far distances only (ALiBi: the flattest slope divided by the "
      "factor, the steepest unchanged). yarn: YaRN, for rotary.")
      .free();
  add(f, "stretch_factor", &e.stretch_factor,
      "Interpolation factor. Default: length / trained length, at least 1, for each length.")
      .range(1, 1e6)
      .only_if(e.stretch != Stretch::kNone, "evaluate.stretch is not \"none\"")
      .free();
  return f;
}

Fields answers_fields(EvaluateConfig& e) {
  const bool asks = e.task != Task::kPerplexity;
  const char* condition = "evaluate.task is not \"perplexity\"";
  Fields f;
  add(f, "depths", &e.answers.depths,
      "Where in a text stands what is asked for: 0 at the start, 1 at the end.")
      .only_if(asks_at_depths(e.task),
               "evaluate.task is \"passkey\", \"lookup\", \"needle\" or \"needles\"")
      .free();
  add(f, "trials", &e.answers.trials, "Texts at each length and depth.")
      .range(1, 1e6)
      .only_if(asks, condition)
      .free();
  add(f, "documents", &e.answers.documents,
      "Documents in the text, each with its own key; one key is asked for.")
      .range(1, 26)
      .only_if(e.task == Task::kPasskey, "evaluate.task is \"passkey\"")
      .free();
  add(f, "ignored", &e.answers.ignored, "Share of instructions that are to be ignored.")
      .range(0, 0.999)
      .only_if(e.task == Task::kFlipFlop, "evaluate.task is \"flip_flop\"")
      .free();
  add(f, "idle", &e.answers.idle,
      "Share of idle words among the pairs: fewer pairs at the same length.")
      .range(0, 0.99)
      .only_if(e.task == Task::kRecall, "evaluate.task is \"recall\"")
      .free();
  return f;
}

Fields key_tokens_fields(EvaluateConfig& e) {
  KeyTokensConfig& k = e.key_tokens;
  const bool asked = !k.evaluator.empty();
  const char* condition = "evaluate.key_tokens.evaluator is given";
  Fields f;
  add(f, "evaluator", &k.evaluator,
      "A run or checkpoint that decides which targets are key tokens: hard for it with a short "
      "context, easy with a long one. Their perplexity is measured too, for all models on the same "
      "tokens. It has the models' tokenizer. Or key_tokens.json, which alibi evaluate --output "
      "wrote: "
      "the same tokens again, without the evaluator; it decides the rule, too.")
      .only_if(e.task == Task::kPerplexity && !protocol_row(e.protocol).one_pass,
               "evaluate.task is \"perplexity\" and evaluate.protocol not \"one_pass\"")
      .free();
  add(f, "short_length", &k.short_length,
      "Length of the windows of the short context, which slide by half. Default: a sixteenth of "
      "long_length.")
      .range(2, 1 << 24)
      .only_if(asked, condition)
      .free();
  add(f, "long_length", &k.long_length,
      "The same of the long context. Default: the evaluator's trained length.")
      .range(2, 1 << 24)
      .only_if(asked, condition)
      .free();
  add(f, "least_gain", &k.least_gain,
      "A key token's loss under the long context is lower by more than this, in nats.")
      .range(0, 100)
      .only_if(asked, condition)
      .free();
  add(f, "most_loss", &k.most_loss, "And it is below this, in nats.")
      .range(0, 100)
      .only_if(asked, condition)
      .free();
  return f;
}

Fields distributed_fields(DistributedConfig& d) {
  Fields f;
  add(f, "reduce", choice(d.reduce),
      "How gradients are summed. exact: the same bits at any number of processes (on CUDA devices "
      "but for the updates of muon, normuon and mud), each of which updates its share of the "
      "weights and keeps that share's optimizer state. fast: by c10d's "
      "all-reduce, the whole update made by each; bits depend on the number of processes.")
      .counts_if(d.reduce != Reduce::kExact)
      .may_change();
  return f;
}

Fields runtime_fields(RuntimeConfig& r) {
  Fields f;
  add(f, "device", choice(r.device), "auto: cuda where a device is found.").free();
  add(f, "precision", choice(r.precision),
      "Precision of activations; weights and moments stay fp32. auto: bf16 where the processor has "
      "bf16 instructions, fixed at the first start. tf32: fp32, with matrix products in TF32 on "
      "CUDA.");
  add(f, "threads", &r.threads,
      "0: OMP_NUM_THREADS, else all cores, or as many as a container grants.")
      .range(0, 4096)
      .free();
  add(f, "loss_chunk_rows", &r.loss_chunk_rows,
      "Rows of logits in memory at a time; six times as many where a device's kernel writes their "
      "gradient in their place.")
      .range(1, 1 << 24)
      .may_change();
  add(f, "mlp_chunk_rows", &r.mlp_chunk_rows,
      "Positions, of all sequences, that an MLP takes at a time, so that its activations are of "
      "one "
      "chunk; training computes them twice. 0: all.")
      .range(0, 1 << 24)
      .may_change()
      .counts_if(r.mlp_chunk_rows > 0);
  add(f, "recompute", choice(r.recompute),
      "blocks: activation checkpointing. Training keeps only each block's input and recomputes the "
      "rest for the gradient: less memory, more time, the same bits (except gradients that blocks "
      "share: T5 buckets, learned slopes). Reversible layers do without it.")
      .free();
  add(f, "linear_layers", choice(r.linear_layers),
      "How training multiplies bf16 on a CPU, the output layer too. packed: on packed weights, "
      "sums "
      "and GELU within; libtorch: by its operators; last bits differ. auto: packed, unless a "
      "measurement at the first start finds the other faster; fixed then. Set it where fresh runs "
      "should repeat each other's bits.")
      .free();
  add(f, "cuda_graph", &r.cuda_graph,
      "On a CUDA device a micro batch's forward and backward pass is queued as a whole (a CUDA "
      "graph), captured in the first step and held against the same kernels queued one by one, "
      "bit for bit. For small models, whose kernels end sooner than the next is queued; takes "
      "twice "
      "the memory for activations. Without effect with dropout, batch.lanes, batch.length_mixture, "
      "attention kernels that do not give the same bits twice, and in steps that leave targets "
      "out. Has not run on a device yet.")
      .free();
  add(f, "memory_limit_bytes", &r.memory_limit_bytes,
      "A training run that is estimated to need more gets smaller micro batches, or is refused. "
      "Default: the smallest of free memory, control group limits and ulimit -v; of a CUDA device, "
      "what is free.")
      .range(1, 1e18)
      .free();
  return f;
}

Fields attention_fields(AttentionConfig& a) {
  Fields f;
  add(f, "kernel", &a.kernel,
      "auto: the first kernel in the list that supports the problem, on a CUDA device cuda where "
      "its first use agrees with the reference; fastest: there cudnn for up to 2,048 positions "
      "without documents, which does not give the same bits twice; check: the first, with each "
      "call compared; or a name. Results are not bit-identical across kernels.")
      .free();
  add(f, "skip", choice(a.skip),
      "Blocks of keys that tiled kernels skip. exact: those whose weights are all zero; the same "
      "bits as off. epsilon: also those whose weights are below the rounding error of their row.")
      .free();
  return f;
}

}  // namespace alibi
