# ALiBi's slopes by every rule; then how far five draws spread, and what learning the slopes costs.
compare_into "$out" configs/reproduce/slopes/rules.json "$@"

# Columns are found by their titles; quoted cells, whose commas would count, are not needed.
awk -F, '
  { gsub(/"[^"]*"/, "-") }
  NR == 1 { for (i = 1; i <= NF; i++) column[$i] = i; next }
  { name = $column["name"]; length_ = $column["length"]; perplexity = $column["perplexity"]
    speed[name] = $column["train_tokens_per_second"] }
  name == "press" { lengths[++points] = length_; press[length_] = perplexity; spread[length_] = $column["loss_sd"] }
  name == "learned" { learned[length_] = perplexity }
  name ~ /^drawn-/ { n = ++draws[length_]; loss = $column["loss"]; sum[length_] += loss; squares[length_] += loss * loss
    if (n == 1 || perplexity < least[length_]) least[length_] = perplexity
    if (n == 1 || perplexity > most[length_]) most[length_] = perplexity }
  END {
    for (i = 1; i <= points; i++) {
      l = lengths[i]; n = draws[l]; mean = sum[l] / n; sd = sqrt((squares[l] - n * mean * mean) / (n - 1))
      printf "| %d | %.2f | %.2f | %.2f to %.2f | %.4f | %.4f |\n", l, press[l], learned[l], least[l], most[l], sd,
             spread[l] }
    printf "\nTraining with learned slopes ran at %.0f tokens/s, with fixed ones at %.0f: %.1f %% slower.\n",
           speed["learned"], speed["press"], 100 * (speed["press"] / speed["learned"] - 1) }
' "$out/comparison.csv" |
  { printf '# Drawn and learned slopes\n\n'
    printf 'Perplexity, means over seeds; sd: spread of the loss in nats per token, over the five draws and over the '
    printf 'seeds of the published slopes. `scripts/reproduce slopes` wrote this; all variants and the final slopes '
    printf 'are in [index.html](index.html).\n\n'
    printf '| length | published slopes | learned | drawn, least to most | sd over draws | sd over seeds |\n'
    printf '|---|---|---|---|---|---|\n'
    cat; } | tee "$out/README.md"
