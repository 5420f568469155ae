"""Figures that the sources state, each beside what was measured here, or why nothing was."""
from results_measured import WITH_FAULT, Comparison, TrainShort, by_round, by_seed_and_round, full, load, nats, percent, place, within
from budgets import read_runs, relative_steps, time_until
from paired import percent as of_nats, ranged
from results_folder import context_reach


def spread(values):
    return f"{min(values) / 1000:.1f}k to {max(values) / 1000:.1f}k"


def table5():
    c = TrainShort("table5")
    alibi = ", ".join(f"alibi-{l} {c.perplexity(f'alibi-{l}', 768):.2f}, {c.against(f'alibi-{l}', 768)}, sinusoidal's loss after {c.time(f'alibi-{l}', 768)} of sinusoidal's time"
                      for l in (128, 256, 768))
    return f"at 768, against sinusoidal trained at 768 ({c.perplexity('sinusoidal-768', 768):.2f}): {alibi}; {c.size()}"


def equal_length():
    rows = []
    for name in ("figure1", "figure1-books"):
        c = Comparison(name)
        rows.append(f"{name}: sinusoidal {c.perplexity('sinusoidal', 128):.1f} against ALiBi {c.perplexity('alibi', 128):.1f}, "
                    f"{c.against('sinusoidal', 128)}")
    small = TrainShort("table5")
    rows.append(f"train-short: {small.perplexity('sinusoidal-128', 128):.2f} against {small.perplexity('alibi-128', 128):.2f}, "
                f"{small.apart('sinusoidal-128', 'alibi-128', 128)}")
    trained = full("default-128")
    rows.append(f"figure1-full: {trained.perplexity('sinusoidal', 128):.2f} against {trained.perplexity('alibi', 128):.2f}, {trained.against('sinusoidal', 128)}")
    return f"L = 128, {'; '.join(rows)}; {c.size()}, train-short's {small.size()}, figure1-full's {trained.size()}. L = 64: sinusoidal not measured here"


def equal_length_others():
    of_length = []
    for length, c, folder in ((512, full("default"), "figure1-full"), (1024, full("default-1024"), "figure1-full"), (128, Comparison("figure1"), "figure1")):
        rows = ", ".join(f"{name} {c.perplexity(name, length):.2f}" for name in ("alibi", "sinusoidal", "rotary", "t5"))
        of_length.append(f"L = {length}: {rows} ({folder}, {c.size()})")
    return "; ".join(of_length)


def gains():
    c, long, arms, near, longer = Comparison("figure1"), full("default"), TrainShort("composer"), full("default-128"), full("default-1024")
    return (f"L = 64: {arms.change('alibi-s0.0625', 1024)} at 16x; 128: {near.change('alibi', 2048)} at 16x after {near.tokens_per_parameter():.0f} tokens a parameter "
            f"(figure1-full, {near.size()}), after {c.tokens_per_parameter():.1f} {c.change('alibi', 1280)} at 10x, {c.change('alibi', 2048)} at 16x; 256: {arms.change('alibi-s0.25', 1024)} at 4x; 512: {long.change('alibi', 8192)} "
            f"at 16x; 1024: {percent(longer.grown('alibi', 8192))} at 8x. 64 and 256: train-short, {arms.size('alibi-s0.25')}; 128: figure1, {c.size()}; 512 and 1024: "
            f"figure1-full, {long.size()} (1024: {longer.made('alibi')})")


def sinusoidal():
    c = full("default")
    rows = ", ".join(f"{c.perplexity('sinusoidal', length):.2f} at {length:,}" for length in (512, 562, 640, 1024, 8192))
    return f"{rows} ({c.perplexity('sinusoidal', 8192) / c.perplexity('sinusoidal', 512):.1f} times the first); {c.size()}"


def other_methods():
    c, lengths = full("default"), (562, 640, 712, 1024, 1312, 2048, 8192)
    rows = "; ".join(f"{name} {', '.join(percent(c.grown(name, length)) for length in lengths)}"
                     for name in ("alibi", "sinusoidal", "rotary", "t5"))
    return f"change at {', '.join(map(str, lengths))}: {rows}; {c.size()}"


