"""Questions that the results answer: in short, how sure that is, what stands behind it, and its picture."""
import math
import os
import statistics
import sys
import typing

from results_measured import REPOSITORY, WITH_FAULT, Comparison, Missing, TrainShort, full, load, middle, nats, optional, percent, place, within

REPRODUCE = os.path.join(REPOSITORY, "configs", "reproduce")
sys.path[:0] = [os.path.join(REPRODUCE, name) for name in ("against-pytorch", "retrofit", "tasks")]
from answers import FAR, TIMES, arms_of, by_depth, leaders, learned_by, learned_by_all, read_tasks, seeds_of, trained_length, was_learned  # noqa: E402
from bars import bars  # noqa: E402
from budgets import median_and_spread, read_runs, read_steps, relative_steps, time_until  # noqa: E402
from curves import HOLDS, LEVEL, TITLES, by_budget, holds_up_to, kept_curve, lowest_by_budget, only_measured_otherwise, usable_lengths  # noqa: E402
from exchanged import Exchanged  # noqa: E402
from paired import apart, by_seed, differences_of, interval, losses, percent as of_nats, ranged  # noqa: E402
from race import OURS, sooner  # noqa: E402
from results_folder import finished  # noqa: E402


class Answer(typing.NamedTuple):
    short: str   # of one line or two
    sure: str    # seeds, size, tokens
    behind: list  # sentences with the intervals; one that needs other experiments is a function, and left out where these are missing


def called(name):
    return TITLES.get(name, name)


def counted(seeds):
    return f"{seeds} seed{'s' if seeds > 1 else ''}"


def counted_from_to(seeds):
    return (f"{min(seeds)} to " if min(seeds) < max(seeds) else "") + counted(max(seeds))


def sure(c, *variants, written="{seeds}; {size} parameters, {each} tokens a parameter"):
    """Seeds of those, or of the reference; size and tokens of the first."""
    variants = variants or (c.all["reference"],)
    each = c.tokens_per_parameter(variants[0])
    return written.format(seeds=counted_from_to([c.made(variant) for variant in variants]), size=c.size(variants[0]).split(" ")[0], each=f"{each:.{1 if each < 10 else 0}f}")


def briefly(c, *variants):
    """The same in a row of the table of answers, whose head says what these are."""
    return sure(c, *variants, written="{seeds}; {size}; {each}")


def present(c, names):
    """Those of which a run did not fail."""
    return [name for name in names if name in c.variants and c.made(name)]


def not_shown(c, name, length, other=None):
    """Whether the interval of its difference from the reference, or from another variant, holds 0; of two seeds, whether they disagree."""
    each = by_seed(c.all, name, other or c.all["reference"], length)
    if len(each) == 2:
        return min(each) < 0 < max(each)
    _, low, high = interval(each)
    return low is not None and low < 0 < high


def in_short():
    """What a reader who chooses a method wants to know."""
    c = full("default")
    beyond = map(called, reading(c, extrapolating(c)))
    best = min((name for name in c.variants if c.made(name)), key=lambda name: c.perplexity(name, 512))
    level = [called(name) for name, variant in c.variants.items() if name != best and not only_measured_otherwise(variant) and not_shown(c, name, 512, best)]
    return (f"In short, on Python source: beyond the trained length {', then '.join(beyond)}; at the trained length {called(best)}" + (f" or {', '.join(level)}, not told apart" if level else "")
            + f" ({sure(c)}).{optional(rotary_by_budget)}{optional(in_short_on_books)}")


def rotary_by_budget():
    """At which budgets rotary is level with ALiBi at the trained length, and with more parameters."""
    budgets = [(f"{tokens:.0f}", points["rotary"]["loss"] - points["alibi"]["loss"]) for tokens, points in by_budget(full("default-trend").all) if {"rotary", "alibi"} <= points.keys()]
    larger = one_seed_apart(full("default-larger"), "rotary", 512)
    level = [tokens for tokens, apart_by in budgets if abs(apart_by) <= LEVEL]
    return (f" Rotary is ahead of ALiBi there at {' and '.join(tokens for tokens, apart_by in budgets if apart_by < -LEVEL)} tokens a parameter, level at {', '.join(level)}"
            + (f" and with {of_size(full('default-larger'))}" if abs(larger) <= LEVEL else "") + " (1 seed each).")


def in_short_on_books():
    """Which of the same methods are shown to be ahead of ALiBi at the longest length, on the other text."""
    books = full("books")
    names = [name for name in reading(full("default"), extrapolating(full("default"))) if name != "alibi" and name in present(books, [name])]
    ahead = [name for name in names if not not_shown(books, name, 8192) and books.point(name, 8192)["difference"] < 0]
    return f" On books, of these, shown to be ahead of ALiBi at 16x: {' and '.join(map(called, ahead)) or 'none'}."


def change_or_level(c, name, length):
    return f"{called(name)} {'no difference shown' if not_shown(c, name, length) else middle(c.against(name, length))}"


OTHER_RATE = 0.004  # at which more was trained than the runs of figure1-full's sections, all with seed 0


def loss_at_other_rate(method, length):
    curve = load("figure1-full", "full-length-rates", f"{method}-{length}-{OTHER_RATE:g}.json")["curves"][0]
    return next(point["loss"] for point in curve["points"] if point["length"] == length)


def sinusoidal_at_other_rate(case, length):
    """From ALiBi at the rate chosen for it."""
    alibi = losses(full(case).all, "alibi", length)[0]
    return f"{of_nats(loss_at_other_rate('sinusoidal', length) - alibi)} with sinusoidal at {OTHER_RATE:g}"


def both_at_other_rate(length):
    apart_by = loss_at_other_rate("sinusoidal", length) - loss_at_other_rate("alibi", length)
    return f"{of_nats(apart_by)} with both at {OTHER_RATE:g}"


def other_rate(case, length):
    """Sinusoidal from ALiBi, each at the rate chosen, and where it takes another."""
    mine, its = (losses(full(case).all, name, length)[0] for name in ("sinusoidal", "alibi"))
    return f"{of_nats(mine - its)} at the learning rate that a short trial chose, {sinusoidal_at_other_rate(case, length)}"


