//! Opens agrail's SQLite files: memory, sessions and approvals. No other module opens them.
//!
//! 1. A missing file is created with mode 0600, its folder with mode 0700.
//! 2. A file of another program, or of a newer release, is refused with an error that names the file.
//! 3. `forget` removes a leaked secret from a file and from its copies.
//! 4. A file of an older release is migrated in one transaction. A copy of the old file is kept beside it (`FILE.v1`).

mod forget;

pub(crate) use forget::forget;

use rusqlite::{Connection, OpenFlags, Transaction, TransactionBehavior};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// Longest write-ahead log, in bytes, that is left as it is. A process that ends without closing a file leaves its log,
/// and the next one reads all of it.
const LONG_LOG: u64 = 1 << 18;

/// The format of one kind of file.
pub(crate) struct Format {
    /// Name of the contents, for messages, e.g. `memory`.
    pub name: &'static str,
    /// SQLite's `application_id`; 0 for files without one.
    pub application: i64,
    /// Statements that migrate version `n` to version `n + 1`; the first one creates the tables in an empty file.
    /// Their number is the schema version (`user_version`).
    pub migrations: &'static [&'static str],
    /// Statements to run on each new connection.
    pub pragmas: &'static str,
    /// Whether to create the file's folder, too.
    pub folder: bool,
    /// How long to wait while another process is writing.
    pub wait: Duration,
}

/// Why a file cannot be opened.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StoreError {
    /// The file or its folder cannot be created.
    #[error("cannot create {path}: {error}; check that its folder exists and is yours (`ls -ld`)", path = .path.display())]
    Create {
        /// The file.
        path: PathBuf,
        /// The error of the operating system.
        error: io::Error,
    },
    /// The file belongs to another program.
    #[error("{path} is not agrail's {name} database but {found}; move it away", path = .path.display())]
    Foreign {
        /// Name of the expected contents.
        name: &'static str,
        /// The file.
        path: PathBuf,
        /// Description of the actual contents.
        found: String,
    },
    /// The file was written by a newer release.
    #[error("{path} ({name}) has schema version {found}, but this agrail supports up to {known}; update agrail", path = .path.display())]
    Newer {
        /// Name of the contents.
        name: &'static str,
        /// The file.
        path: PathBuf,
        /// Schema version of the file.
        found: i64,
        /// The newest schema version that this release supports.
        known: i64,
    },
    /// SQLite failed.
    #[error(transparent)]
    Sqlite(#[from] rusqlite::Error),
}

impl Format {
    fn version(&self) -> i64 {
        i64::try_from(self.migrations.len()).unwrap_or(i64::MAX)
    }

    /// Opens the file for reading and writing; creates or migrates it if necessary.
    ///
    /// # Errors
    /// [`StoreError`] if the file cannot be created, belongs to another program or a newer release, or SQLite fails.
    pub fn open(&self, path: &Path) -> Result<Connection, StoreError> {
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let mut connection = match Connection::open_with_flags(path, flags) {
            Ok(connection) => connection,
            Err(_) => {
                let create = if self.folder { create_private } else { create_file };
                create(path).map_err(|error| StoreError::Create { path: path.to_owned(), error })?;
                Connection::open_with_flags(path, flags)?
            }
        };
        connection.busy_timeout(self.wait)?;
        connection.execute_batch(self.pragmas)?;
        if numbers(&connection)? != (self.application, self.version()) {
            self.migrate(&mut connection, path)?;
        }
        self.shorten_log(&connection, path)?;
        Ok(connection)
    }

    /// Writes a long write-ahead log back to the file, unless another process is using it. A log that cannot be written
    /// back is read as it is.
    fn shorten_log(&self, connection: &Connection, path: &Path) -> rusqlite::Result<()> {
        let mut log = path.as_os_str().to_owned();
        log.push("-wal");
        if std::fs::metadata(PathBuf::from(log)).is_ok_and(|log| log.len() > LONG_LOG) {
            connection.busy_timeout(Duration::ZERO)?;
            let _ = connection.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(()));
            connection.busy_timeout(self.wait)?;
        }
        Ok(())
    }

    /// Opens an empty database in memory.
    ///
    /// # Errors
    /// [`StoreError::Sqlite`]
    pub fn open_in_memory(&self) -> Result<Connection, StoreError> {
        let mut connection = Connection::open_in_memory()?;
        connection.execute_batch(self.pragmas)?;
        self.migrate(&mut connection, Path::new(":memory:"))?;
        Ok(connection)
    }

    /// The schema version; 0 if the file is empty. Takes a transaction, because another process may be writing the
    /// file.
    fn check(&self, transaction: &Transaction<'_>, path: &Path) -> Result<i64, StoreError> {
        let (application, found) = numbers(transaction)?;
        if application != self.application || found == 0 {
            let tables: i64 = transaction.query_row("SELECT count(*) FROM sqlite_master", [], |row| row.get(0))?;
            if tables != 0 || (application, found) != (0, 0) {
                let found = format!("a database of another program, application id {application:#x}, {tables} objects");
                return Err(StoreError::Foreign { name: self.name, path: path.to_owned(), found });
            }
        }
        let known = self.version();
        if found > known {
            return Err(StoreError::Newer { name: self.name, path: path.to_owned(), found, known });
        }
        Ok(found)
    }

    fn migrate(&self, connection: &mut Connection, path: &Path) -> Result<(), StoreError> {
        let version = self.check(&connection.transaction()?, path)?;
        use_wal(connection, self.wait)?;
        if version > 0 {
            keep_copy(connection, path, version)?;
        }
        let writing = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
        let version = self.check(&writing, path)?;
        for step in self.migrations.iter().skip(usize::try_from(version).unwrap_or_default()) {
            writing.execute_batch(step)?;
        }
        if version < self.version() {
            writing.pragma_update(None, "application_id", self.application)?;
            writing.pragma_update(None, "user_version", self.version())?;
        }
        writing.commit()?;
        Ok(())
    }
}

