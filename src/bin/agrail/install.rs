//! `agrail install`: adds the hook to a host's settings, or removes it.

use agrail::hook::Host;
use agrail::hook::install::{Scope, closed, installed, with_hook, without_hook};
use agrail::hook::trust::{self, Trust};
use anyhow::{Context as _, Result, bail};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// Put the guard in front of a coding agent, or remove it
///
/// Edits the host's settings in place, shows the changes, and keeps the old file beside the new
/// one. The command is idempotent. Codex runs only trusted hooks, so the trust entry is written to
/// its config.toml, too. With --scope machine the hook goes into the administrator's settings
/// (/etc/claude-code, /etc/codex, ...), which no project can switch off. What the guard does not
/// see of a host: agrail doctor.
///
///   agrail install claude-code                    for all of your projects
///   agrail install codex --scope project          for the project in this folder
///   sudo agrail install codex --scope machine     for all users of this machine
///   agrail install claude-code --uninstall
#[derive(Debug, clap::Args)]
#[command(verbatim_doc_comment)]
pub struct Args {
    /// The coding agent.
    #[arg(value_parser = clap::builder::PossibleValuesParser::new(Host::installable().map(Host::name)))]
    host: String,
    /// user: all of your projects; project: the one in this folder; machine: all users of this machine.
    #[arg(long, default_value = "user", value_parser = ["user", "project", "machine"])]
    scope: String,
    /// Remove the hook.
    #[arg(long)]
    uninstall: bool,
    /// Show the changes without making them.
    #[arg(long)]
    dry_run: bool,
    /// Print JSON: each file with its text before and after (null: removed), and where the old one is kept.
    #[arg(long)]
    json: bool,
}

/// The settings files in which a host keeps its hooks; none if it has no such scope.
pub fn settings_files(host: Host, scope: Scope) -> Result<Vec<PathBuf>> {
    let Some(settings) = host.settings(scope)? else { return Ok(Vec::new()) };
    let set = |name: &str| std::env::var_os(name).filter(|v| !v.is_empty()).map(PathBuf::from);
    let path = match scope {
        Scope::Machine => PathBuf::from(settings.path),
        Scope::Project => std::env::current_dir()?.join(settings.path),
        Scope::User => {
            let name = Path::new(settings.path).file_name().unwrap_or_default();
            let moved = settings.moved.and_then(|(variable, below)| Some(set(variable)?.join(below).join(name)));
            match moved {
                Some(path) => path,
                None => set("HOME").context("HOME is not set; use --scope project")?.join(settings.path),
            }
        }
    };
    if settings.scripts.is_empty() {
        return Ok(vec![path]);
    }
    Ok(settings.scripts.iter().map(|name| path.join(name)).collect())
}

/// The first of them.
pub fn settings_file(host: Host, scope: Scope) -> Result<PathBuf> {
    let file = settings_files(host, scope)?.into_iter().next();
    file.with_context(|| format!("{} has no settings for all users of a machine", host.title()))
}

/// The user's configuration of Codex, which contains the trust entries.
pub fn codex_config() -> Result<PathBuf> {
    Ok(settings_file(Host::Codex, Scope::User)?.with_file_name("config.toml"))
}

/// The trust entries that the hooks in a file need, for each path that Codex may use for the file.
pub fn trust_needed(file: &Path, hooks: &str) -> Result<Vec<Trust>> {
    let mut names = vec![std::path::absolute(file)?];
    let real = file.canonicalize().ok().filter(|real| !names.contains(real));
    names.extend(real);
    let mut found = Vec::new();
    for name in names {
        let name = name.to_str().with_context(|| format!("the path {} is not UTF-8; move the file", name.display()))?;
        found.extend(trust::needed(name, hooks)?);
    }
    Ok(found)
}

/// The shell command line of the hook, with the configuration file if one was named. It starts the small program, if that
/// is beside this one.
pub fn command(host: Host, config: Option<&Path>) -> Result<String> {
    let program = std::env::current_exe().context("cannot find the path of this program")?;
    let small = program.with_file_name("agrail-hook");
    let program = if small.is_file() { quoted(&small)? } else { format!("{} hook", quoted(&program)?) };
    let named = config.filter(|file| crate::settings::default_file().as_deref() != Some(*file));
    let named = named.map(|file| quoted(&std::path::absolute(file)?)).transpose()?;
    let named = named.map(|file| format!(" --config {file}")).unwrap_or_default();
    Ok(closed(host, &format!("{program} {}{named}", host.name())))
}