def table6():
    c = TrainShort("table5")
    return (f"a step of as many tokens takes, trained at 128 with ALiBi, {c.step('alibi-128', 'sinusoidal-768')} of the time at 768 with sinusoids "
            f"({len(c.steps['alibi-128'])} rounds in turns), attention fused in both; inference: not measured here")


def cost():
    c = Comparison("cost")
    rows = "; ".join(f"{name} {spread(c.runs(name, 'train_tokens_per_second'))} tokens/s, "
                     f"{c.variants[name]['peak_memory_bytes'] / 2**20:.0f} MiB" for name in c.variants)
    return (f"{rows}; {c.size()}. Runs of one method differ as the spread says: less is noise. Measured in turns ALiBi takes "
            "0.997 of sinusoidal's time (tests/bench/RESULTS.md). T5 bias ran on the reference kernel then; it runs on the tiled ones since")


def evaluation_speed():
    curves = {curve["position"]: curve["points"] for curve in load("books", "curve.json")["curves"]}
    rows = ", ".join(f"{name} {spread([p['tokens_per_second'] for p in points])}" for name, points in curves.items())
    lengths = [p["length"] for p in curves["alibi"]]
    return (f"tokens/s over lengths of {min(lengths)} to {max(lengths)}: {rows} (books, one run each, not in turns: no order "
            "follows). Rotary and T5 bias: not measured here")


def books():
    c = Comparison("figure1-books")
    rows = ", ".join(f"{name} {c.change(name, 2048)}" for name in c.variants)
    return f"other books (Toronto's cannot be downloaded), L = 128, change at 16x: {rows}; {c.size()}"


def appendix_b():
    c, in_full = Comparison("appendix-b"), []
    p, text = c.point("alibi", 2048), c.all["text"]
    for name in ("sinusoidal", "rotary"):
        costs = (-c.point(name, 2048)["context_gain" + end] for end in ("", "_high", "_low"))
        in_full.append(f"{name} {ranged(*costs, of_nats)}")
    return (f"L = 128 at 16x, sliding by {c.all['protocol']['split_stride']}: {within(p, 'early_gain', nats)} nats from fewer "
            f"early tokens, {within(p, 'context_gain', nats)} from the longer context (above 0: better), so perplexity with full "
            f"context {of_nats(-p['context_gain'])}; others' with full context: {', '.join(in_full)}. "
            f"{c.size()}; {text['tokens_scored']:,} targets only ({text['selection']}): the intervals are over "
            f"seeds only. L = 512 at 16x, over targets in the last half of both lengths' windows, so that 257 to 512 tokens become more: "
            f"{of_late_targets()}")


def of_late_targets():
    parts = []
    for text in ("default", "books"):
        c = full(text)
        p = c.point("alibi", 8192)
        parts.append(f"{within(p, 'early_gain', nats)} and {within(p, 'context_gain', nats)} on {'Python source' if text == 'default' else text} "
                     f"({c.made('alibi')} seeds)")
    t5 = full("default").point("t5", 8192)
    return "; ".join(parts) + f"; T5 bias on Python source {within(t5, 'early_gain', nats)} and {within(t5, 'context_gain', nats)} (figure1-full)"


def slopes():
    c = Comparison("slopes", "runs")
    names = ("press", "geometric", "learned", "equal", "bias-max-4", "bias-max-16", "half-biased")
    rows = ", ".join(f"{name} {c.perplexity(name, 2048):.2f}" for name in names)
    drawn = [c.perplexity(f"drawn{i}", 2048) for i in range(5)]
    steps = load("slopes", "steps.json")["seconds"]
    step = by_round(relative_steps(steps, "learned", "press"))
    until = time_until(read_runs(place("slopes", "runs", "comparison.json"))[1], steps, "learned", "press")
    reached = f", the published ones' loss at 1x after {by_seed_and_round(until[1])} of their time" if until else ""
    return (f"perplexity at 16x: {rows}, five drawn ones {min(drawn):.2f} to {max(drawn):.2f}; learned against published "
            f"{c.against('learned', 2048)}, at 1x {c.against('learned', 128)}, a step {step} of the time{reached}; {c.size()}")


def reach(c, name):
    """Each seed's useful context in tokens, and the window that it was looked for in."""
    far = [context_reach(words) for words in c.runs(name, "useful_context") if words]
    return f"{name} {', '.join(far)} (windows of {max(c.runs(name, 'far_context_window'))})"