/// The file's `application_id` and `user_version`.
fn numbers(connection: &Connection) -> rusqlite::Result<(i64, i64)> {
    let number = |sql: &str| connection.query_row(sql, [], |row| row.get::<_, i64>(0));
    Ok((number("PRAGMA application_id")?, number("PRAGMA user_version")?))
}

/// Copies the file to `FILE.vN` beside it (`N`: its schema version), unless that copy exists.
fn keep_copy(connection: &Connection, path: &Path, version: i64) -> Result<(), StoreError> {
    let mut copy = path.as_os_str().to_owned();
    copy.push(format!(".v{version}"));
    let copy = PathBuf::from(copy);
    if copy.exists() {
        return Ok(());
    }
    // a copy that was interrupted, or that another process is making, does not count as one
    let mut unfinished = copy.as_os_str().to_owned();
    static COPIES: AtomicU64 = AtomicU64::new(0);
    unfinished.push(format!(".{}-{}", std::process::id(), COPIES.fetch_add(1, Ordering::Relaxed)));
    let unfinished = PathBuf::from(unfinished);
    let failed = |error| StoreError::Create { path: copy.clone(), error };
    match std::fs::remove_file(&unfinished) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(failed(error)),
        _ => create_file(&unfinished).map_err(failed)?,
    }
    connection.execute("VACUUM INTO ?1", [unfinished.to_string_lossy()])?;
    std::fs::rename(&unfinished, &copy).map_err(failed)
}

/// Switches the database to WAL. Retries for `wait`, because SQLite's busy timeout does not cover this switch.
fn use_wal(connection: &Connection, wait: Duration) -> rusqlite::Result<()> {
    let end = Instant::now() + wait;
    loop {
        match connection.pragma_update(None, "journal_mode", "WAL") {
            Err(e) if e.sqlite_error_code() == Some(rusqlite::ErrorCode::DatabaseBusy) && Instant::now() < end => {
                std::thread::sleep(Duration::from_millis(10));
            }
            other => return other,
        }
    }
}

/// Creates a file with mode 0600, and its folder with mode 0700, unless they exist.
fn create_private(path: &Path) -> io::Result<()> {
    use std::os::unix::fs::DirBuilderExt as _;
    if let Some(folder) = path.parent().filter(|folder| !folder.as_os_str().is_empty()) {
        std::fs::DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
    }
    create_file(path)
}

fn create_file(path: &Path) -> io::Result<()> {
    use std::os::unix::fs::OpenOptionsExt as _;
    match std::fs::OpenOptions::new().write(true).create_new(true).mode(0o600).open(path) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
        other => other.map(drop),
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    const WAIT: Duration = Duration::from_millis(50);
    const ONE: Format = Format {
        name: "samples",
        application: 0,
        migrations: &["CREATE TABLE a(x); INSERT INTO a VALUES (7)"],
        pragmas: "",
        folder: true,
        wait: WAIT,
    };
    const TWO: Format = Format { migrations: &["CREATE TABLE a(x)", "ALTER TABLE a ADD COLUMN y"], ..ONE };

    #[test]
    fn a_long_log_of_an_ended_process_is_written_back() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("samples.db");
        let length = || std::fs::metadata(folder.path().join("samples.db-wal")).unwrap().len();
        let ended = std::mem::ManuallyDrop::new(ONE.open(&path).unwrap());
        let reader = ONE.open(&path).unwrap();
        ended.execute("INSERT INTO a VALUES (zeroblob(2000000))", []).unwrap();
        // it uses the log, which cannot be emptied then
        reader.execute_batch("BEGIN; SELECT count(*) FROM a").unwrap();
        let rows = |c: &Connection| c.query_row("SELECT count(*) FROM a", [], |row| row.get::<_, i64>(0)).unwrap();
        assert_eq!(rows(&ONE.open(&path).unwrap()), 2);
        assert!(length() > LONG_LOG);
        drop(reader);
        assert_eq!(rows(&ONE.open(&path).unwrap()), 2);
        assert_eq!(length(), 0);
    }

    #[test]
    fn migration_keeps_rows_and_a_copy() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("new/samples.db");
        drop(ONE.open(&path).unwrap());
        for _ in 0..2 {
            let database = TWO.open(&path).unwrap();
            let row: (i64, Option<i64>) =
                database.query_row("SELECT x, y FROM a", [], |r| Ok((r.get(0)?, r.get(1)?))).unwrap();
            assert_eq!(row, (7, None));
        }
        let copy = Connection::open(folder.path().join("new/samples.db.v1")).unwrap();
        assert_eq!(copy.query_row("SELECT x FROM a", [], |r| r.get::<_, i64>(0)).unwrap(), 7);
        assert!(copy.prepare("SELECT y FROM a").is_err());
    }

    #[test]
    fn newer_and_foreign_files_are_refused() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("samples.db");
        drop(TWO.open(&path).unwrap());
        let error = ONE.open(&path).unwrap_err();
        assert!(matches!(error, StoreError::Newer { found: 2, known: 1, .. }), "{error}");
        let other = folder.path().join("other.db");
        Connection::open(&other).unwrap().execute_batch("CREATE TABLE a(x)").unwrap();
        let error = ONE.open(&other).unwrap_err();
        assert!(matches!(error, StoreError::Foreign { .. }), "{error}");
    }
}
