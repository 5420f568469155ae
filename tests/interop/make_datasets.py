"""Writes the lines of a .jsonl file as each kind of dataset that scripts/read-dataset knows: make_datasets.py LINES.jsonl FOLDER"""
import io
import json
import pathlib
import sys
import tarfile

import datasets
import pyarrow
import pyarrow.parquet

texts = [json.loads(line)["text"] for line in open(sys.argv[1], encoding="utf-8")]
folder = pathlib.Path(sys.argv[2])
datasets.disable_progress_bars()
(folder / "parquet").mkdir(parents=True)
half = len(texts) // 2
for name, part in (("a", texts[:half]), ("b", texts[half:])):
    table = pyarrow.table({"id": list(range(len(part))), "text": part})
    pyarrow.parquet.write_table(table, folder / "parquet" / f"{name}.parquet", row_group_size=100, write_page_checksum=True)
saved = datasets.Dataset.from_dict({"text": texts})
saved.save_to_disk(folder / "arrow")
datasets.DatasetDict({"train": saved}).save_to_disk(folder / "splits")
with tarfile.open(folder / "web.tar", "w") as tar:
    for i, text in enumerate(texts):
        member = tarfile.TarInfo(f"{i:06d}.txt")
        content = text.encode()
        member.size = len(content)
        tar.addfile(member, io.BytesIO(content))
