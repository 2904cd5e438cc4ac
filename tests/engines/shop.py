"""A small shop that every engine is filled with, the same each time."""

import numpy as np

FIELDS = {
    "title": "text",
    "body": "text",
    "genre": "keyword",
    "price": "number",
    "released": "date",
    "look": "vector:3",
}
WORDS = [
    *(
        "red",
        "blue",
        "green",
        "shoes",
        "shoe",
        "running",
        "runner",
        "hat",
        "coat",
        "light",
        "heavy",
        "winter",
    ),
    *("summer", "the", "and", "Crème", "brûlée", "naïve", "2024", "x1"),
    *(f"word{number}" for number in range(60)),
]
QUERIES = ["red shoes", "running", "the red hat", "creme brulee", "word7 word9 coat", "naive winter x1"]


SYNTAX = [
    *("+red -shoes", "genre:sport red", '"red shoes"', "title:red", "price:10..20", "price:>=90 red"),
    *("released:2013", "run*", "-red", "", "title:(red OR", 'a" ] } { "'),
]


def documents(count=300, seed=0):
    """Documents of a shop; some fields are missing."""
    random = np.random.default_rng(seed)
    found = []
    for number in range(count):
        one = {
            "id": f"d{number}",
            "title": " ".join(random.choice(WORDS, random.integers(2, 8))),
            "body": " ".join(random.choice(WORDS, random.integers(5, 39))),
            "genre": [str(one) for one in random.choice(["outdoor", "Home", "sport"], random.integers(1, 3))],
            "price": round(float(random.uniform(1, 100)), 2),
            "released": f"20{random.integers(10, 25)}-0{random.integers(1, 10)}-1{random.integers(10)}",
            "look": random.normal(size=3).round(3).tolist(),
        }
        for name in ("price", "released", "look"):
            if random.random() < 0.1:
                del one[name]
        found.append(one)
    return found
