"""Checks documents against configs/output.schema.json: output.py SCHEMA FILE...; prints the kind of each."""
import json
import sys

import fastjsonschema

with open(sys.argv[1], encoding="utf-8") as schema:
    validate = fastjsonschema.compile(json.load(schema))
for name in sys.argv[2:]:
    with open(name, encoding="utf-8") as file:
        document = json.load(file)
    try:
        validate(document)
    except fastjsonschema.JsonSchemaException as fault:
        sys.exit(f"{name}: {fault.message}")
    print(document["kind"])
