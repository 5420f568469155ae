# ALiBi trained on short sequences against other positions trained on long ones, measured at the long length: loss after the same tokens, and
# time until the same loss. Cases are files of configs/reproduce/train-short/: CASES=table5 takes one. Each arm trains at the best of the
# rates that its case tries. Steps are timed in turns, so JOBS may train several models at once.
for case in ${CASES:-table5 composer}; do
  compare_at_own_rates "$steps/$case.toml" "$out/$case" "$@"
  python3 configs/reproduce/steps.py "$alibi" "runs/reproduce/$name/$case/runs/configs" "$out/$case/steps.json" 3
done
write_page python3 "$steps/page.py" "$out"
