# Tasks that the program makes (configs/reproduce/tasks/tasks.toml), learned and asked by several methods. Hours; stop and start it as you
# like. TASKS="recall needle" takes some.
for task in ${TASKS:-$(python3 "$steps/plan.py" --list)}; do
  python3 "$steps/plan.py" "$alibi" "$task" "runs/reproduce/$name/$task" "$out/$task"
  compare_into "$out/$task" "runs/reproduce/$name/$task/compare.json" "$@"
done
write_page python3 "$steps/page.py" "$out"