def far_context():
    c, fewer = Comparison("far-context"), Comparison("figure1")
    return (f"useful context of each seed in tokens: {'; '.join(reach(c, name) for name in c.variants)}; {c.size()}. That is how "
            "far back context could be shown to help with about 60,000 targets: a lower bound, at most half a window, "
            f"that grows with the number of targets (with 20,000, in figure1: {reach(fewer, 'alibi')}; after 20 tokens a parameter, L = 512, "
            f"figure1-full: {reach(full('default'), 'alibi')}). far-context and figure1 counted every rise of the loss with an interval above 0, "
            "figure1-full those of more than 0.001 nats")


def composer():
    c = TrainShort("composer")
    arms = ", ".join(f"s = {name[7:]} {c.perplexity(name, 1024):.2f}" for name in c.variants if name.startswith("alibi-s") and "-unfused" not in name)
    unfused, memory = [f"{name}-unfused" for name in ("alibi-s0.25", "learned")], "peak_memory_bytes"
    return (f"learned {c.perplexity('learned', 1024):.2f}; ALiBi {arms}; {c.size()}. s = 1/4 against learned: perplexity {c.against('alibi-s0.25', 1024)}; learned's "
            f"loss after {c.time('alibi-s0.25', 1024)} of learned's time; a step's time {c.step('alibi-s0.25', 'learned')}, unfused "
            f"{c.step('alibi-s0.25-unfused', 'learned-unfused')}; memory {c.ratio('alibi-s0.25', 'learned', memory)}, unfused {c.ratio(*unfused, memory)}. Memory "
            "of fused attention does not grow with the square of the length, and the unfused path here keeps the scores of a few rows at a time: the "
            "source's saving is not to be expected. Models this small are late to learn positions, so that learned ones are far behind")


def knee():
    c = TrainShort("composer")
    rows = ", ".join(f"{1024 * float(s):.0f} {c.apart(f'alibi-s{s}', 'alibi-s1', 1024)}"
                     for s in ("0.5", "0.25", "0.125", "0.0625", "0.03125"))
    return f"perplexity at 1024, from that of ALiBi trained at 1024 (s = 1), trained at {rows}; {c.size('alibi-s1')}"


def zero_shot():
    c, long, small = Comparison("figure1"), full("default"), Comparison("overtrained")
    return (f"perplexity at 2x and 16x: {c.change('alibi', 256)}, {c.change('alibi', 2048)} (L = 128, figure1); "
            f"{full('default-128').change('alibi', 256)}, {full('default-128').change('alibi', 2048)} (L = 128, figure1-full); "
            f"{long.change('alibi', 1024)}, {long.change('alibi', 8192)} (L = 512, figure1-full); "
            f"{percent(full('default-1024').grown('alibi', 2048))}, {percent(full('default-1024').grown('alibi', 8192))} at 8x (L = 1024, figure1-full); {small.change('as-trained', 256)}, "
            f"{small.change('as-trained', 2048)} (L = 128, {small.tokens_per_parameter():.0f} tokens a parameter, overtrained)")


def learned_speed():
    c = Comparison("figure1")
    rows = ", ".join(f"{name} {spread(c.runs(name, 'train_tokens_per_second'))}" for name in ("learned", "alibi", "rotary"))
    return f"share of peak FLOPs: not measured here. Training, tokens/s, L = 128: {rows} (figure1)"


def flatter_slopes():
    c = Comparison("slopes", "runs")
    return ("not feasible: 7B parameters, 65k tokens. Trained from the first step with last bias 16, at 16x of 128: "
            f"{c.perplexity('bias-max-16', 2048):.2f} against {c.perplexity('press', 2048):.2f} with 8 (slopes; {c.size()})")


def mixed_lengths():
    c = Comparison("overtrained")
    return ("not feasible: 3B parameters, 627e9 tokens. Trained on a mixture of lengths up to L: "
            f"{c.point('mixture', 2048)['difference']:+.3f} nats at 16x from the model as trained (overtrained, next table)")


