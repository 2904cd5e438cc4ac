"""Slow, obvious twins of the kernels, in plain loops.

A naive metric takes the labels of one ranking from the top, the pool of labels that its ideal and its recall
count, and options. Where nothing is relevant it is None.
"""

from math import exp, log, log2, sqrt

__all__ = ["NAIVE", "naive_gain"]


def naive_gain(label, gain="exp2"):
    if gain == "exp2":
        return 2**label - 1
    return label if gain == "linear" else gain[int(label)]


def relevant(labels, relevance_threshold):
    return [label for label in labels if label >= relevance_threshold]


def dcg(ranking, pool, *, k=None, gain="exp2"):
    if not any(naive_gain(label, gain) for label in pool):
        return None
    return sum(naive_gain(label, gain) / log2(1 + rank) for rank, label in enumerate(ranking[:k], 1))


def ndcg(ranking, pool, *, k=None, gain="exp2"):
    best = sorted(pool, key=lambda label: -naive_gain(label, gain))
    ideal = dcg(best, pool, k=k, gain=gain)
    return None if ideal is None else dcg(ranking, pool, k=k, gain=gain) / ideal


def err(ranking, pool, *, k=None, max_label=4, gain="exp2"):
    if not any(pool):
        return None
    total, reads_on = 0.0, 1.0
    for rank, label in enumerate(ranking[:k], 1):
        stops = (2**label - 1) / 2**max_label if gain == "exp2" else label / max_label
        total += reads_on * stops / rank
        reads_on *= 1 - stops
    return total


def average_precision(ranking, pool, *, k=None, relevance_threshold=1, divide_by="relevant"):
    number = len(relevant(pool, relevance_threshold))
    if number == 0:
        return None
    top = ranking[:k]
    hits = [rank for rank, label in enumerate(top, 1) if label >= relevance_threshold]
    total = sum(len(relevant(top[:rank], relevance_threshold)) / rank for rank in hits)
    if divide_by == "found":
        return total / len(hits) if hits else 0.0
    return total / (min(number, k or number) if divide_by == "reachable" else number)


def reciprocal_rank(ranking, pool, *, k=None, relevance_threshold=1):
    if not relevant(pool, relevance_threshold):
        return None
    hits = [rank for rank, label in enumerate(ranking[:k], 1) if label >= relevance_threshold]
    return 1 / hits[0] if hits else 0.0


def hit(ranking, pool, *, k=None, relevance_threshold=1):
    if not relevant(pool, relevance_threshold):
        return None
    return float(bool(relevant(ranking[:k], relevance_threshold)))


def precision(ranking, pool, *, k=None, relevance_threshold=1, divide_by="k"):
    if not relevant(pool, relevance_threshold):
        return None
    depth = len(ranking) if k is None else k
    if divide_by == "shown":
        depth = min(depth, len(ranking))
    return len(relevant(ranking[:k], relevance_threshold)) / depth


def recall(ranking, pool, *, k=None, relevance_threshold=1):
    number = len(relevant(pool, relevance_threshold))
    return len(relevant(ranking[:k], relevance_threshold)) / number if number else None


def f1(ranking, pool, *, k=None, relevance_threshold=1):
    share = precision(ranking, pool, k=k, relevance_threshold=relevance_threshold)
    if share is None:
        return None
    found = recall(ranking, pool, k=k, relevance_threshold=relevance_threshold)
    return 2 * share * found / (share + found) if share + found else 0.0


def r_precision(ranking, pool, *, relevance_threshold=1):
    number = len(relevant(pool, relevance_threshold))
    return len(relevant(ranking[:number], relevance_threshold)) / number if number else None


def rbp(ranking, pool, *, k=None, p=0.8, relevance_threshold=1):
    if not relevant(pool, relevance_threshold):
        return None
    ranks = [rank for rank, label in enumerate(ranking[:k], 1) if label >= relevance_threshold]
    return sum((1 - p) * p ** (rank - 1) for rank in ranks)


def arp(ranking, pool):
    total = sum(ranking)
    return sum(rank * label for rank, label in enumerate(ranking, 1)) / total if total else None


def pairs(ranking):
    """How many pairs of different labels are in order, and how many are not."""
    above_below = [(a, b) for i, a in enumerate(ranking) for b in ranking[i + 1 :]]
    return sum(a > b for a, b in above_below), sum(a < b for a, b in above_below)


