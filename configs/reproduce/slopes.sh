# ALiBi's slopes by every rule; how far five draws spread, and what learning the slopes costs.
compare_at_own_rates "$steps/rules.toml" "$out" "$@"
python3 configs/reproduce/steps.py "$alibi" "runs/reproduce/$name/rules/runs/configs" "$out/steps.json" 5 "" press learned
write_page python3 "$steps/page.py" "$out"
