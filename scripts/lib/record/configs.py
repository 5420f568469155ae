"""Exit code and place of what is refused."""
from .jobs import Job
from .program import places

BAD_FILES = {
    "not-json": "{",
    "unknown-key": '{"modle": {}}',
}


def refusal(result):
    return {"exit": result.code, "places": places(result.err)}


def bad_file(text):
    def values(place):
        place.path("bad.json").write_bytes(text.encode("utf-8", "surrogateescape"))
        return refusal(place.run("train", "bad.json"))
    return values


def jobs():
    return [Job(f"configs/{name}", bad_file(text)) for name, text in BAD_FILES.items()]