def trend():
    """Sinusoidal from ALiBi, by tokens a parameter, all at one rate each."""
    c = full("default-trend")
    changes = {tokens: points["sinusoidal"]["loss"] - points["alibi"]["loss"] for tokens, points in by_budget(c.all) if {"sinusoidal", "alibi"} <= points.keys()}
    rates = {f"{variant['changes']['optimizer']['learning_rate']:g}" for name, variant in c.variants.items() if name.startswith("sinusoidal")}
    late = "; it learns late, and comes nearer in the end" if max(changes, key=changes.get) < max(changes) else ""
    return (f"{', '.join(f'{of_nats(change)} at {tokens:.0f}' for tokens, change in changes.items())} (one seed, other targets than above, all at the rate that a short trial chose for sinusoidal, {', '.join(rates)}: "
            f"what the tokens do is not separated from the rate{late})")


FAR_ABOVE = 1.5  # times ALiBi's perplexity: holding that is no answer


def holding(c):
    """{method: the length up to which it holds} of those that were measured at the longest."""
    return {name: holds_up_to(variant)[0] for name, variant in c.variants.items() if variant["points"][-1]["perplexity"] is not None}


def flat_methods(c):
    """Those that hold up to the longest length, the lowest there first."""
    return sorted((name for name, last in holding(c).items() if last == 8192), key=lambda name: c.perplexity(name, 8192))


def extrapolating(c):
    """Those of them that are not far above ALiBi."""
    return [name for name in flat_methods(c) if c.perplexity(name, 8192) < FAR_ABOVE * c.perplexity("alibi", 8192)]


def longer_texts():
    c = full("default")
    until, flat, good = holding(c), flat_methods(c), extrapolating(c)
    ends = sorted((name for name in until if name not in flat), key=lambda name: -until[name])
    least, most = (of((c.grown(name, 8192), name) for name in ends) for of in (min, max))
    others = [f"{called(name)} {c.perplexity(name, 8192):.2f} ({c.change(name, 8192)})" for name in flat if name not in good]
    best = [f"{called(name)} {c.perplexity(name, 8192):.2f} ({middle(c.change(name, 8192))}{'' if i else ' from 1x'})" for i, name in enumerate(reading(c, good))]
    at_2x = sorted((name for name in until if c.perplexity(name, 1024) < FAR_ABOVE * c.perplexity("alibi", 1024)), key=lambda name: c.perplexity(name, 1024))
    usable = {called(name): usable_lengths(place("figure1-full", "default", "measured"), c.all, name).split(" (")[0] for name in reading(c, good)}
    alike = f"of each {min(usable.values())} tokens" if len(set(usable.values())) == 1 else ', '.join(f'{name} {of}' for name, of in usable.items())
    return Answer(
        f"perplexity at 16x: {', '.join(best)}. It rises with {', '.join(map(called, ends))}: by {100 * least[0]:.0f} % ({called(least[1])}) to {100 * most[0]:.0f} % ({called(most[1])})",
        briefly(c, *reading(c, good)),
        [f"Perplexity at 8,192, from that at 512 (1x): {', '.join(f'{called(name)} {c.change(name, 8192)}' for name in good)}",
         f"Usable length over 1x: {alike}. It says that reading so much is no harm, not that all of it helps: see \"Does ALiBi use the longer context?\"",
         f"Does not rise either, but is far above: {', '.join(others) or 'none'}",
         f"Does not rise, but reads no longer context (all of its gain is fewer early tokens): {', '.join(f'{called(name)} {c.perplexity(name, 8192):.2f}' for name in good if name not in reading(c, good)) or 'none'}",
         f"At 2x, perplexity: {', '.join(f'{called(name)} {c.perplexity(name, 1024):.2f}' + (' (no difference shown from ALiBi)' if not_shown(c, name, 1024) else '') for name in at_2x)}",
         lambda: f"Forget gates from KERPLE's log at 16x: {c.apart('forgetting', 'kerple-log', 8192)}",
         longer_books,
         on_key_tokens,
         f"Others are at most {100 * HOLDS:.0f} % above their own perplexity at 1x up to this length (in brackets: at 8,192): "
         + "; ".join(f"{called(name)} {until[name]:,} ({percent(c.grown(name, 8192))})" for name in ends),
         lambda: f"Rotary with YaRN at evaluation, from ALiBi's perplexity: {c.against('rotary-yarn', 1024)} at 2x, {c.against('rotary-yarn', 2048)} at 4x, {c.against('rotary-yarn', 8192)} at 16x",
         fine_tuned])


def on_key_tokens():
    """Perplexity of key tokens at the longest length, from ALiBi's, on both texts."""
    def on(text):
        c = full(text)
        keys = {name: c.point(name, 8192)["key"] for name in present(c, ("forgetting", "kerple-log", "rotary-yarn")) if "key" in c.point(name, 8192)}
        return ", ".join(f"{called(name)} {ranged(*(key[f'difference{end}'] for end in ('', '_low', '_high')), of_nats)}" for name, key in keys.items())

    return f"On key tokens, which a judge finds to need long context, perplexity at 16x from ALiBi's: {on('default')}; on books {on('books')}"


def longer_books():
    """Those that hold, on the other text: from their own 1x, and from ALiBi."""
    books = full("books")
    names = [name for name in flat_methods(books) if books.perplexity(name, 8192) < FAR_ABOVE * books.perplexity("alibi", 8192)]
    return (f"Books, at 16x from 1x, and from ALiBi: {', '.join(f'{called(name)} {middle(books.change(name, 8192))}' + (f', {books.against(name, 8192)}' if name != 'alibi' else '') for name in names)}. "
            f"Forget gates from KERPLE's log {books.apart('forgetting', 'kerple-log', 8192)}. Longer context brings, in nats: "
            + ", ".join(f"{called(name)} {within(books.point(name, 8192), 'context_gain', nats)}" for name in names))


def reading(c, names):
    """Those to which longer context brings something at the longest length."""
    return [name for name in names if (c.point(name, 8192)["context_gain_low"] or 0) > 0]


