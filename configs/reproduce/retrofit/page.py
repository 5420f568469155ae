"""What it costs to exchange a table of positions for linear biases, and what lengths it opens, in Markdown.

usage: page.py FOLDER      holds trials.json and seed-N/curve.json (retrofit.py)
"""
import json
import pathlib
import sys

from exchanged import Exchanged
from paired import interval, ranged  # exchanged.py has its folder on the path


def rates_table(trials):
    yield "| | loss by learning rate (and sequences a step), one seed, the first half of the held-out documents |\n|---|---|"
    for what in dict.fromkeys(trial["what"] for trial in trials):
        mine = [trial for trial in trials if trial["what"] == what]
        rates, losses = [trial["rate"] for trial in mine], [trial["loss"] for trial in mine]
        best = min(mine, key=lambda trial: trial["loss"])
        edge = " (at the edge of what was tried)" if best["rate"] in (min(rates), max(rates)) else ""
        named = [f"{trial['rate']:g}{' with ' + str(trial['sequences']) if 'sequences' in trial else ''}" for trial in mine]
        yield f"| {what} | {', '.join(f'{name}: {loss:.3f}' for name, loss in zip(named, losses))}; taken {named[mine.index(best)]}{edge} |"


def main(folder):
    of = Exchanged(folder)
    trained, furthest = of.lengths[0], of.lengths[-1]
    mean, low, high = interval([-gain for gain in of.context_gains])
    print(f"""# From learned positions to linear biases

- After a twentieth more tokens with linear biases in place of its table, perplexity at the trained length is {of.apart('exchanged', trained, 'learned', trained)} from
  what it was with the table; at {furthest // trained} times that length, where the table has no positions, {of.apart('exchanged', furthest, 'learned', trained)}.
- From a model that had the biases from the first step, for as many tokens in all, it is {of.apart('exchanged', trained, 'alibi', trained)} at the trained length,
  {of.apart('exchanged', furthest, 'alibi', furthest)} at {furthest // trained} times that.
- Usable length (loss at most 0.01 nats above its best, each length with a gain from longer context): exchanged {of.usable['exchanged']}, biases from the start
  {of.usable['alibi']}. Longer context changes the loss of the exchanged model at {furthest:,} by
  {ranged(mean, low, high, lambda nats: f'{nats:+.3f}')} nats; the rest of its change is fewer early tokens.
- No model went on with its table for as many tokens, so what these tokens alone bring is not separated from the exchange.

{of.parameters / 1e6:.2g}M parameters, {of.tokens / 1e6:.1f}M tokens of Python source before the exchange, trained on {trained}. Means of {len(of.losses)} seeds, in brackets intervals of 95 % over seeds, paired; rates chosen on one half of the held-out documents, all else reported on the other.
`scripts/reproduce retrofit` wrote this.

![perplexity against length, one seed](seed-0/curve.svg)

| length | of the trained | with the table | exchanged | biases from the start | exchanged, from the table at {trained} | exchanged, from biases from the start |
|---|---|---|---|---|---|---|""")
    for length in of.lengths:
        table = f"{of.perplexity('learned', length):.2f}" if length in of.losses[0]["learned"] else "no positions"
        print(f"| {length:,} | {length // trained}x | {table} | {of.perplexity('exchanged', length):.2f} | {of.perplexity('alibi', length):.2f} "
              f"| {of.apart('exchanged', length, 'learned', trained)} | {of.apart('exchanged', length, 'alibi', length)} |")
    print()
    for line in rates_table(json.loads((pathlib.Path(folder) / "trials.json").read_text(encoding="utf-8"))):
        print(line)


if __name__ == "__main__":
    main(sys.argv[1])