def dense():
    c = Comparison("overtrained")
    rows = ", ".join(f"{c.perplexity('as-trained', length):.2f} at {length}" for length in (128, 256, 512, 2048))
    return (f"perplexity a byte, L = 128, {rows}, {percent(c.point('as-trained', 2048)['change'])} at 16x; {c.size()}, "
            f"{c.tokens_per_parameter():.0f} tokens (bytes) a parameter; windows of each length, not slices")


def sinks():
    c = Comparison("overtrained", "streaming")
    rows = ", ".join(f"{name} {c.perplexity(name, 128):.2f}, {c.perplexity(name, 2048):.2f}" for name in c.variants)
    most = max(abs(c.point(name, p["length"])["loss"] - c.point(name[:-len("-4-sinks")] or "as-trained", p["length"])["loss"])
               for name in c.variants if name.endswith("4-sinks") for p in c.variants[name]["points"])
    return (f"perplexity a byte, streaming through a cache of 128 (1x), 2048: {rows}; {c.size()}. Sinks change the loss by at "
            f"most {most:.3f} nats at any length")


def overtrained():
    c = Comparison("overtrained")
    name, groups = c.all["reference"], {"worse": [], "within 0.01 nats": [], "better": []}
    for other in c.variants:
        if other != name:
            d = c.point(other, 2048)["difference"]
            group = "worse" if d > 0.01 else "better" if d < -0.01 else "within 0.01 nats"
            groups[group].append(f"{other} {c.perplexity(other, 2048):.4g} ({d:+.3f})")
    rows = "; ".join(f"{group}: {', '.join(others) or 'none'}" for group, others in groups.items())
    return (f"{name} {c.perplexity(name, 128):.4g} at 1x, {c.perplexity(name, 2048):.4g} at 16x: "
            f"{'it breaks' if c.point(name, 2048)['change'] > 0 else 'it does not break, there is nothing to repair'}. "
            f"Perplexity of the others at 16x and nats from {name} there, {rows}; {c.size()}, {c.tokens_per_parameter():.0f} "
            "tokens (bytes) a parameter")


def no_positions():
    c = Comparison("figure1")
    return (f"such tasks not measured here; others without positions: [tasks](tasks/). Perplexity without positions: {c.against('none', 128)} from ALiBi at 1x, "
            f"{c.against('none', 2048)} at 16x (figure1, {c.size()}); {from_alibi_at_length('none')}")


def ledger():
    c = Comparison("figure1")
    p = c.point("none", 128)
    return (f"no positions {within(p, 'difference', nats)} nats from ALiBi at 1x; sd over seeds "
            f"{c.point('alibi', 128)['loss_sd']:.3f} (alibi), {p['loss_sd']:.3f} (none); {c.size()}")


def passkeys():
    rows, by_method = [], ""
    for documents in (1, 2):
        results = load("passkey", f"documents-{documents}", "answers.json")["results"]
        cells = [cell for result in results for cell in result["cells"] if not cell["note"]]
        found, trials = (sum(cell[key] for cell in cells) for key in ("right", "trials"))
        above, below = sum(cell["gain_low"] > 0 for cell in cells), sum(cell["gain_high"] < 0 for cell in cells)
        rows.append(f"{documents} document{'s' if documents > 1 else ''}: {found} of {trials:,} keys found, gain above 0 in "
                    f"{above} and below 0 in {below} of {len(cells)} cells, mean "
                    f"{sum(c['gain'] for c in cells) / len(cells):+.3f} nats a token")
        by_method = ", ".join(f"{result['name']} {sum(cell['gain_low'] > 0 for cell in result['cells'] if not cell['note'])}" for result in results)
    return (f"{'; '.join(rows)}. Cells above 0 with 2 documents: {by_method}. The models (2.6M parameters, 2M tokens of Python source) have never seen such a question. A cell is a method, a length and a depth ({len(results)} methods, one "
            f"seed, {cells[0]['trials']} trials); its gain is the answer's loss where another key was stated less that where the "
            "true one was, above 0 where all of the interval (over trials) is. About 2.5 % of cells would lie above 0 by chance; "
            "cells share their keys, so they are not independent")


def from_alibi(comparison, *names):
    c = Comparison(comparison)
    parts = [f"{name} {c.against(name, 128)} and {c.against(name, 2048)}" for name in names]
    return f"perplexity from ALiBi's at 1x and at 16x: {'; '.join(parts)}; {c.size()}"


