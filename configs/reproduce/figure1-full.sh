# Figure 1 of Press et al. 2021 with models that have seen 20 tokens a parameter. Hours: stop it and start it again as you like. Cases are files
# of configs/reproduce/figure1-full/, for example CASES="default books" (scripts/unpack-books); a judge trained on long sequences finds key tokens.
for case in ${CASES:-default}; do
  text="${case%%-*}" base=configs/compare/base.json
  [ "$text" = default ] || base="configs/$text.json"
  "$alibi" train "$base" "$steps/judge.json" --resume --set run.folder="runs/reproduce/$name/judge-$text"
  compare_at_own_rates "$steps/$case.toml" "$out/$case" "$@"
  "$alibi" inspect data "$base" | awk '$1 == "train" { gsub(",", "", $4); print $4 }' >"$out/$case/train_tokens"
done
python3 "$steps/page.py" "$out" | tee "$out/README.md"