def fine_tuned():
    """Rotary positions that a little training in windows of the longest length follows, beside what never saw them."""
    c, short = full("default-1024"), full("default")
    arm = c.variants["rotary-yarn-trained"]
    beside = ", ".join(f"{called(name)} {math.exp(losses(c.all, name, 8192)[0]):.2f} ({math.exp(losses(short.all, name, 8192)[0]):.2f})" for name in ("kerple-log", "alibi"))
    return (f"Fine-tuned on long windows, so no extrapolation: rotary trained on 1,024, then with YaRN on {arm['train_targets'] / 1e6:.1f}M tokens in windows of 8,192, has "
            f"{c.perplexity('rotary-yarn-trained', 8192):.2f} at 8,192 ({counted(c.made('rotary-yarn-trained'))}). Trained on 1,024 alone, seed 0 (in brackets: on 512, with 4 places of the text a step in place of 2): {beside}")


def one_seed_apart(c, name, length):
    """Its loss from ALiBi's, of seed 0."""
    return losses(c.all, name, length)[0] - losses(c.all, "alibi", length)[0]


def from_alibi_of_one_seed(c, name, length):
    """Perplexity from ALiBi's of one seed; level where seeds alone differ by as much."""
    each = one_seed_apart(c, name, length)
    return f"level ({of_nats(each)})" if abs(each) <= LEVEL else of_nats(each)


def larger_at(length):
    """Sinusoidal and rotary from ALiBi with three times the parameters and three times the tokens."""
    c = full("default-larger")
    return ", ".join(f"{called(name)} {from_alibi_of_one_seed(c, name, length)}" for name in present(c, ("sinusoidal", "rotary")))


def of_size(c):
    return ", ".join(c.size("alibi").split(", ")[:2]).replace(", ", " and ")


def after_more_tokens():
    """How far others are from ALiBi after three times the tokens, with the same parameters and with three times as many."""
    same, larger = full("default-84"), full("default-larger")
    (few, tokens), (many, others) = (c.size("alibi").split(", ")[:2] for c in (same, larger))
    assert tokens == others, (tokens, others)
    return (f"With {tokens} (one seed): {few.removesuffix(' parameters')} parameters, sinusoidal {of_nats(one_seed_apart(same, 'sinusoidal', 512))} (both at {OTHER_RATE:g}); "
            f"{many}, {larger_at(512)}")


def more_tokens_alone():
    """Sinusoidal from ALiBi with the tokens of the larger models, but not their parameters."""
    c, (before, seeds) = full("default-84"), lower_rate()
    return (f"Tokens alone bring sinusoidal near: with {of_size(c)}, both at {OTHER_RATE:g}, it is {of_nats(one_seed_apart(c, 'sinusoidal', 512))} from ALiBi (1 seed), "
            f"after {full('default').size('alibi').split(', ')[1]} at the same rate {before} ({counted(seeds)})")


def lower_rate():
    """Sinusoidal at a rate that its trials did not choose, from ALiBi at the one chosen for it, and how many seeds say so."""
    mine, its = losses(full("default-004").all, "sinusoidal", 512), losses(full("default").all, "alibi", 512)
    return apart(differences_of(mine, its)), len(mine.keys() & its.keys())


def briefly_at_the_lower_rate():
    return f" ({middle(lower_rate()[0])} at {OTHER_RATE:g}, which short trials did not choose)"


def at_the_lower_rate():
    said, seeds = lower_rate()
    return f"At {OTHER_RATE:g}, a rate that its short trials did not choose, sinusoidal is {said} from ALiBi ({counted(seeds)})"


def at_trained_length():
    c = full("default")
    shown = present(c, ("forgetting", "rotary", "kerple-log", "t5", "sinusoidal"))

    def on_books():
        books = full("books")
        return f"Books: {', '.join(f'{called(name)} {books.against(name, 512)}' + (' (1 seed)' if books.made(name) == 1 else '') for name in present(books, shown))}"

    def lowest():
        return (f"The lowest of ALiBi, sinusoidal and rotary, by tokens a parameter (one seed; two methods: at most {LEVEL:g} nats apart): "
                + ", ".join(f"{' and '.join(map(called, name.split(' and ')))} at {tokens:.0f}" for tokens, name in lowest_by_budget(full("default-trend").all)))

    pairs = [("forgetting", "rotary"), ("rotary", "kerple-log"), ("forgetting", "kerple-log")]
    between = ", ".join(f"{called(one)} from {called(other)} {c.apart(one, other, 512)}" for one, other in pairs if {one, other} <= set(shown))
    level = f" (not told apart from {called('forgetting')})" if {"forgetting", "rotary"} <= set(shown) and not_shown(c, "forgetting", 512, "rotary") else ""
    return Answer(
        f"from ALiBi's perplexity: {', '.join(change_or_level(c, name, 512) + (level if name == 'rotary' else '') for name in shown if name != 't5')}{optional(briefly_at_the_lower_rate)}{optional(lambda: '. ' + after_more_tokens())}",
        briefly(c, *shown),
        [f"Python source, from ALiBi's perplexity: {', '.join(f'{called(name)} {c.against(name, 512)}' for name in shown)}",
         f"Between them: {between}",
         on_books,
         "The paper, on WikiText-103: sinusoidal +1.6 %, rotary +1.7 %",
         lambda: f"How far sinusoidal is behind depends on its learning rate (seed 0): {other_rate('default', 512)}. Trained on 128 tokens: {other_rate('default-128', 128)}, {both_at_other_rate(128)}, a rate "
         f"at which ALiBi is {of_nats(loss_at_other_rate('alibi', 128) - losses(full('default-128').all, 'alibi', 128)[0])} from itself at its own",
         at_the_lower_rate,
         by_places,
         more_tokens_alone,
         lambda: f"With {of_size(full('default-larger'))}, from ALiBi's perplexity: {larger_at(512)} at 512, {larger_at(8192)} at 8,192. One seed; with 1.3M parameters the standard deviation of such a difference at 512 over seeds is "
         + ", ".join(f"{called(name)} {100 * statistics.stdev(by_seed(c.all, name, 'alibi', 512)):.0f} %" for name in ("sinusoidal", "rotary")),
         lambda: f"Sinusoidal's distance from ALiBi depends on the tokens: by tokens a parameter {trend()}",
         lambda: f"Sinusoidal falls behind along a window: {behind('sinusoidal', 512)}",
         lowest])


def apart_by_rows(case):
    """Sinusoidal from ALiBi where each row of a step is drawn from the text by itself."""
    rows = full(case)
    return f"{middle(rows.against('sinusoidal', 512))} ({counted(rows.made('sinusoidal'))}) after {rows.tokens_per_parameter():.0f} tokens a parameter"


