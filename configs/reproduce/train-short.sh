# ALiBi trained on short sequences against other positions trained on long ones, measured at the long length: loss after the same tokens, and
# time until the same loss. Cases are files of configs/reproduce/train-short/: CASES=table5 takes one. Each arm trains at the best of the
# rates that its case tries. Steps are timed in turns, so JOBS may train several models at once.
for case in ${CASES:-table5 composer}; do
  compare_at_own_rates "$steps/$case.toml" "$out/$case" "$@"
  # The picture is of whole budgets.
  plan="runs/reproduce/$name/$case"
  python3 configs/reproduce/plan.py whole "$steps/$case.toml" "$plan" "$out/$case"
  compare_into "$plan/whole" "$plan/whole.json" "$@"
  cp "$plan/whole/perplexity.svg" "$out/$case" && rm -f "$out/$case"/runs/*.svg
  python3 configs/reproduce/steps.py "$alibi" "$plan/runs/configs" "$out/$case/steps.json" 3
done
write_page python3 "$steps/page.py" "$out"
