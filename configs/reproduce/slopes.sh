# ALiBi's slopes by every rule; how far five draws spread, and what learning the slopes costs.
compare_at_own_rates "$steps/rules.toml" "$out" "$@"
# Pictures are of whole budgets.
plan="runs/reproduce/$name/rules"
python3 configs/reproduce/plan.py whole "$steps/rules.toml" "$plan" "$out"
compare_into "$plan/whole" "$plan/whole.json" "$@"
cp "$plan"/whole/*.svg "$out/runs"
python3 configs/reproduce/steps.py "$alibi" "runs/reproduce/$name/rules/runs/configs" "$out/steps.json" 5 "" press learned
write_page python3 "$steps/page.py" "$out"
