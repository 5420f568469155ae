# A model with learned positions becomes one with linear biases in place of its table, for a twentieth more tokens: what
# that costs at the trained length, and what lengths it opens.
train_in_turn learned alibi "$@"
measuring "$@"
"$alibi" evaluate "$first" "$second" --name learned --name retrofitted "${options[@]}" --lengths 1x,2x,4x,10x,16x \
  --output "$out/curve" --overwrite

# Columns are found by their titles; quoted cells, whose commas would count, are not needed.
awk -F, '
  { gsub(/"[^"]*"/, "-") }
  FNR == 1 { for (i = 1; i <= NF; i++) column[$i] = i; next }
  { range = sprintf("%.1f .. %.1f", $column["perplexity_low"], $column["perplexity_high"]) }
  $column["name"] == "learned" && $column["multiple"] == 1 { base = $column["perplexity"]; base_range = range }
  $column["name"] == "learned" { next }
  { loss = $column["perplexity"]
    printf "| %d | %gx | %.2f | %s | %+.1f %% |\n", $column["length"], $column["multiple"], loss, range, 100 * (loss / base - 1) }
  END {
    printf "\nThe model with its table, at the trained length: %.2f (%s). Beyond it has no positions.\n", base, base_range
    printf "One seed; batch and learning rate of the second training were the best of 14 pairs on this same text.\n" }
' "$out/curve/curve.csv" |
  { printf '# From learned positions to linear biases\n\nPerplexity after a twentieth more tokens; `scripts/reproduce retrofit` wrote this.\n\n![perplexity against length](curve/curve.svg)\n\n'
    printf '| length | of the trained | retrofitted | 95 %% interval | against the table at the trained length |\n|---|---|---|---|---|\n'
    cat; } | tee "$out/README.md"
