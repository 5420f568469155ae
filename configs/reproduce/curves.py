"""What a variant's points in comparison.json say about length."""

HOLDS = 0.01  # a method holds up to the longest length at which its perplexity is at most this share above that at 1x, as at all before


def beyond(variant):
    return [point for point in variant["points"] if point["length"] >= variant["trained_length"]]


def by_budget(comparison):
    """[(tokens a parameter, {method: point at 1x})] of variants METHOD-SHARE, least first; those that were not run are left out."""
    budgets = {}
    for variant in comparison["variants"]:
        method, share = variant["name"].rsplit("-", 1)
        if variant["parameters"]:
            tokens = variant["train_targets"] / variant["parameters"]
            points = budgets.setdefault(float(share), (tokens, {}))[1]
            points[method] = next(point for point in variant["points"] if point["length"] == variant["trained_length"])
    return [budgets[share] for share in sorted(budgets)]


def holds_up_to(variant):
    """That length, and the point that ends it: one without a change has not been measured; None where all hold."""
    last = variant["trained_length"]
    for point in beyond(variant):
        if point["change"] is None and point["length"] > variant["trained_length"] or (point["change"] or 0) > HOLDS:
            return last, point
        last = point["length"]
    return last, None
