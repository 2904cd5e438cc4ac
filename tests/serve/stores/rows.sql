-- Rows that stores of every schema have.
INSERT INTO pages ("page_id", "time", "day", "query", "user", "ranker", "layout", "policy", "experiment", "randomness", "generation", "fingerprint", "features", "documents", "scores", "shown", "found", "stages", "seconds", "bot") VALUES ('00000000000000000000000000000000', 1000.0, 0, 'red shoes', 'uuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuu', 'v1', 'page', 'plain', NULL, NULL, 1, 'f', 'k', '["a", "b"]', x'0000000000000000000000000000f0bf', 2, 7, '{}', 0.01, FALSE);
INSERT INTO page_features ("page_id", "time", "matrix") VALUES ('00000000000000000000000000000000', 1000.0, x'0000803f0000003f');
INSERT INTO feature_sets ("features", "names") VALUES ('k', '["bm25"]');
INSERT INTO events ("page_id", "event_id", "kind", "document", "position", "value", "time") VALUES ('00000000000000000000000000000000', 'e1', 'click', 'b', 2, NULL, 1001.0);
INSERT INTO clicks ("page_id", "position", "document", "clicked", "time", "day", "query", "ranker", "layout", "experiment", "bot") VALUES ('00000000000000000000000000000000', 2, 'b', 1001.0, 1000.0, 0, 'red shoes', 'v1', 'page', NULL, FALSE);
INSERT INTO forgotten ("user", "time") VALUES ('gggggggggggggggggggggggggggggggg', 900.0);
INSERT INTO models ("number", "version", "time", "sha256", "lineage") VALUES (1, 'v1', 500.0, 's', '{"name": "bm25"}');
INSERT INTO roles ("row", "production", "history", "shadow", "canary", "share", "changed") VALUES (1, 'v1', '[]', NULL, NULL, 0.0, 500.0);
INSERT INTO experiments ("id", "kind", "a", "b", "method", "note", "seed", "share", "started", "ended") VALUES ('x1', 'ab', 'v1', 'v1', 'team_draft', '', 3, 0.5, 600.0, NULL);