def from_alibi_at_length(name):
    c = full("default")
    return f"{c.against(name, 512)} and {c.against(name, 8192)} after {c.tokens_per_parameter():.0f} tokens a parameter (figure1-full, {c.size()})"


def kerple():
    return f"{from_alibi('biases', 'kerple_log', 'kerple_power')}; kerple_log {from_alibi_at_length('kerple-log')}"


def forget_gates():
    return f"{from_alibi('biases', 'forgetting')}; {from_alibi_at_length('forgetting')}; {WITH_FAULT}"


def other_biases():
    return from_alibi("biases", "bam", "sandwich", "fire", "infused", "alibi_scalable", "rotary_75")


def dropped():
    curves = {c["name"]: {p["length"]: p["perplexity"] for p in c["points"]} for c in load("drope", "curve", "curve.json")["curves"]}
    ntk = {p["length"]: p["perplexity"] for p in load("drope", "ntk", "curve.json")["curves"][0]["points"]}
    rows = [*curves.items(), ("rotary, stretched by NTK", ntk)]
    parts = [f"{name} {of[128]:.1f}, {of[256]:.1f}, {of[1280]:.1f}, {of[2048]:.1f}" for name, of in rows]
    return f"perplexity at 1x, 2x, 10x, 16x of 128: {'; '.join(parts)}; one seed, a tenth of the tokens more"


def sparse():
    c = Comparison("patterns")
    names = [name for name in c.variants if name != c.all["reference"]]
    trained = c.all["variants"][0]["trained_length"]
    parts = [f"{name} {c.against(name, trained)} and {c.against(name, 16 * trained)}" for name in names]
    return f"trained at {trained}, perplexity from that of all keys at 1x and 16x: {'; '.join(parts)}; {c.size()}"


NOT_BUILT = "not measured here: not built"

