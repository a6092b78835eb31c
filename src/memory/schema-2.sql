-- What is derived from the versions, so that a process that judges one action reads only the entries that it concerns.

ALTER TABLE meta ADD COLUMN terms BLOB;                     -- sum over the active entries; NULL: to be computed
ALTER TABLE meta ADD COLUMN active INTEGER NOT NULL DEFAULT 0;

CREATE TABLE recalled (                                     -- which effect recalls which active entry
    verb  TEXT NOT NULL,
    class TEXT NOT NULL,
    entry TEXT NOT NULL,
    PRIMARY KEY (verb, class, entry)
) STRICT, WITHOUT ROWID;

CREATE TABLE bound (                                        -- which active approval is bound to which digest
    bound TEXT NOT NULL,
    entry TEXT NOT NULL,
    PRIMARY KEY (bound, entry)
) STRICT, WITHOUT ROWID;
