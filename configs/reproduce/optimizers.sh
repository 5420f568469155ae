# Optimizers beside AdamW: the rate of each is chosen on one text, then three seeds of each are trained for several budgets and
# measured on another. Cases are files of configs/reproduce/optimizers/; CASES="books-8k books-32k" takes others (scripts/unpack-books). Steps
# are timed on the CPU, wherever models were trained.
for case in ${CASES:-quickstart-8k quickstart-32k}; do
  compare_at_own_rates "$steps/$case.toml" "$out/$case" "$@"
  python3 configs/reproduce/steps.py "$alibi" "runs/reproduce/$name/$case/runs/configs" "$out/$case/steps.json" 5 cpu
done
write_page python3 "$steps/page.py" "$out"
