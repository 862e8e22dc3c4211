-- A store as the first schema version wrote it: an object changed twice, one deleted, and a history
-- that was compacted up to revision 2.
PRAGMA journal_mode = WAL;
PRAGMA application_id = 0x4b415049;
PRAGMA user_version = 1;
CREATE TABLE meta(name TEXT PRIMARY KEY, value INTEGER NOT NULL) STRICT, WITHOUT ROWID;
INSERT INTO meta VALUES ('revision', 6), ('floor', 2), ('epoch', 3);
CREATE TABLE cur(
    id INTEGER PRIMARY KEY, key TEXT NOT NULL UNIQUE, rev INTEGER NOT NULL,
    splice INTEGER, value BLOB NOT NULL) STRICT;
CREATE TABLE log(
    rev INTEGER PRIMARY KEY, key TEXT NOT NULL, at INTEGER NOT NULL, deleted INTEGER NOT NULL,
    previous_rev INTEGER, previous_splice INTEGER, previous BLOB) STRICT;
CREATE INDEX log_by_key ON log(key, rev);
INSERT INTO cur VALUES
    (1, '/core/things/ns/a', 4, 13, CAST('{"metadata":{"name":"a"},"spec":"two"}' AS BLOB)),
    (2, '/core/things/ns/c', 6, 13, CAST('{"metadata":{"name":"c"},"spec":"one"}' AS BLOB));
INSERT INTO log VALUES
    (3, '/core/things/ns/b', 9000000000000, 0, NULL, NULL, NULL),
    (4, '/core/things/ns/a', 9000000000000, 0, 2, 13,
        CAST('{"metadata":{"name":"a"},"spec":"one"}' AS BLOB)),
    (5, '/core/things/ns/b', 9000000000000, 1, 3, 13,
        CAST('{"metadata":{"name":"b"},"spec":"one"}' AS BLOB)),
    (6, '/core/things/ns/c', 9000000000000, 0, NULL, NULL, NULL);
