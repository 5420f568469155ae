# A model with learned positions goes on with linear biases in place of its table, for a twentieth more tokens: what that costs at the trained
# length, and what lengths it opens.
refuse_own_texts "$@"
refuse_own_folders "$@"
for option in "$@"; do
  case "$option" in
    run.seed=* | run.name=* | run.train_tokens=* | schedule.warmup_tokens=* | optimizer.learning_rate=* | batch.sequences=* | model.position=*)
      usage_error "$name sets ${option%%=*} itself: leave it out, or change $steps/retrofit.toml" ;;
  esac
done
python3 "$steps/retrofit.py" "$alibi" "runs/reproduce/$name$(suffix_of "$@")" "$out" "$@"
write_page python3 "$steps/page.py" "$out"
