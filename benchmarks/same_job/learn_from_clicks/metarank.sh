python metarank_events.py log.csv products.jsonl > events.jsonl
java -jar metarank.jar standalone --config metarank.yml --data events.jsonl &
until curl -sf localhost:8080/health; do sleep 1; done
curl -s localhost:8080/rank/learned -d '{"event": "ranking", "id": "1", "timestamp": "1700000000000", "user": "ann", "session": "1", "fields": [{"name": "query", "value": "red shoes"}], "items": [{"id": "p1"}, {"id": "p2"}, {"id": "p3"}]}'