/// A settings file before and after the change.
struct Change {
    file: PathBuf,
    before: String,
    /// `None`: the file is removed.
    after: Option<String>,
    /// The old file has no hook of the guard and is kept as a backup.
    keep: bool,
    /// The host runs the file.
    script: bool,
}

impl Change {
    fn changes(&self) -> bool {
        self.after.as_deref().unwrap_or_default() != self.before
    }
}

/// Runs the subcommand.
pub fn run(args: &Args, config: &crate::settings::Config) -> Result<ExitCode> {
    let host: Host = args.host.parse()?;
    let scope = match args.scope.as_str() {
        "project" => Scope::Project,
        "machine" => Scope::Machine,
        _ => Scope::User,
    };
    let changes = changes(args, host, scope, &command(host, config.file.as_deref())?)?;
    let mut out = anstream::stdout();
    if args.json {
        return Ok(writeln!(out, "{}", applied(args, &changes)?).map(|()| ExitCode::SUCCESS)?);
    }
    if !changes.iter().any(Change::changes) {
        let file = changes.first().map(|change| change.file.display().to_string()).unwrap_or_default();
        writeln!(out, "{file}: nothing to change")?;
        return Ok(ExitCode::SUCCESS);
    }
    for change in changes.iter().filter(|change| change.changes()) {
        shown(&mut out, change)?;
        if let Some(kept) = made(args, change)? {
            writeln!(out, "the old file is kept as {}", kept.display())?;
        }
    }
    match (args.dry_run, args.uninstall) {
        (true, _) => writeln!(out, "nothing was changed (--dry-run)")?,
        (false, true) => writeln!(out, "removed; the agent no longer asks the guard")?,
        (false, false) => writeln!(
            out,
            "installed; start a new session of the agent, then test that it asks the guard: agrail doctor"
        )?,
    }
    Ok(ExitCode::SUCCESS)
}

/// Makes a change, unless only what would be done is asked for. Returns where the old file is kept.
fn made(args: &Args, change: &Change) -> Result<Option<PathBuf>> {
    match &change.after {
        _ if args.dry_run => Ok(None),
        Some(after) => written(change, after),
        None => {
            let removed = std::fs::remove_file(&change.file);
            removed.with_context(|| format!("cannot remove {}", change.file.display())).map(|()| None)
        }
    }
}

/// Makes the changes and describes them.
fn applied(args: &Args, changes: &[Change]) -> Result<serde_json::Value> {
    let mut files = Vec::new();
    for change in changes.iter().filter(|change| change.changes()) {
        let kept = made(args, change)?;
        let Change { file, before, after, .. } = change;
        files.push(serde_json::json!({"file": file, "before": before, "after": after, "kept": kept}));
    }
    Ok(serde_json::json!({"host": args.host, "uninstall": args.uninstall, "dry_run": args.dry_run, "files": files}))
}

/// The changes to make, file by file.
fn changes(args: &Args, host: Host, scope: Scope, command: &str) -> Result<Vec<Change>> {
    let files = settings_files(host, scope)?;
    if files.is_empty() {
        bail!("{} has no settings for all users of a machine", host.title());
    }
    let script = host.settings(scope)?.is_some_and(|settings| !settings.scripts.is_empty());
    let mut changes = Vec::new();
    for file in files {
        let before = existing(&file)?;
        let about = || format!("in {}", file.display());
        let had = !installed(host, &before).with_context(about)?.is_empty();
        let after = match (args.uninstall, had) {
            (true, false) => Some(before.clone()),
            (true, true) => restored(&file, without_hook(host, &before)?),
            (false, _) => Some(with_hook(host, &before, command).with_context(about)?),
        };
        if host == Host::Codex {
            changes.extend(beside(args, scope, &file, &before, after.as_deref().unwrap_or_default())?);
        }
        // a file that already has the hook needs no backup
        changes.insert(0, Change { file, before, after, keep: !args.uninstall && !had, script });
    }
    Ok(changes)
}

/// The original text of the file, if it has the same content as what is left; a file that was there before is not removed.
fn restored(file: &Path, left: Option<String>) -> Option<String> {
    let Ok(kept) = std::fs::read_to_string(backup(file)) else { return left };
    let json = |text: &str| serde_json::from_str::<serde_json::Value>(text).ok();
    let now = left.clone().unwrap_or_else(|| "{}".to_owned());
    let same = json(&kept).is_some_and(|kept| Some(kept) == json(&now));
    if same { Some(kept) } else { Some(now) }
}

