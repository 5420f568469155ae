# A key hidden in a long text, asked of every position method of figure1, in one document and across two.
models=configs/reproduce/figure1.json
measuring "$@"
runs=()
names=()
for method in alibi sinusoidal rotary t5 learned-4x none; do
  run=$("$alibi" compare "$models" --plan "$@" | grep "^$method-seed0-")
  "$alibi" compare "$models" --run "$run" "$@"
  [ -d "runs/reproduce/figure1/runs/$run" ] ||
    fail "the weights of $run are gone, its figures were kept: remove runs/reproduce/figure1/measured/$run-* to train it anew"
  runs+=("runs/reproduce/figure1/runs/$run")
  names+=(--name "$method")
done
for documents in 1 2; do
  "$alibi" evaluate "${runs[@]}" "${names[@]}" --lengths 128,256,512,1024,2048 --set evaluate.task=passkey --set evaluate.max_tokens=100000 \
    "${options[@]}" --set evaluate.answers.documents=$documents --output "$out/documents-$documents" --overwrite
done
