//! Removes a leaked secret from an SQLite file, from the copies that migrations kept of it, and from their free pages.

use super::StoreError;
use crate::untrusted::{Leak, REMOVED};
use rusqlite::{Connection, OpenFlags, Transaction, TransactionBehavior, params};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// How long to wait while another process uses the file.
const WAIT: Duration = Duration::from_secs(10);

/// Replaces a secret in every text of a file and of its copies. `repair` then makes the file consistent again; it is told
/// whether anything was replaced. Returns the number of values in which the secret stood; 0 if there is no file.
///
/// # Errors
/// [`StoreError::Sqlite`]; then the file is as it was.
pub(crate) fn forget(
    path: &Path,
    leak: &Leak,
    repair: impl Fn(&Transaction<'_>) -> rusqlite::Result<()>,
) -> Result<usize, StoreError> {
    let mut values = 0;
    for file in copies(path) {
        values += forget_in(&file, leak, &repair)?;
    }
    Ok(values)
}

/// The file and the copies beside it that exist.
fn copies(path: &Path) -> Vec<PathBuf> {
    let version = |number: u32| {
        let mut copy = path.as_os_str().to_owned();
        copy.push(format!(".v{number}"));
        PathBuf::from(copy)
    };
    std::iter::once(path.to_owned()).chain((0..100).map(version)).filter(|file| file.is_file()).collect()
}

fn forget_in(
    path: &Path,
    leak: &Leak,
    repair: &impl Fn(&Transaction<'_>) -> rusqlite::Result<()>,
) -> Result<usize, StoreError> {
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let mut connection = Connection::open_with_flags(path, flags)?;
    connection.busy_timeout(WAIT)?;
    connection.pragma_update(None, "secure_delete", true)?;
    let writing = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    let triggers = texts(&writing, "SELECT sql FROM sqlite_master WHERE type = 'trigger'")?;
    for name in texts(&writing, "SELECT name FROM sqlite_master WHERE type = 'trigger'")? {
        writing.execute_batch(&format!("DROP TRIGGER {}", quoted(&name)))?;
    }
    let mut values = 0;
    for table in texts(&writing, "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%'")? {
        for column in texts(&writing, &format!("SELECT name FROM pragma_table_info({})", literal(&table)))? {
            values += replace(&writing, &quoted(&table), &quoted(&column), leak)?;
        }
    }
    if values > 0 {
        repair(&writing)?;
    }
    for trigger in triggers {
        writing.execute_batch(&trigger)?;
    }
    writing.commit()?;
    if values > 0 {
        // neither the log of writes nor a free page may keep it
        connection.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(()))?;
        connection.execute_batch("VACUUM")?;
        connection.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(()))?;
    }
    Ok(values)
}

/// Replaces the secret in the texts of a column.
fn replace(writing: &Transaction<'_>, table: &str, column: &str, leak: &Leak) -> rusqlite::Result<usize> {
    let mut values = 0;
    for form in leak.forms() {
        // a row whose key becomes equal to another one's is replaced by it
        let sql = format!(
            "UPDATE OR REPLACE {table} SET {column} = replace({column}, ?1, ?2)
             WHERE typeof({column}) = 'text' AND instr({column}, ?1) > 0"
        );
        values += writing.execute(&sql, params![form, REMOVED])?;
    }
    Ok(values)
}

fn texts(writing: &Transaction<'_>, sql: &str) -> rusqlite::Result<Vec<String>> {
    let mut rows = writing.prepare(sql)?;
    rows.query_map([], |row| row.get(0))?.collect()
}

/// A name as SQL writes it.
fn quoted(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}

fn literal(text: &str) -> String {
    format!("'{}'", text.replace('\'', "''"))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn a_secret_leaves_the_file_and_its_copies() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.db");
        let copy = folder.path().join("a.db.v1");
        for file in [&path, &copy] {
            let database = Connection::open(file).unwrap();
            database
                .execute_batch(
                    "PRAGMA journal_mode = WAL; CREATE TABLE t(id TEXT PRIMARY KEY, body TEXT, n INTEGER);
                     INSERT INTO t VALUES ('1', 'key hunter2hunter2 end', 7), ('hunter2hunter2', '{\"a\":\"x\"}', 8), ('2', 'other', 9);
                     CREATE TRIGGER kept BEFORE UPDATE ON t BEGIN SELECT RAISE(ABORT, 'never changed'); END;
                     DELETE FROM t WHERE id = 'hunter2hunter2';",
                )
                .unwrap();
        }
        let leak = Leak::new("hunter2hunter2").unwrap();
        assert_eq!(forget(&path, &leak, |_| Ok(())).unwrap(), 2);
        for entry in std::fs::read_dir(folder.path()).unwrap() {
            let file = entry.unwrap().path();
            assert!(!leak.is_in(&std::fs::read(&file).unwrap()), "{}", file.display());
        }
        let database = Connection::open(&path).unwrap();
        let body: String = database.query_row("SELECT body FROM t WHERE id = '1'", [], |row| row.get(0)).unwrap();
        assert_eq!(body, "key [removed] end");
        assert!(database.execute("UPDATE t SET n = 1", []).is_err(), "the trigger is there again");
        assert_eq!(forget(&path, &leak, |_| Ok(())).unwrap(), 0);
        assert_eq!(forget(&folder.path().join("none.db"), &leak, |_| Ok(())).unwrap(), 0);
    }
}