def inversions(ranking, pool):
    right, wrong = pairs(ranking)
    return wrong if right + wrong else None


def pair_accuracy(ranking, pool):
    right, wrong = pairs(ranking)
    return right / (right + wrong) if right + wrong else None


def kendall_tau(ranking, pool):
    """Tau-b of scores without ties."""
    right, wrong = pairs(ranking)
    every = len(ranking) * (len(ranking) - 1) / 2
    return (right - wrong) / (every * (right + wrong)) ** 0.5 if right + wrong else None


NAIVE = {
    one.__name__: one
    for one in (
        dcg, ndcg, err, average_precision, reciprocal_rank, hit, precision, recall, f1, r_precision, rbp,
        arp, inversions, pair_accuracy, kendall_tau,
    )
}  # fmt: skip


def understood_words(words, documents):
    """For each word of a query the words that it may be understood as, the best ones by counting.

    A word of some document is itself. Another one becomes the nearest word within one edit (two from eight
    letters on), of those the one in the most documents together with the other words of the query, then in
    the most documents; ties are all allowed.
    """
    known = sorted({word for one in documents for word in one})
    found = []
    for word in words:
        edits = 0 if len(word) < 4 else 1 if len(word) < 8 else 2
        near = {one: edit_distance(word, one) for one in known}
        least = min(near.values())
        if word in known or least > edits:
            found.append({word})
            continue
        value = {}
        for option in (one for one in known if near[one] == least):
            having = [one for one in documents if option in one]
            together = sum(sum(other in one for other in words) for one in having)
            value[option] = (together, len(having))
        found.append({option for option in value if value[option] == max(value.values())})
    return found


def edit_distance(a, b):
    """Insertions, deletions, replacements and swaps of neighbours that lead from one word to another."""
    d = [[max(i, j) if min(i, j) == 0 else 0 for j in range(len(b) + 1)] for i in range(len(a) + 1)]
    for i in range(1, len(a) + 1):
        for j in range(1, len(b) + 1):
            d[i][j] = min(d[i - 1][j] + 1, d[i][j - 1] + 1, d[i - 1][j - 1] + (a[i - 1] != b[j - 1]))
            if i > 1 and j > 1 and a[i - 1] == b[j - 2] and a[i - 2] == b[j - 1]:
                d[i][j] = min(d[i][j], d[i - 2][j - 2] + 1)
    return d[-1][-1]


def mixture_reach(variance, information, error):
    """How far a difference may be from 0 at any look, by bisection: mixed around 300 and 10,000 people."""

    def evidence(difference):
        total = 0.0
        for people, weight in ((300, 10 / 11), (10_000, 1 / 11)):
            r = information / people
            total += weight / sqrt(1 + r) * exp(min(difference**2 / (2 * variance * (1 + 1 / r)), 700))
        return total

    low, high = 0.0, 1e6 * sqrt(variance)
    for _ in range(200):
        middle = (low + high) / 2
        low, high = (low, middle) if evidence(middle) > 1 / error else (middle, high)
    return high


def renewal(people, ready, lowest, highest, before, slope):
    """How far the difference has moved on: correlations over people, each page from nothing."""
    now, kept, found = {}, None, []
    done = most = 0.0
    for page, person in enumerate(people.code):
        if people.enters[page] < 0:
            now.pop(person)
        else:
            now[person] = people.now[page], before[page]
        if not ready[page]:
            found.append(0.0)
            continue
        since = 0.0
        if kept is not None:
            theta, then = kept
            new = {one: mean - theta * own for one, (mean, own) in now.items()}
            centre, centre_then = (
                (sum(some.values()) + lowest + highest) / (len(some) + 2) for some in (new, then)
            )
            ends = [(lowest - centre, lowest - centre_then), (highest - centre, highest - centre_then)]
            both = [(new[one] - centre, then[one] - centre_then) for one in new if one in then]
            shared = sum(a * b for a, b in both + ends)
            spread = sum((one - centre) ** 2 for one in [*new.values(), lowest, highest])
            spread_then = sum((one - centre_then) ** 2 for one in [*then.values(), lowest, highest])
            left = shared * shared / (spread * spread_then) if shared > 0 else 0.0
            since = -log(min(max(left, 1e-4), 1.0))
        if since >= 0.5 or kept is None:
            done += since
            since = 0.0
            kept = slope[page], {one: mean - slope[page] * own for one, (mean, own) in now.items()}
        most = max(most, done + since)
        found.append(most)
    return found
