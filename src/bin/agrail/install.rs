//! `agrail install`: adds the hook to a host's settings, or removes it.

use agrail::hook::Host;
use agrail::hook::install::{closed, installed, with_hook, without_hook};
use agrail::hook::trust::{self, Trust};
use anyhow::{Context as _, Result, bail};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// Put the guard in front of a coding agent, or remove it
///
/// Edits the host's settings in place, shows the changes, and keeps the old file beside the new one. The command is
/// idempotent. Codex runs only trusted hooks, so the trust entry is written to its config.toml, too. With --scope
/// machine the hook goes into the administrator's settings (/etc/claude-code, /etc/codex), which no project can switch
/// off.
///
///   agrail install claude-code                    for all of your projects
///   agrail install codex --scope project          for the project in this folder
///   sudo agrail install codex --scope machine     for all users of this machine
///   agrail install claude-code --uninstall
#[derive(Debug, clap::Args)]
#[command(verbatim_doc_comment)]
pub struct Args {
    /// claude-code or codex.
    #[arg(value_parser = ["claude-code", "codex"])]
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
}

/// The users and projects that a host's settings apply to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scope {
    /// All projects of this account.
    User,
    /// The project in this folder.
    Project,
    /// All users of this machine; no project can switch these settings off.
    Machine,
}

/// The settings file in which a host keeps its hooks.
pub fn settings_file(host: Host, scope: Scope) -> Result<PathBuf> {
    let (variable, below, machine) = match host {
        Host::ClaudeCode => ("CLAUDE_CONFIG_DIR", ".claude/settings.json", "/etc/claude-code/managed-settings.json"),
        Host::Codex => ("CODEX_HOME", ".codex/hooks.json", "/etc/codex/hooks.json"),
        Host::Generic => {
            bail!("the settings of a generic host are not known; configure 'agrail hook generic' in the host")
        }
    };
    let below = Path::new(below);
    match scope {
        Scope::Machine => return Ok(PathBuf::from(machine)),
        Scope::Project => return Ok(std::env::current_dir()?.join(below)),
        Scope::User => {}
    }
    let set = |name: &str| std::env::var_os(name).filter(|v| !v.is_empty()).map(PathBuf::from);
    if let (Some(folder), Some(name)) = (set(variable), below.file_name()) {
        return Ok(folder.join(name));
    }
    Ok(set("HOME").context("HOME is not set; use --scope project")?.join(below))
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

/// The shell command line of the hook, with the configuration file if one was named.
pub fn command(host: Host, config: Option<&Path>) -> Result<String> {
    let mut command = quoted(&std::env::current_exe().context("cannot find the path of this program")?)?;
    let named = config.filter(|file| crate::settings::default_file().as_deref() != Some(*file));
    if let Some(file) = named {
        command = format!("{command} --config {}", quoted(&std::path::absolute(file)?)?);
    }
    Ok(closed(&format!("{command} hook {}", host.name())))
}

/// A settings file before and after the change.
struct Change {
    file: PathBuf,
    before: String,
    after: String,
    /// The old file has no hook of the guard and is kept as a backup.
    keep: bool,
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
    if changes.iter().all(|change| change.before == change.after) {
        let file = changes.first().map(|change| change.file.display().to_string()).unwrap_or_default();
        writeln!(out, "{file}: nothing to change")?;
        return Ok(ExitCode::SUCCESS);
    }
    for change in changes.iter().filter(|change| change.before != change.after) {
        shown(&mut out, change)?;
        if args.dry_run {
            continue;
        }
        if let Some(kept) = written(&change.file, if change.keep { &change.before } else { "" }, &change.after)? {
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

/// The changes to make, file by file.
fn changes(args: &Args, host: Host, scope: Scope, command: &str) -> Result<Vec<Change>> {
    let file = settings_file(host, scope)?;
    let before = existing(&file)?;
    let about = || format!("in {}", file.display());
    let had = !installed(&before).with_context(about)?.is_empty();
    let after = match (args.uninstall, had) {
        (true, false) => before.clone(),
        (true, true) => without_hook(&before)?,
        (false, _) => with_hook(host, &before, command).with_context(about)?,
    };
    let mut changes = Vec::new();
    if host == Host::Codex {
        changes.extend(beside(args, scope, &file, &before, &after)?);
    }
    // a file that already has the hook needs no backup
    changes.insert(0, Change { file, before, after, keep: !args.uninstall && !had });
    Ok(changes)
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
    Ok(Some(Change { keep: !args.uninstall && !old.contains("trusted_hash"), file, before: old, after: new }))
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
    for part in similar::TextDiff::from_lines(&change.before, &change.after).iter_all_changes() {
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
fn written(file: &Path, before: &str, after: &str) -> Result<Option<PathBuf>> {
    let folder = file.parent().context("the settings file has no parent folder")?;
    std::fs::create_dir_all(folder).with_context(|| format!("cannot create {}", folder.display()))?;
    // write through a link instead of replacing it
    let target = std::fs::canonicalize(file).unwrap_or_else(|_| file.to_owned());
    let folder = target.parent().context("the settings file has no parent folder")?;
    let mut kept = None;
    if !before.is_empty() {
        let name = target.file_name().and_then(|name| name.to_str()).unwrap_or("settings");
        let backup = target.with_file_name(format!("{name}.before-agrail"));
        std::fs::copy(&target, &backup).with_context(|| format!("cannot keep the old file as {}", backup.display()))?;
        kept = Some(backup);
    }
    let mut new = tempfile::NamedTempFile::new_in(folder)?;
    new.write_all(after.as_bytes())?;
    new.as_file().sync_all()?;
    if let Ok(meta) = std::fs::metadata(&target) {
        std::fs::set_permissions(new.path(), meta.permissions())?;
    }
    new.persist(&target).with_context(|| format!("cannot write {}", target.display()))?;
    Ok(kept)
}
