# The lesson page of a small checkpoint.
"$alibi" train configs/quickstart.json configs/reproduce/one-pass/train.json --resume "$@"
"$alibi" inspect lesson runs/reproduce/one-pass --lengths 1x,2x,4x,8x --out "$out/index.html"