def by_places():
    """What more places of the text in a step change, at one rate."""
    each = [optional(apart_by_rows, case) for case in ("default-rows", "default-rows-40")]
    if not any(each):
        raise Missing("figure1-full")
    return (f"It may depend on the places of the text that a step sees (one seed; less than seeds differ): with each row drawn by itself, 16 places instead of 4, both at {OTHER_RATE:g}, "
            f"sinusoidal is from ALiBi {', '.join(filter(None, each))}")


def behind(name, length):
    """Loss from ALiBi's by place in the window: of its 5th to 8th token, and of its last half."""
    bins, measured = {}, place("figure1-full", "default", "measured")
    for method in (name, "alibi"):
        curves = [curve for run in full("default").all["runs"] if run["variant"] == method and not run["failure"] and (kept := kept_curve(measured, run)) for curve in [kept[1]]]
        of_length = [{b["last"]: b["loss"] for one in curve["loss_by_position"] if one["length"] == length for b in one["bins"]} for curve in curves]
        bins[method] = {last: statistics.mean(one[last] for one in of_length) for last in (8, length)}
    early, late = (bins[name][last] - bins["alibi"][last] for last in (8, length))
    return f"{early:+.2f} nats on tokens 5 to 8, {late:+.2f} on {length // 2 + 1} to {length}"


SHARES_OF_LENGTH = {"a half": 0.5, "a quarter": 0.25, "an eighth": 0.125, "a sixteenth": 0.0625}


def how_short():
    c, t = TrainShort("composer"), TrainShort("table5")
    shares = [f"{words} {'no difference shown' if not_shown(c, f'alibi-s{s}', 1024, 'alibi-s1') else middle(c.apart(f'alibi-s{s}', 'alibi-s1', 1024))}" for words, s in SHARES_OF_LENGTH.items()]
    return Answer(
        f"with rows cut from sequences, perplexity at 1,024 after training on a share of that length, from training on all of it: {', '.join(shares)}. With rows drawn one by one, at other rates, shorter is better: "
        f"at 768 {' and '.join(middle(t.apart(f'alibi-{length}', 'alibi-768', 768)) + f' after training on {length}' for length in (256, 128))}, from training on 768",
        briefly(c, "alibi-s1"),
        ["What each gains from its own trained length to 1,024 is fewer early tokens, not longer context",
         "The same few places of the text (`batch.draw=sequences`), perplexity at 1,024 from that of ALiBi trained at 1,024: "
         + ", ".join(f"trained at {1024 * s:.0f} {c.apart(f'alibi-s{s}', 'alibi-s1', 1024)}" for s in SHARES_OF_LENGTH.values()),
         lambda: split_of(c, [f"alibi-s{s}" for s in SHARES_OF_LENGTH.values()], 1024, "Of the change from its own trained length to 1,024, longer context is, in nats, by share of the length"),
         f"Each row drawn by itself (`batch.draw=rows`), so that shorter training means more places of the text (rates differ, too), at 768 from that of ALiBi trained at 768: {', '.join(f'trained at {length} ' + t.apart(f'alibi-{length}', 'alibi-768', 768) for length in (256, 128))}",
         f"Time to the loss of sinusoidal positions trained at 768, of their time: ALiBi trained at 128 {t.time('alibi-128', 768)}, at 768 {t.time('alibi-768', 768)}",
         drawn_rows])


def how_drawn():
    """Each row of a step from its own place of the text, or rows cut from few long sequences."""
    c, rows, first = Comparison("windows"), full("default-rows"), full("default")

    def at(length):
        return of_nats(losses(rows.all, "alibi", length)[0] - losses(first.all, "alibi", length)[0])

    def against_methods():
        lowest = min((name for name in present(first, ("forgetting", "kerple-log", "rotary"))), key=lambda name: losses(first.all, name, 8192)[0])
        return (f"Trained so, ALiBi has {math.exp(losses(rows.all, 'alibi', 8192)[0]):.2f} at 8,192, where the best other method has {math.exp(losses(first.all, lowest, 8192)[0]):.2f} ({called(lowest)}) with rows cut from sequences "
                "(both seed 0). What other methods gain by it: sinusoidal and rotary are in [figure1-full](figure1-full/), forget gates and KERPLE's log were not trained so")

    return Answer(
        f"each from its own place of the text (`batch.draw=rows`): ALiBi {at(512)} at 1x, {at(8192)} at 16x, as much as the best position method brings",
        briefly(rows, "alibi"),
        [against_methods,
         "Rows cut from a long sequence are what the reshape of `train_sequence_length_scaling` gives where `batch.draw` is `sequences`, as in Composer; most experiments here train so",
         drawn_rows])


def split_of(c, names, length, head):
    """What longer context brings at that length over the trained one, where it was measured."""
    said = [f"{name.removeprefix('alibi-s')} {within(c.point(name, length), 'context_gain', nats)}" for name in names if c.point(name, length).get("context_gain") is not None]
    return f"{head}: {', '.join(said)}" if said else ""


def drawn_rows():
    """What more places of the text in a step are worth, at one length."""
    c = Comparison("windows")
    return (f"What the places are worth at one trained length, 128, with NorMuon ({c.size()}, {c.tokens_per_parameter():.1f} tokens a parameter): with each row drawn by itself perplexity is {c.against('drawn-128', 128)} from that with rows cut from 16 "
            f"sequences of 512; with rows cut from 4 sequences of 2,048, {c.against('reshaped-2048', 128)} ([windows](windows/))")


