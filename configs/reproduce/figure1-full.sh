# Figure 1 of Press et al. 2021 with models that have seen 20 tokens a parameter. Hours: stop it and start it again as you like. Cases are files
# of configs/reproduce/figure1-full/, for example CASES="default-1024 default-trend"; without them the default corpus, and books where they are
# unpacked (scripts/unpack-books). A judge trained on long sequences finds key tokens, once: CASE/key_tokens.json says which they are.
refuse_own_texts "$@"
[ ! -e data/books/valid.jsonl ] || with_books=" books"
for case in ${CASES:-default${with_books-}}; do
  text="${case%%-*}" base=configs/compare/base.json judge="runs/reproduce/$name/judge-$text" plan="runs/reproduce/$name/$case"
  [ "$text" = default ] || base="configs/$text.json"
  mkdir -p "$plan" "$out/$case"
  tokens="$("$alibi" inspect data "$base" | awk '$1 == "train" { gsub(",", "", $4); print $4 }')"
  echo "$tokens" >"$out/$case/train_tokens"
  mapfile -t judging < <(python3 configs/reproduce/plan.py judged "$steps/$case.toml" "$plan" "$out/$case")
  if [ "${#judging[@]}" -gt 0 ]; then
    "$alibi" train "$base" "$steps/judge.json" --resume --set run.folder="$judge"
    "$alibi" evaluate "$judge" "${judging[@]}" --set evaluate.key_tokens.evaluator="$judge" --output "$plan/judged"
    cp "$plan/judged/key_tokens.json" "$out/$case/key_tokens.part" && mv "$out/$case/key_tokens.part" "$out/$case/key_tokens.json"
  fi
  compare_at_own_rates "$steps/$case.toml" "$out/$case" "$@"
done
write_page python3 "$steps/page.py" "$out"
