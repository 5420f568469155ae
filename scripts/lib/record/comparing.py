"""Files of alibi compare: two variants on two seeds."""
import json

from . import pages
from .evaluation import marked
from .jobs import Job
from .training import write_config
from .values import steady

COMPARISON = {"base": "small.json", "folder": "all", "seeds": [1, 2], "config": {"run": {"train_tokens": 1920}},
              "variants": {"alibi": {}, "learned-slopes": {"model": {"learned_slopes": True}}}}


def compared(place):
    write_config(place)
    place.path("two.json").write_text(json.dumps(COMPARISON))
    place.works("compare", "two.json", "--output", "page")
    found = steady(json.loads(place.path("page/comparison.json").read_text()))
    found["protocol"].pop("device")
    found["protocol"]["kernel"] = "bits:" + found["protocol"]["kernel"]
    return {**found, "csv": marked(pages.table(place.path("page/comparison.csv"))),
            "page": marked(pages.page(place.path("page/index.html"))),
            "pictures": {name: marked(pages.picture(place.path(f"page/{name}.svg").read_text(encoding="utf-8")))
                         for name in ("perplexity", "loss")}}


def jobs(_record):
    return [Job("compare/two-variants", compared)]
