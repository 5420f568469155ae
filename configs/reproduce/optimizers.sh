# Optimizers beside AdamW: the rate of each is chosen on one text, then three seeds of each are trained for several budgets and
# measured on another. Cases are files of configs/reproduce/optimizers/; CASES="books-8k books-32k" takes others (scripts/unpack-books).
for case in ${CASES:-quickstart-8k quickstart-32k}; do
  plan=runs/reproduce/optimizers/$case
  mkdir -p "$plan" "$out/$case"
  python3 "$steps/plan.py" rates "$steps/$case.toml" "$plan"
  compare_into "$out/$case/rates" "$plan/rates.json" "$@"
  python3 "$steps/plan.py" budgets "$steps/$case.toml" "$plan" "$out/$case/rates/comparison.json"
  compare_into "$out/$case/budgets" "$plan/budgets.json" "$@"
done
python3 "$steps/page.py" "$out" | tee "$out/README.md"