def uses_context():
    c, p = full("default"), full("default").point("alibi", 8192)

    def on_books():
        books, b = full("books"), full("books").point("alibi", 8192)
        shown = b["context_gain_low"] is not None and b["context_gain_low"] > 0
        return f"; on books {b['context_gain']:.3f}" + ("" if shown else f", not shown to be above 0 over {counted(books.made('alibi'))}")

    def in_full(title, case, length):
        of = full(case)
        point = of.point("alibi", length)
        return f"{title} ({counted(of.made('alibi'))}): {within(point, 'context_gain', nats)} and {within(point, 'early_gain', nats)}"

    others = in_others()
    helped, harmed = (sum(shown(of) for of in others) for shown in (lambda of: of["context_gain_low"] > 0, lambda of: of["context_gain_high"] < 0))
    return Answer(
        f"a little, up to about {helps_up_to(c):,} tokens: of its gain at 16x, {p['context_gain']:.3f} nats come from longer context, {p['early_gain']:.3f} from fewer early tokens{optional(on_books)}",
        briefly(c),
        [f"Python source: longer context {within(p, 'context_gain', nats)} nats, fewer early tokens {within(p, 'early_gain', nats)}",
         lambda: in_full("Trained on 128 tokens", "default-128", 2048),
         lambda: in_full("Books", "books", 8192),
         f"Of {len(others)} other models, most of them smaller, it is shown to help {helped} and to harm {harmed}. In nats (parameters, tokens a parameter, lengths): {'; '.join(of['said'] for of in others)}" if others else "",
         key_tokens,
         far_context])


ENOUGH = 0.5  # tokens a parameter: with fewer a model has hardly begun to learn


def helps_up_to(c):
    """The farthest distance from which text is shown to help, over the seeds: the end of the last bin that it costs something to cut."""
    return max(one["last"] for one in c.variants["alibi"]["far_context"] if (one["cut_low"] or 0) > 0)


def in_others():
    """What longer context brings other models trained with ALiBi at the longest length of their experiment, where three seeds or more say so."""
    experiments = [("slopes", Comparison, ("slopes", "runs"), ["press"]), ("train-short", TrainShort, ("composer",), None), ("train-short", TrainShort, ("table5",), None), ("appendix-b", Comparison, ("appendix-b",), None)]
    found = []
    for where, kind, folder, names in experiments:
        c = optional(kind, *folder)
        if not c:
            continue
        for name in names or [name for name in c.variants if name.startswith("alibi")]:
            last = c.variants[name]["points"][-1]
            if c.tokens_per_parameter(name) >= ENOUGH and c.made(name) > 2 and last["length"] > c.variants[name]["trained_length"] and last.get("context_gain_low") is not None:
                each = c.tokens_per_parameter(name)
                found.append({**last, "said": f"{where} ({c.size(name).split(' ')[0]}, {each:.{1 if each < 10 else 0}f}, {c.variants[name]['trained_length']:,} to {last['length']:,}) {within(last, 'context_gain', nats)}"})
    return found


def key_tokens():
    """ALiBi at the trained length and at the longest, on the tokens that a judge finds to need long context."""
    c = full("default")
    points = {point["length"]: point["key"] for point in c.variants["alibi"]["points"] if "key" in point}
    near, far = points[512], points[8192]
    return (f"On key tokens, which a judge trained on long sequences predicts better with long context, perplexity falls from {math.exp(near['loss']):.2f} at 512 to {math.exp(far['loss']):.2f} at 8,192; "
            f"of that, {near['loss'] - far['loss']:.2f} nats, longer context brings {within(far, 'context_gain', nats)}")


def far_context():
    """How far back text is shown to help, over the seeds."""
    c = full("default")
    bins = [one for one in c.variants["alibi"]["far_context"] if one["first"] > 128]
    if not bins:
        raise Missing("figure1-full")
    reached = {run["useful_context"] for run in c.all["runs"] if run["variant"] == "alibi" and run.get("useful_context")}
    cut = [f"{one['first']:,} to {one['last']:,} {within(one, 'cut', nats)}" for one in bins]
    return (f"Where all text is cut off that lies farther back than so many tokens, its loss rises by so many nats: {', '.join(cut)}. "
            f"A single run, by its text alone, shows {' or '.join(sorted(reached))} (\"useful context\", a lower limit)")


def right_answers(comparison):
    """{method: right answers in % at each length} of the task itself."""
    return {variant["name"]: [100 * point["share"] for point in variant["points"]] for variant in comparison["tasks"][0]["variants"] if variant["name"] in arms_of(comparison)}


def in_order(shares, place):
    return ", ".join(f"{TITLES[method]} {of[place]:.0f}" for method, of in sorted(shares.items(), key=lambda one: -one[1][place]))


def ahead_at(comparison, times):
    """The methods with most right answers at that multiple of the trained length, and those that are not told apart from them, with theirs."""
    shares, column = right_answers(comparison), TIMES.index(times)
    first = {method: shares[method] for method in leaders(comparison, arms_of(comparison), times)}
    if not first:
        return f"nobody at {times}x"
    most = max(of[column] for of in first.values())
    best = {method: of for method, of in first.items() if round(of[column]) == round(most)}
    others = in_order({method: of for method, of in first.items() if method not in best}, column)
    return f"{', '.join(TITLES[method] for method in best)} {most:.0f} %" + (f" ({others})" if others else "")


def recalls():
    """Right answers to synthetic tasks that a method has learned."""
    found = {name: one for name, one in read_tasks(place("tasks"))[0].items() if arms_of(one)}
    if not found:
        raise Missing("tasks")
    learned = {name: one for name, one in sorted(found.items()) if was_learned(one)}
    unlearned = ", ".join(name for name in sorted(found) if name not in learned)
    variants = [variant for one in found.values() for variant in one["variants"] if variant["parameters"]]
    sizes, tokens = (sorted({f"{round(variant[key] / 1e6, 1):g}" for variant in variants}, key=float) for key in ("parameters", "train_targets"))
    few = {name: [f"{TITLES[arm]} {ok} of {of}" for arm in arms_of(one) for ok, of in [learned_by(one, arm)] if ok < of] for name, one in learned.items()}
    by_best = sorted(learned.items(), key=lambda one: -max(shares[2] for shares in right_answers(one[1]).values()))
    depths = ""
    if "needle" in learned:
        of = {method: by_depth(learned["needle"], 0, method, FAR * trained_length(learned["needle"])) for method in ("alibi", "none") if method in arms_of(learned["needle"])}
        depths = ("ALiBi finds best what is near: needle at 4x, from the farthest to the nearest, in %, "
                  + ", ".join(f"{TITLES[method]} {' / '.join(f'{100 * share:.0f}' for share in shares.values())}" for method, shares in of.items()))
    # A mean over seeds of which one has not learned the task says little about length.
    led = [f"{name} {ahead_at(one, FAR)}" for name, one in by_best if (first := leaders(one, arms_of(one))) and learned_by_all(one, max(first, key=lambda arm: right_answers(one)[arm][TIMES.index(FAR)]))]
    return Answer(
        f"right answers at {FAR}x, of the best method (in brackets: not told apart from it): {'; '.join(led) or 'too few seeds'}",
        f"{counted_from_to([seeds_of(one) for one in found.values()])}; {'M to '.join(sizes[::len(sizes) - 1 or 1])}M; {'M, '.join(tokens)}M tokens",
        [f"One learning rate for all; trained on {' or '.join(map(str, sorted({trained_length(one) for one in learned.values()})))} tokens",
         f"All methods at {FAR}x and at the trained length, and whether a task separates them: [tasks](tasks/)",
         "Not learned by all seeds (more right at the trained length than halfway from guessing to all), so that their answers say little about length: "
         + "; ".join(f"{name} {', '.join(arms)}" for name, arms in few.items() if arms),
         f"Known to no method (under 10 % right at the trained length): {unlearned}" if unlearned else "",
         depths])


