import csv
import json
import sys
from itertools import groupby

log, products = sys.argv[1:]
clock = 1_700_000_000_000
with open(products) as lines:
    for number, line in enumerate(lines):
        one = json.loads(line)
        fields = [{"name": name, "value": one[name]} for name in ("title", "brand", "price") if name in one]
        item = {"event": "item", "id": f"item-{number}", "timestamp": str(clock), "item": str(one["id"])}
        print(json.dumps({**item, "fields": fields}))
with open(log) as lines:
    rows = sorted(csv.DictReader(lines), key=lambda row: (row["visit"], int(row["place"])))
for number, (visit, page) in enumerate(groupby(rows, key=lambda row: row["visit"])):
    shown = list(page)
    when = {"timestamp": str(clock + 1000 * number), "user": visit, "session": visit}
    ranking = {"event": "ranking", "id": f"page-{number}", **when}
    ranking["fields"] = [{"name": "query", "value": shown[0]["q"]}]
    ranking["items"] = [{"id": row["sku"]} for row in shown]
    print(json.dumps(ranking))
    for row in shown:
        if row["clicked"] == "1":
            click = {
                "event": "interaction",
                "id": f"click-{number}-{row['sku']}",
                "ranking": f"page-{number}",
            }
            print(json.dumps({**click, **when, "type": "click", "item": row["sku"]}))
