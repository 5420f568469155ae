# A key hidden in a long text, asked of every position method of figure1, in one document and across two.
compare_into data/results/figure1 configs/reproduce/figure1.json "$@"
runs=()
names=()
for method in alibi sinusoidal rotary t5 learned-4x none; do
  for run in runs/reproduce/figure1/runs/"$method"-seed0-*; do
    runs+=("$run")
    names+=(--name "$method")
  done
done
for documents in 1 2; do
  "$alibi" evaluate "${runs[@]}" "${names[@]}" --lengths 128,256,512,1024,2048 --set evaluate.task=passkey \
    --set evaluate.passkey.documents=$documents --output "$out/documents-$documents"
done