# Tay et al. 2020, what a class is, and why it is not built.
CLASSES = [
    ("recurrence (Transformer-XL)", "keys and values of the segment before are kept while the next one trains", "windows with "
     "a rolling cache read the same past at evaluation; training here is on shuffled sequences, which have none"),
    ("memory (Set Transformer, global memory)", "a few vectors of their own that all tokens read and write", "`global(G)` gives "
     "the first tokens that part; vectors without tokens would change what a position is"),
    ("learnable patterns (Routing, Sinkhorn)", "keys are clustered or sorted by their content", "Reformer's hashed keys "
     "are built (`lsh`): they need no training of clusters, and can be cut so that no later token moves a border; learned clusters can't"),
    ("compressed patterns (Memory Compressed, Compressive)", "far keys are pooled by strided convolution", "pooled keys mix "
     "distances, on which a linear bias depends; not asked for"),
    ("downsampling (Funnel, Perceiver)", "later layers have fewer positions", "a decoder predicts at every position"),
    ("low rank (Linformer)", "keys and values are projected to a fixed number along the sequence", "the projection has a fixed "
     "length and mixes the future into the past"),
    ("kernels (Performer, linear attention)", "softmax is replaced by a product of features, linear in the length",
     "no scores to add a bias to; another model, not another mask"),
    ("experts (Switch, GShard, GLaM)", "each token passes some of many MLPs", "about parameters a token, not about length"),
    ("Long Range Arena", "long listops, bytes of text, retrieval, images, pathfinder", "classification with encoders; this "
     "program trains decoders on text"),
]
ROWS = {
    "Press et al. 2021": [
        ("table 5: at 3072, ALiBi trained at 128 / 256 / 512 / 3072 against sinusoidal trained at 3072",
         "20.28 / 19.03 / 18.40 / 17.60 against 18.67 (+8.6 / +1.9 / -1.4 / -5.7 %)", table5, "train-short"),
        ("table 5: no extrapolation, L = 64 and 128: sinusoidal is better",
         "sinusoidal 28.03 against ALiBi 28.46 (-1.5 %); 23.81 against 23.98 (-0.7 %)", equal_length, "figure1"),
        ("table 5: no extrapolation, L = 512 / 1024 / 3072", "ALiBi 19.73 / 18.66 / 17.60; sinusoidal 20.05 / 19.34 / 18.67; "
         "rotary 20.07 / 19.33 / 18.57; T5 bias 19.65 / 18.80 / 18.01", equal_length_others, "figure1-full"),
        ("table 5: ALiBi's change from L to 3072, non-overlapping, L = 64 / 128 / 256 / 512 / 1024",
         "-24.3 / -15.4 / -10.6 / -6.7 / -3.8 % (words of WikiText-103)", gains, "figure1"),
        ("table 2: sinusoidal, L = 512, at 532 / 602 / 15,512", "19.91 / 20.40 / 406.01 (20 times the first)", sinusoidal,
         "figure1-full"),
        ("section 2.2: how far each holds at L = 512", "sinusoidal 20 to 50 tokens more, rotary 100 to 200, T5 bias 600 to 800; "
         "ALiBi still improves past 12,000", other_methods, "figure1-full"),
        ("table 6: ALiBi 512, sinusoidal 3072, rotary 3072, T5 bias 3072, ALiBi 3072, used at 3072", "training 28.3k, 15.3k, "
         "11.5k, 4.3k, 15.5k words/s (1.85x the second); inference 13.6k, 13.6k, 12.2k, 7.3k, 13.6k; test perplexity 19.08, "
         "19.38, 19.28, 18.73, 18.30", table6, "train-short"),
        ("table 1: training, L = 1024, from sinusoidal",
         "ALiBi -0.8 % speed, +0.5 % memory; rotary -32 %, +19 %; T5 bias -50 %, +9 %", cost, "cost"),
        ("table 1: evaluation speed, L = 1024", "sinusoidal 77.8k, ALiBi 76.4k, rotary 39.4k, T5 bias 20.2k words/s",
         evaluation_speed, ""),
        ("table 7: sliding by 512 at 3072, dev", "sinusoidal 3072 17.95, rotary 3072 17.98, T5 bias 3072 17.37, ALiBi 3072 "
         "16.97; ALiBi 512 18.30, behind all of these; kNN-LM 15.81",
         "not feasible: 247M parameters and 21e9 tokens; small models were slid by 32 only (below)", ""),
        ("tables 8 to 10, Toronto books: ALiBi 512, ALiBi 3072, sinusoidal 3072, used at 3072", "dev 13.55 (14.29 at 512, so "
         "-5.2 %), 13.15, 14.46; test 10.98, 10.73, 11.67; sliding by 512, dev 13.76, 12.70, 14.06", books, "figure1-books"),
        ("tables 11 and 12: 1.3B parameters on CC100 and RoBERTa's text", "no gain at equal length (512: ALiBi 9.79, sinusoidal "
         "9.71; 1024: 9.16, 9.15; 2048: 8.84, 8.83); least at 2x (ALiBi 512: 9.30 at 1024, 9.54 at 2048; sinusoidal 512: 37.05, "
         "105.42); same wall time: ALiBi 512 9.30 against sinusoidal 1024 9.24, ALiBi 1024 8.92 against sinusoidal 2048 9.01 "
         "with 3.1 GB less", "not feasible: 128 V100; 5,500 to 6,700 GPU hours a model", ""),
        ("tables 13 to 15: L = 512, at 512 and 3072, sliding by 1", "ALiBi 17.98, 18.30: the longer context costs 1.8 %, all of "
         "the gain in table 5 is early tokens; T5 bias 17.92, 30.77; sinusoidal 18.35, 360.12", appendix_b, "appendix-b"),
        ("appendix B: whether ALiBi uses the longer context",
         "it \"might not be using contexts longer than the ones it was trained on\"", far_context, "far-context"),
        ("section 3: other slopes", "learned ones extrapolate no better and are 3 % slower; drawn ones vary much", slopes,
         "slopes"),
    ],
    "Composer, LLM Foundry and models trained with ALiBi": [
        ("Composer: learned 1024 against ALiBi s = 1/4, at 1024, 52M / 83M / 125M", "30.78 to 30.54, 26.57 to 26.19, 24.11 to "
         "23.49; time 0.86 / 0.85 / 0.84, memory 0.86 / 0.83 / 0.78", composer, "train-short"),
        ("Composer's warning",
         "\"significantly degraded\" when trained at 128 or less; not to be trained at 256 or less or s <= 1/32", knee,
         "train-short"),
        ("LLM Foundry: how far beyond L ALiBi can be used", "20 to 100 % longer", zero_shot, "figure1-full"),
        ("LLM Foundry: share of peak FLOPs, MPT-7B on 8 A100", "learned 65.7, ALiBi 64.5, rotary 64.5 or 62.3 %", learned_speed,
         "figure1"),
        ("MPT-7B StoryWriter: finetuned at 65k with last bias 16 instead of 8", "generates to 84k tokens", flatter_slopes,
         "slopes"),
        ("BTLM-3B-8K: 470e9 tokens at 2k, then 157e9 at 8k", "good to about 10k (2k alone \"does not extrapolate well\"); slices "
         "of pg19 6.2 to 8.0 until 9.2k, then 10.6 to 59.9; with sinks 6.2 to 9.9 until 16k", mixed_lengths, "overtrained"),
        ("MPT-7B, trained at 2048, dense, slices of pg19 of 1024 tokens (attention-sinks CSVs, one text)",
         "6.95, 7.26, 10.1, 28.3 (3-4k), 113.9 (4-5k)", dense, "overtrained"),
        ("the same through a window of 1024 without sinks; with 4 sinks and 1020 recent tokens",
         "6.95, 64.8, 157, 171k, 253; 6.95, 7.81, 9.62, 8.53, 9.03", sinks, "overtrained"),
    ],
    "Other work": [
        ("Al-Khateeb et al. 2023: over-trained ALiBi", "extrapolates about 12 % beyond L; with slopes scaled by L / length to 2x",
         overtrained, "overtrained"),
        ("NTK-ALiBi: BLOOM-1b7 as it is, slopes interpolated, NTK", "LongEval topics at 3k 2, 74, 96 %; lines at 5k 0, 30, 40 %; "
         "TREC at 5k 13.0 to 61.5 % (NTK)",
         "not feasible: needs its weights and tasks; stretched slopes are in the row above", ""),
        ("KERPLE: log kernel against ALiBi, 162M, L = 512 (a leaderboard; lengths not stated)", "arXiv 4.45 against 4.87, GitHub "
         "2.42 against 2.57, OpenWebText2 16.2 against 16.4; WikiText-103 17.56", kerple, "biases"),
        ("CABLE: 334M, FineWeb-Edu, trained at 1024, at 8192", "22.22 against 22.81 of sinusoidal trained at 8192",
         "its bias is that of forget gates with the signs of its weights turned: the next row", ""),
        ("FoX: forget gates, 355M and 770M, tasks (a table of another paper)", "FoX 52.96, 56.30; ALiBi 52.87, 56.44; rotary 51.73, "
         "55.76", forget_gates, "biases"),
        ("FoX with ACP: attention pruned",
         "about 70 % fewer FLOPs in attention, which is 2 to 3 times as fast; 10 to 40 % in all",
         NOT_BUILT + "; what leaving out blocks of keys saves with ALiBi is in tests/bench/RESULTS.md", ""),
        ("BAM, Sandwich, FIRE, position-infused attention, scalable softmax, p-RoPE", "not transcribed here", other_biases,
         "biases"),
        ("CoPE, DAPE", "not transcribed here", NOT_BUILT, ""),
        ("DroPE: a rotary model goes on without positions", "not transcribed here", dropped, "drope"),
        ("Sparse patterns: Longformer, Sparse Transformer, BigBird, Reformer, hard-ALiBi", "not transcribed here", sparse, "patterns"),
        ("NoPE (Kazemnejad et al. 2023): 107M, reasoning tasks, 20 to 40", "mean reciprocal rank 0.69, the best; ALiBi and "
         "rotary \"not well suited\" to such tasks", no_positions, "figure1"),
        ("A public ledger of small runs (1.3M parameters, 3M tokens), paired", "ALiBi and no positions 0.155 nats apart; "
         "KERPLE's log kernel 0.056 worse than linear; sd over seeds 0.012 to 0.015", ledger, "figure1"),
        ("Mohtashami and Jaggi 2023: passkey retrieval", "7B models: to 32k tokens", passkeys, "passkey"),
    ],
}
