# The lesson page of a small checkpoint.
train_small "$@"
measuring "$@"
"$alibi" inspect lesson "$run" --lengths 1x,2x,4x,8x "${options[@]}" --out "$out/index.html"
