rankloop index products.jsonl --out shop.index --fields title:text,brand:keyword,price:number
rankloop learn shop.index log.csv --columns query=q,document=sku,session=visit,position=place,click=clicked --out learned
rankloop serve shop.index --pipeline learned --port 8123 &
until curl -sf localhost:8123/ready; do sleep 1; done
curl -s localhost:8123/search -H 'content-type: application/json' -d '{"query": "red shoes"}'