/// Where the old file is kept.
fn backup(file: &Path) -> PathBuf {
    let name = file.file_name().and_then(|name| name.to_str()).unwrap_or("settings");
    file.with_file_name(format!("{name}.before-agrail"))
}

/// The change that Codex needs beside its hooks: trust in the user's configuration, or, for the machine, a requirement
/// that hooks stay on.
fn beside(args: &Args, scope: Scope, hooks: &Path, before: &str, after: &str) -> Result<Option<Change>> {
    let file = if scope == Scope::Machine { hooks.with_file_name("requirements.toml") } else { codex_config()? };
    let old = existing(&file)?;
    let about = || format!("in {}", file.display());
    let new = match (scope, args.uninstall) {
        // other hooks may rely on it
        (Scope::Machine, true) => return Ok(None),
        (Scope::Machine, false) => trust::with_hooks_required(&old).with_context(about)?,
        (_, true) => trust::without_trust(&old, &trust_needed(hooks, before)?).with_context(about)?,
        (_, false) => {
            let stale = trust::without_trust(&old, &trust_needed(hooks, before)?).with_context(about)?;
            trust::with_trust(&stale, &trust_needed(hooks, after)?).with_context(about)?
        }
    };
    let keep = !args.uninstall && !old.contains("trusted_hash");
    Ok(Some(Change { keep, file, before: old, after: Some(new), script: false }))
}

fn existing(file: &Path) -> Result<String> {
    match std::fs::read_to_string(file) {
        Ok(text) => Ok(text),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(String::new()),
        Err(error) => Err(error).with_context(|| format!("cannot read {}", file.display())),
    }
}

fn shown(out: &mut impl Write, change: &Change) -> Result<()> {
    writeln!(out, "{}", change.file.display())?;
    for part in similar::TextDiff::from_lines(change.before.as_str(), change.after.as_deref().unwrap_or_default())
        .iter_all_changes()
    {
        let (mark, style) = match part.tag() {
            similar::ChangeTag::Delete => ("-", anstyle::AnsiColor::Red.on_default()),
            similar::ChangeTag::Insert => ("+", anstyle::AnsiColor::Green.on_default()),
            similar::ChangeTag::Equal => (" ", anstyle::Style::new()),
        };
        writeln!(out, "{style}{mark} {}{style:#}", part.value().trim_end_matches('\n'))?;
    }
    Ok(())
}

/// A path, quoted as one shell word.
fn quoted(path: &Path) -> Result<String> {
    let path = path.to_str().with_context(|| format!("the path {} is not UTF-8; move the file", path.display()))?;
    let plain = path.chars().all(|c| c.is_alphanumeric() || "/._-+".contains(c));
    Ok(if plain { path.to_owned() } else { format!("'{}'", path.replace('\'', "'\\''")) })
}

/// Writes the file atomically and keeps the old one.
fn written(change: &Change, after: &str) -> Result<Option<PathBuf>> {
    let file = change.file.as_path();
    let folder = file.parent().context("the settings file has no parent folder")?;
    std::fs::create_dir_all(folder).with_context(|| format!("cannot create {}", folder.display()))?;
    // write through a link instead of replacing it
    let target = std::fs::canonicalize(file).unwrap_or_else(|_| file.to_owned());
    let folder = target.parent().context("the settings file has no parent folder")?;
    let mut kept = None;
    if change.keep && !change.before.is_empty() {
        let backup = backup(&target);
        std::fs::copy(&target, &backup).with_context(|| format!("cannot keep the old file as {}", backup.display()))?;
        kept = Some(backup);
    }
    let mut new = tempfile::NamedTempFile::new_in(folder)?;
    new.write_all(after.as_bytes())?;
    new.as_file().sync_all()?;
    if let Ok(meta) = std::fs::metadata(&target) {
        std::fs::set_permissions(new.path(), meta.permissions())?;
    }
    if change.script {
        std::fs::set_permissions(new.path(), std::os::unix::fs::PermissionsExt::from_mode(0o755))?;
    }
    new.persist(&target).with_context(|| format!("cannot write {}", target.display()))?;
    Ok(kept)
}