def other_bias():
    trained = full("default")
    names = present(trained, ("forgetting", "kerple-log"))
    better = any(trained.point(name, length)["verdict"] == "better" for name in names for length in (512, 8192))

    def early():
        short = Comparison("biases")
        return (f"After few tokens ([biases](biases/); {sure(short)}), which shows how fast each learns: "
                + said(short, present(short, ("forgetting", "sandwich", "bam", "kerple_log")), (128, 2048)))

    def said(c, names, lengths):
        return "; ".join(f"{called(name)} {c.against(name, lengths[0])} at 1x, {c.against(name, lengths[1])} at 16x" for name in names)

    def briefly_on_books():
        books = full("books")
        return f"; on books at 16x {', '.join(change_or_level(books, name, 8192) for name in present(books, names))}"

    brief = "; ".join(f"{called(name)} {middle(trained.against(name, 512))} at 1x, {middle(trained.against(name, 8192))} at 16x" for name in names)
    return Answer(
        f"{'yes' if better else 'not shown'}, from ALiBi's perplexity: {brief}{optional(briefly_on_books)}",
        briefly(trained, *names),
        [f"Python source, from ALiBi's perplexity: {said(trained, names, (512, 8192))}",
         lambda: f"Books: {said(full('books'), present(full('books'), names), (512, 8192))}",
         early,
         "Not known: whether forget gates and KERPLE's log stay ahead with more parameters, after more tokens, at rates that were tried over all tokens, or with `batch.draw=rows`",
         f"Forget gates: {WITH_FAULT}",
         "In figure1-full on Python source forget gates ran on a CPU, those beside them on an H100: [what a device alone changes](figure1-full/)"])


def which_slopes():
    c, biases = Comparison("slopes", "runs"), Comparison("biases")
    better, worse = (c.judged(verdict, 2048) for verdict in ("better", "worse"))
    rest = c.judged("within noise", 2048)
    at_16x = [c.point(name, 2048)["difference"] for name in worse]
    short = "; ".join(f"{name} {middle(c.against(name, 2048))} at 16x, {middle(c.against(name, 128))} at 1x" for name in better) or "none is better"
    return Answer(
        f"from the published ones' perplexity: {short}. Of {len(worse) + len(rest)} others {len(worse)} are worse at 16x"
        + (f" ({of_nats(min(at_16x))} to {of_nats(max(at_16x))})" if at_16x else "") + f", {len(rest)} not told apart",
        briefly(c),
        ["All at the learning rate that suits the published ones",
         f"At 16x, from the published ones: {c.listed((*better, *worse), 2048)}. No difference was shown for {', '.join(rest) or 'any other'}",
         lambda: split_of(c, ("press", *better), 2048, "Of the gain at 16x over 1x, longer context is, in nats (press: the published ones)"),
         "drawn: at random; equal: one for all heads; bias-max-N: the flattest slope is 2^-N; half-biased: half of the heads without; geometric: 2^(-8 h / H)",
         "Differences are there at 1x already: what differs in the change from 1x to 16x is on the [page](slopes/)",
         f"Learned ones in another experiment ({sure(biases)}), at 16x from the published ones: {biases.against('learned_slopes', 2048)}"])


def sparse_answer():
    c, trained = Comparison("patterns"), full("default")
    better, same, worse = ([name for name in c.judged(verdict, 8192) if "attention_pattern" in c.variants[name]["changes"].get("model", {})]
                           for verdict in ("better", "within noise", "worse"))

    def hard():
        return (f"Hard ALiBi has no positions, but windows: from ALiBi {trained.against('hard-alibi', 512)} at 1x, {trained.against('hard-alibi', 8192)} at 16x; from no positions with all keys "
                f"{trained.apart('hard-alibi', 'none', 512)} and {trained.apart('hard-alibi', 'none', 8192)}")

    return Answer(
        f"{called('window-sinks')}, from ALiBi with all keys: {change_or_level(trained, 'window-sinks', 512).removeprefix(called('window-sinks') + ' ')} at 1x, {middle(trained.against('window-sinks', 8192))} at 16x. Early in training, at 16x, "
        f"{len(better)} of {len(better) + len(same) + len(worse)} patterns are better, {len(same)} show no difference",
        f"{briefly(trained, 'window-sinks')} (early: {briefly(c)})",
        [f"Early in training, better at 16x: {c.listed(better, 8192) or 'none'}; no difference shown: {c.listed(same, 8192)}",
         f"Worse there: {c.listed(worse, 8192)}",
         f"After 20 tokens a parameter, at 16x: {called('window-sinks')} {trained.against('window-sinks', 8192)}",
         hard])


def step_times():
    """Steps in turns, from biases; with all keys."""
    measured = load("biases", "steps.json")
    return {name: relative_steps(measured["seconds"], name, "alibi") for name in ("kerple_log", "t5", "sinusoidal", "forgetting", "rotary", "fire")}


def what_it_costs():
    times = step_times()
    return Answer(
        f"a training step, of ALiBi's time: {', '.join(f'{called(name)} {statistics.median(of):.2f}' for name, of in times.items())}",
        f"{len(times['rotary'])} rounds in turns; 4.2M; Xeon with AMX",
        [f"By round, median (least .. most): {', '.join(f'{called(name)} {median_and_spread(of)}' for name, of in times.items())}",
         "Memory on a CPU: [cost](cost/). On a device steps were not timed in turns by method",
         "What an export can express differs, too: [configs/GUIDE.md](../../configs/GUIDE.md), \"Export\""])


