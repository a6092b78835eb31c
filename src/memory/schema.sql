-- The source of truth. Rows of versions, vectors and events are only ever added, and decisions are never changed; the
-- triggers below enforce it. Votes are deleted once their change has taken effect.

CREATE TABLE meta (
    id             INTEGER PRIMARY KEY CHECK (id = 1),
    identity       TEXT    NOT NULL,              -- ULID of this database: an index file of another one is refused
    embedder       TEXT,                          -- id of the embedding model, NULL until the first one
    dimensions     INTEGER,                       -- length of its vectors
    memory_version INTEGER NOT NULL               -- +1 for each transaction that changes an entry
) STRICT;

CREATE TABLE embedding (
    row      INTEGER PRIMARY KEY AUTOINCREMENT,   -- key in the vector index, never used twice
    entry    TEXT    NOT NULL,
    version  INTEGER NOT NULL,                    -- the version of the entry that brought it
    embedder TEXT    NOT NULL,
    vector   BLOB    NOT NULL                     -- f32, little endian
) STRICT;

CREATE TABLE entry_version (
    entry          TEXT    NOT NULL,
    version        INTEGER NOT NULL CHECK (version >= 1),
    parent         INTEGER,
    memory_version INTEGER NOT NULL,
    at_ms          INTEGER NOT NULL,
    who            TEXT    NOT NULL,
    body           TEXT    NOT NULL,              -- the entry as JSON
    digest         TEXT    NOT NULL,              -- sha256 of body, hex
    embedding      INTEGER REFERENCES embedding (row),
    PRIMARY KEY (entry, version),
    FOREIGN KEY (entry, parent) REFERENCES entry_version (entry, version)
) STRICT;
CREATE INDEX entry_version_at ON entry_version (memory_version);

CREATE TABLE entry_head (
    entry    TEXT    PRIMARY KEY,
    version  INTEGER NOT NULL,
    status   TEXT    NOT NULL CHECK (status IN ('proposed', 'active', 'quarantined', 'retired')),
    key_hash TEXT,                                -- sha256 of the key; NULL for approvals
    changed  INTEGER NOT NULL,                    -- memory version at which this row last changed
    FOREIGN KEY (entry, version) REFERENCES entry_version (entry, version)
) STRICT;
CREATE INDEX entry_head_changed ON entry_head (changed);
CREATE INDEX entry_head_key ON entry_head (key_hash);

CREATE TABLE vote (                               -- which episode asked for which change
    entry     TEXT    NOT NULL,
    change    TEXT    NOT NULL,                   -- sha256 of the change as JSON
    episode   TEXT    NOT NULL,
    principal TEXT    NOT NULL,
    at_ms     INTEGER NOT NULL,
    PRIMARY KEY (entry, change, episode)
) STRICT, WITHOUT ROWID;

CREATE TABLE event (
    seq     INTEGER PRIMARY KEY AUTOINCREMENT,
    at_ms   INTEGER NOT NULL,
    who     TEXT    NOT NULL,
    what    TEXT    NOT NULL,
    entry   TEXT,
    version INTEGER,
    detail  TEXT    NOT NULL
) STRICT;
CREATE INDEX event_entry ON event (entry);

CREATE TABLE decision (
    id             TEXT    PRIMARY KEY,
    at_ms          INTEGER NOT NULL,
    action         TEXT    NOT NULL,              -- digests, hex
    facts          TEXT    NOT NULL,
    policy         TEXT    NOT NULL,
    memory_version INTEGER NOT NULL,
    decision       TEXT    NOT NULL,
    record         TEXT    NOT NULL               -- the whole verdict as JSON
) STRICT, WITHOUT ROWID;
CREATE INDEX decision_at ON decision (at_ms);

CREATE TRIGGER entry_version_kept BEFORE UPDATE ON entry_version BEGIN SELECT RAISE(ABORT, 'versions are never changed'); END;
CREATE TRIGGER entry_version_stays BEFORE DELETE ON entry_version BEGIN SELECT RAISE(ABORT, 'versions are never deleted'); END;
CREATE TRIGGER embedding_kept BEFORE UPDATE ON embedding BEGIN SELECT RAISE(ABORT, 'vectors are never changed'); END;
CREATE TRIGGER embedding_stays BEFORE DELETE ON embedding BEGIN SELECT RAISE(ABORT, 'vectors are never deleted'); END;
CREATE TRIGGER event_kept BEFORE UPDATE ON event BEGIN SELECT RAISE(ABORT, 'events are never changed'); END;
CREATE TRIGGER event_stays BEFORE DELETE ON event BEGIN SELECT RAISE(ABORT, 'events are never deleted'); END;
CREATE TRIGGER decision_kept BEFORE UPDATE ON decision BEGIN SELECT RAISE(ABORT, 'decisions are never changed'); END;
