"""Documents of a service over an engine, from their first to their last day; the same for every engine."""

from serve.running import ADMIN


def check_documents_come_and_go(client):
    put = {
        "documents": [{"id": "web-1", "title": "purple umbrella", "price": 5}, {"id": "web-2", "price": "x"}]
    }
    stored = client.put("/documents", json=put, headers=ADMIN).raise_for_status().json()
    assert [one["status"] for one in stored["items"]] == ["stored", "refused"]
    assert found(client) == ["web-1"]
    change = {"documents": [{"id": "web-1", "title": "purple parasol umbrella"}, {"id": "web-9", "price": 1}]}
    changed = client.patch("/documents", json=change, headers=ADMIN).raise_for_status().json()
    assert [one["status"] for one in changed["items"]] == ["stored", "absent"]
    assert client.get("/documents/web-1", headers=ADMIN).json()["price"] == 5
    assert found(client, "parasol") == ["web-1"]
    gone = client.request("DELETE", "/documents", json={"ids": ["web-1", "web-9"]}, headers=ADMIN)
    assert [one["status"] for one in gone.raise_for_status().json()["items"]] == ["deleted", "absent"]
    assert found(client) == []
    assert client.delete("/documents/web-1", headers=ADMIN).status_code == 404


def found(client, query="umbrella"):
    answer = client.post("/search", json={"query": query, "record": False}).raise_for_status().json()
    return [one["id"] for one in answer["results"]]