def optimizer_cases():
    """(Where, times until AdamW's loss of NorMuon and of Muon) of each case, those on books last."""
    for file in sorted(place("optimizers").glob("*/steps.json"), key=lambda file: (file.parent.name.startswith("books"), len(file.parent.name), file.parent.name[::-1])):
        comparison, runs = read_runs(file.parent / "runs" / "comparison.json")
        tokens = file.parent.name.rsplit("-", 1)[1]
        where = f"{max(variant['parameters'] for variant in comparison['variants']) / 1e6:.1f}M parameters{' on books' if file.parent.name.startswith('books') else ''}, {tokens} tokens a step"
        yield where, *(time_until(runs, read_steps(file)[1], kind, "adamw-1") for kind in ("normuon", "muon"))


def which_optimizer():
    cases, runs = [case for case in optimizer_cases() if case[1]], Comparison("optimizers", "quickstart-8k", "runs")
    loss = {name: variant["points"][0]["loss"] for name, variant in runs.variants.items()}

    def bound(until):
        return "at most " if until[2] else ""

    def of_each(kind, column):
        return [f"{kind} {bound(each[column])}{statistics.median(each[column][1]):.2f} ({where})" for where, *each in cases if each[column]]

    shares = [statistics.median(normuon[1]) for _, normuon, _ in cases]
    least = min((normuon for _, normuon, _ in cases), key=lambda until: statistics.median(until[1]))
    return Answer(
        f"NorMuon for the matrices of the blocks: AdamW's loss after {min(shares):.2f}{' (or less)' if least[2] else ''} to {max(shares):.2f} of AdamW's time, early in training",
        "3 seeds; at most 0.5 (2M tokens)",
        [f"Share of AdamW's time: {', '.join(of_each('NorMuon', 0) + of_each('Muon', 1))}",
         "NorMuon, by seed and timing round: "
         + "; ".join(f"{bound(until)}{median_and_spread(until[1])} of the time, {bound(until)}{statistics.mean(until[0]):.2f} of the tokens ({where})" for where, until, _ in cases),
         f"After as many tokens (4.2M parameters, 8k tokens a step): NorMuon {loss['normuon-1']:.3f}, Muon {loss['muon-1']:.3f}, AdamW {loss['adamw-1']:.3f} nats"])


def surest_race():
    return max(load("against-pytorch", "against-pytorch.json")["machines"], key=lambda one: len(one["lengths"][0]["rounds"]))


def beside_pytorch():
    race = surest_race()
    lengths = " and ".join(str(found["length"]) for found in race["lengths"])

    def times(name):
        return " and ".join(f"{statistics.mean(sooner(found, name)):.2f}" if sooner(found, name) else "(not reached)" for found in race["lengths"])

    # From the start with which AdamW ends lower.
    adamw = min((name for name in race["lengths"][0]["rates"] if "AdamW" in name),
                key=lambda name: statistics.mean(one[name]["loss"] for found in race["lengths"] for one in found["rounds"]))
    same = ", ".join(f"{statistics.mean(one[adamw]['seconds'] / one[OURS][-1]['seconds'] for one in found['rounds']):.2f} at {found['length']}" for found in race["lengths"])
    return Answer(
        f"with NorMuon, at lengths of {lengths}: {times(adamw)} times sooner at the loss that compiled PyTorch with AdamW ends with; {times('PyTorch, Muon')} times where PyTorch uses Muon",
        f"{counted(len(race['lengths'][0]['rounds']))}; 4.2M; 1M tokens; {race['machine'].split(' (')[0]}",
        [f"AdamW is the better of two starts ({adamw.removeprefix('PyTorch, ')})",
         f"For the same number of tokens `alibi` with NorMuon takes less time than PyTorch with AdamW by a factor of {same}",
         f"Measured on {race['machine']}"])


def from_a_table():
    if not finished(place(), "retrofit"):
        raise Missing("retrofit")
    of = Exchanged(place("retrofit"))
    near, far = of.lengths[0], of.lengths[-1]
    after, behind_alibi = ([of.apart("exchanged", length, beside, near if beside == "learned" else length) for length in (near, far)] for beside in ("learned", "alibi"))
    return Answer(
        f"at a cost: after a twentieth more tokens {middle(after[0])} at the table's length and {middle(after[1])} at 16x from the perplexity that the table had",
        f"{counted(len(of.losses))}; {of.parameters / 1e6:.2g}M; {of.tokens / of.parameters:.0f}",
        [f"From the table's perplexity at the trained length: {after[0]} there, {after[1]} at 16x. Longer context is not used: usable length {of.usable['exchanged'].split(' (')[0]}",
         f"From a model trained with ALiBi throughout: {behind_alibi[0]} and {behind_alibi[1]}; the table's own model {of.apart('learned', near, 'alibi', near)} at the trained length. None went on with its table"])


def picture_of_gains():
    """What longer context brings at the longest length, by method; what it harms much is named."""
    c = full("default")
    points = {name: c.point(name, 8192) for name in c.variants if c.point(name, 8192)["context_gain"] is not None}
    rows = [(called(name), *(p[f"context_gain{end}"] for end in ("", "_low", "_high"))) for name, p in points.items() if p["context_gain"] > -0.1]
    left = ", ".join(called(name) for name, p in points.items() if p["context_gain"] <= -0.1)
    return bars("What longer context brings at 8,192, trained on 512", f"nats a token; {sure(c, *points).split(';')[0]}, 95 %; below -0.1, not drawn: {left}",
                sorted(rows, key=lambda row: -row[1]), lambda value: f"{round(value, 3) + 0.0:+.3f}")


FAR_OFF = 0.4  # nats: bars as long as these would hide all others


def changes_picture(title, below, found):
    """Bars of perplexity in percent, of (label, differences of loss by seed, or one of them)."""
    rows = [(label, *(None if end is None else 100 * math.expm1(end) for end in interval(each))) for label, each in found]
    return bars(title, f"{below}; lines: intervals of 95 %; lower is better" if any(len(each) > 1 for _, each in found) else f"{below}; lower is better", rows, lambda value: f"{value:+.1f} %")


