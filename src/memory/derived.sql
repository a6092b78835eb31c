-- Fills the derived tables from the versions.

DELETE FROM recalled; DELETE FROM bound;
INSERT OR IGNORE INTO recalled
    SELECT json_extract(t.value, '$.verb'), json_extract(t.value, '$.class'), h.entry
    FROM entry_head h JOIN entry_version v ON v.entry = h.entry AND v.version = h.version,
         json_each(v.body, '$.triggers') t WHERE h.status = 'active';
INSERT OR IGNORE INTO bound
    SELECT json_extract(v.body, '$.approval.signature'), h.entry
    FROM entry_head h JOIN entry_version v ON v.entry = h.entry AND v.version = h.version
    WHERE h.status = 'active' AND json_extract(v.body, '$.approval.signature') IS NOT NULL;
UPDATE meta SET terms = NULL, active = 0;
