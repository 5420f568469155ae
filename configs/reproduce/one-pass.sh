# A whole curve from one pass over the longest windows, beside the same curve measured length by length.
train_small "$@"
measuring "$@"
"$alibi" evaluate "$run" "${options[@]}" --output "$out/brute-force" --overwrite
"$alibi" evaluate "$run" "${options[@]}" --set evaluate.protocol=one_pass --output "$out/one-pass" --overwrite

# Columns are found by their titles; quoted cells, whose commas would count, are not needed.
page() {
  printf '# A curve from one pass\n\nLoss in nats per token. `scripts/reproduce one-pass` wrote this.\n\n![perplexity against length](one-pass/curve.svg)\n\n'
  printf '| length | length by length | from the shortest | one pass | from the shortest | joint 95 %% interval | within it |\n|---|---|---|---|---|---|---|\n'
  awk -F, '
  { gsub(/"[^"]*"/, "-") }
  FNR == 1 { file++; for (i = 1; i <= NF; i++) column[$i] = i; next }
  { length_ = $column["length"]; seconds[file] += $column["seconds"] }
  file == 1 { brute[length_] = $column["loss"] }
  file == 2 { low = $column["loss_joint_low"]; high = $column["loss_joint_high"]; points++
    within = brute[length_] >= low && brute[length_] <= high; agree += within
    if (points == 1) { brute_first = brute[length_]; first = $column["loss"] }
    brute_change = brute[length_] - brute_first; change = $column["loss"] - first
    if (points == 1 || (high - low) / 2 < narrowest) narrowest = (high - low) / 2
    printf "| %d | %.4f | %+.4f | %.4f | %+.4f | %.4f to %.4f | %s |\n", length_, brute[length_], brute_change, $column["loss"], change, low, high,
           within ? "yes" : "no" }
  END {
    fall = brute_change < 0 ? -brute_change : brute_change
    shape = (narrowest > fall) ? ": of this text one pass does not give the shape of the curve" : ""
    printf "\n%d of %d losses length by length lie within the joint 95 %% intervals of one pass, which reach at least %.3f nats to each side. From the "\
           "shortest to the longest the loss changes by %+.4f nats length by length, by %+.4f in one pass%s. One pass took %.1f s, the lengths one by one "\
           "%.1f s: %.1f times as long.\n", agree, points, narrowest, brute_change, change, shape, seconds[2], seconds[1], seconds[1] / seconds[2]
    if (points == 0) exit 1
    if (agree < points) print "one-pass: " points - agree " of " points " lengths lie outside their joint intervals, as " \
                              "one curve in twenty may; a text of few windows has no intervals" > "/dev/stderr" }
' "$out/brute-force/curve.csv" "$out/one-pass/curve.csv"
}
write_page page