def picture_at_trained_length():
    c = full("default")
    names = [name for name, variant in c.variants.items() if name != "alibi" and c.made(name) and not only_measured_otherwise(variant)]
    found = [(called(name), by_seed(c.all, name, "alibi", 512)) for name in sorted(names, key=lambda name: c.perplexity(name, 512))]
    return changes_picture("At the trained length, from ALiBi's perplexity", f"Python source, trained and measured on 512 tokens; {sure(c)}", found)


def picture_of_biases():
    cases = [(full("default"), "Python"), (full("books"), "books")]
    found = {f"{called(name)}, {at}, {where}": by_seed(c.all, name, "alibi", length) for c, where in cases for name in present(c, ("forgetting", "kerple-log", "t5"))
             for at, length in (("1x", 512), ("4x", 2048), ("16x", 8192))}
    far = {label: f"{label} {of_nats(statistics.mean(each))}" for label, each in found.items() if statistics.mean(each) > FAR_OFF}
    return changes_picture("Other biases, from ALiBi's perplexity", f"trained on 512 tokens; {sure(full('default'))}; not drawn: {'; '.join(far.values()) or 'none'}",
                           [(label, each) for label, each in found.items() if label not in far])


def picture_of_short_training():
    c = TrainShort("composer")
    found = [(f"trained on {1024 * s:.0f}", by_seed(c.all, f"alibi-s{s}", "alibi-s1", 1024)) for s in SHARES_OF_LENGTH.values()]
    return changes_picture("ALiBi at 1,024, from training on all of 1,024", f"perplexity; {sure(c, 'alibi-s1')}", found)


def picture_of_rows():
    rows, first = full("default-rows"), full("default")
    found = [(f"measured on {length:,}", [losses(rows.all, "alibi", length)[0] - losses(first.all, "alibi", length)[0]]) for length in (512, 1024, 2048, 4096, 8192)]
    return changes_picture("Each row of a step from its own place of the text", f"ALiBi's perplexity, from that with rows cut from 4 sequences of 2,048; trained on 512; 1 seed; {first.size('alibi').split(',')[0]}, "
                           f"{first.tokens_per_parameter('alibi'):.0f} tokens a parameter", found)


def picture_of_patterns():
    c, early = full("default"), Comparison("patterns")
    names = [name for verdict in ("better", "within noise", "worse") for name in early.judged(verdict, 8192) if "attention_pattern" in early.variants[name]["changes"].get("model", {})]
    found = [(f"{called('window-sinks').removeprefix('ALiBi in ')}, {at}", by_seed(c.all, "window-sinks", "alibi", length)) for at, length in (("1x", 512), ("16x", 8192))]
    found += [(f"early in training: {name}, 16x", by_seed(early.all, name, early.all["reference"], 8192)) for name in names]
    return changes_picture("Patterns of keys, from the perplexity of ALiBi with all keys", f"{sure(c, 'window-sinks')}; early: {sure(early)}", found)


def picture_of_optimizers():
    rows = [(f"{kind}: {where.replace(' parameters', '').replace(' tokens', '')}{', at most' if until[2] else ''}", statistics.median(until[1]), min(until[1]), max(until[1]))
            for where, *each in optimizer_cases() for kind, until in zip(("NorMuon", "Muon"), each) if until]
    if not rows:
        raise Missing("optimizers")
    return bars("Time until AdamW's final loss, of AdamW's time", "early in training; least and most of seeds and timing rounds; the red line is AdamW", rows, lambda value: f"{value:.2f}", line=1)


def picture_of_race():
    race = surest_race()
    rows = [(f"{name.removeprefix('PyTorch, ')}, length {found['length']}", statistics.mean(times), None, None)
            for found in race["lengths"] for name in sorted(race["lengths"][0]["rates"]) if name != OURS and (times := sooner(found, name))]
    return bars("alibi with NorMuon: how many times sooner than compiled PyTorch", f"until the loss that PyTorch ends with; red line: as fast; {counted(len(race['lengths'][0]['rounds']))}; {race['machine']}", rows, lambda value: f"{value:.2f}", line=1)


def picture_of_cost():
    rows = [(called(name), statistics.median(of), min(of), max(of)) for name, of in step_times().items()]
    return bars("A training step, of ALiBi's time", "4.2M parameters, trained on 128; rounds in turns, median, least and most; Xeon with AMX; the red line is ALiBi", rows, lambda value: f"{value:.2f}", line=1)


PICTURES = {"trained-length.svg": picture_at_trained_length, "biases.svg": picture_of_biases, "short.svg": picture_of_short_training, "rows.svg": picture_of_rows, "patterns.svg": picture_of_patterns,
            "context.svg": picture_of_gains, "cost.svg": picture_of_cost, "optimizers.svg": picture_of_optimizers, "pytorch.svg": picture_of_race}  # in data/results/pictures

ANSWERS = [  # question, answer, folder of its figures, its picture there
    ("Which method for texts longer than those it was trained on?", longer_texts, "figure1-full", "default/runs/perplexity.svg"),
    ("Which method at the trained length?", at_trained_length, "figure1-full", "../pictures/trained-length.svg"),
    ("How short may training be?", how_short, "train-short", "../pictures/short.svg"),
    ("How should the rows of a step be drawn?", how_drawn, "figure1-full", "../pictures/rows.svg"),
    ("Does ALiBi use the longer context?", uses_context, "figure1-full", "../pictures/context.svg"),
    ("Which method recalls what its context says?", recalls, "tasks", "recall/task-recall.svg"),
    ("Is another bias better than ALiBi's?", other_bias, "figure1-full", "../pictures/biases.svg"),
    ("What does another method cost?", what_it_costs, "biases", "../pictures/cost.svg"),
    ("Which slopes?", which_slopes, "slopes", "runs/perplexity.svg"),
    ("Is sparse attention as good?", sparse_answer, "patterns", "../pictures/patterns.svg"),
    ("Which optimizer?", which_optimizer, "optimizers", "../pictures/optimizers.svg"),
    ("Faster than PyTorch?", beside_pytorch, "against-pytorch", "../pictures/pytorch.svg"),
    ("Can a model with a table of positions go on with ALiBi?", from_a_table, "retrofit", "seed-0/curve.svg"),
]
