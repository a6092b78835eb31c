//! `agrail install`: puts the hook into a host's settings, or takes it out again.

use agrail::hook::Host;
use agrail::hook::install::{installed, with_hook, without_hook};
use anyhow::{Context as _, Result, bail};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// Put the guard in front of a coding agent, or take it away again.
///
/// The host's settings file is changed in place: what changes is shown, and the old file is kept beside it. Running it
/// again changes nothing.
///
///   agrail install claude-code                    for every project of yours
///   agrail install codex --scope project          for the project in this folder
///   agrail install claude-code --uninstall
#[derive(Debug, clap::Args)]
#[command(verbatim_doc_comment)]
pub struct Args {
    /// claude-code or codex.
    #[arg(value_parser = ["claude-code", "codex"])]
    host: String,
    /// user: all of your projects; project: the one in this folder.
    #[arg(long, default_value = "user", value_parser = ["user", "project"])]
    scope: String,
    /// Take it out again.
    #[arg(long)]
    uninstall: bool,
    /// Show what would change, and change nothing.
    #[arg(long)]
    dry_run: bool,
}

/// Where a host keeps its hooks.
pub fn settings_file(host: Host, project: bool) -> Result<PathBuf> {
    let (variable, below) = match host {
        Host::ClaudeCode => ("CLAUDE_CONFIG_DIR", ".claude/settings.json"),
        Host::Codex => ("CODEX_HOME", ".codex/hooks.json"),
        Host::Generic => bail!("a generic host has no settings that are known"),
    };
    let below = Path::new(below);
    if project {
        return Ok(std::env::current_dir()?.join(below));
    }
    let set = |name: &str| std::env::var_os(name).filter(|v| !v.is_empty()).map(PathBuf::from);
    if let (Some(folder), Some(name)) = (set(variable), below.file_name()) {
        return Ok(folder.join(name));
    }
    Ok(set("HOME").context("there is no HOME; use --scope project")?.join(below))
}

/// The command line of the hook, as a shell is told to run it; with the configuration file that was named, if one was.
pub fn command(host: Host, config: Option<&Path>) -> Result<String> {
    let mut command = quoted(&std::env::current_exe().context("where this program is cannot be told")?)?;
    let named = config.filter(|file| crate::config::default_file().as_deref() != Some(*file));
    if let Some(file) = named {
        command = format!("{command} --config {}", quoted(&std::path::absolute(file)?)?);
    }
    Ok(format!("{command} hook {}", host.name()))
}

/// Runs the subcommand.
pub fn run(args: &Args, config: &crate::config::Config) -> Result<ExitCode> {
    let host: Host = args.host.parse().map_err(anyhow::Error::msg)?;
    let file = settings_file(host, args.scope == "project")?;
    let before = match std::fs::read_to_string(&file) {
        Ok(text) => text,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => String::new(),
        Err(error) => return Err(error).with_context(|| format!("cannot read {}", file.display())),
    };
    let about = || format!("in {}", file.display());
    let after = if args.uninstall {
        if installed(&before).with_context(about)?.is_empty() { before.clone() } else { without_hook(&before)? }
    } else {
        with_hook(host, &before, &command(host, config.file.as_deref())?).with_context(about)?
    };
    let mut out = anstream::stdout();
    if after == before {
        writeln!(out, "{}: nothing to change", file.display())?;
        return Ok(ExitCode::SUCCESS);
    }
    writeln!(out, "{}", file.display())?;
    for change in similar::TextDiff::from_lines(&before, &after).iter_all_changes() {
        let (mark, style) = match change.tag() {
            similar::ChangeTag::Delete => ("-", anstyle::AnsiColor::Red.on_default()),
            similar::ChangeTag::Insert => ("+", anstyle::AnsiColor::Green.on_default()),
            similar::ChangeTag::Equal => (" ", anstyle::Style::new()),
        };
        write!(out, "{style}{mark} {}{style:#}", change.value().trim_end_matches('\n'))?;
        writeln!(out)?;
    }
    if args.dry_run {
        writeln!(out, "nothing was changed (--dry-run)")?;
        return Ok(ExitCode::SUCCESS);
    }
    // a file that has the hook already is not the user's own
    let own = !args.uninstall && installed(&before).with_context(about)?.is_empty();
    if let Some(kept) = written(&file, if own { &before } else { "" }, &after)? {
        writeln!(out, "the old file is kept as {}", kept.display())?;
    }
    match (args.uninstall, host) {
        (true, _) => writeln!(out, "the guard is no longer asked")?,
        (false, Host::Codex) => writeln!(
            out,
            "installed; Codex needs `codex_hooks = true` below `[features]` in its config.toml. Check with: agrail doctor"
        )?,
        (false, _) => writeln!(out, "installed; begin a new session of the agent. Check with: agrail doctor")?,
    }
    Ok(ExitCode::SUCCESS)
}

/// A path as one word of a shell.
fn quoted(path: &Path) -> Result<String> {
    let path = path.to_str().with_context(|| format!("{} is not UTF-8; put it elsewhere", path.display()))?;
    let plain = path.chars().all(|c| c.is_alphanumeric() || "/._-+".contains(c));
    Ok(if plain { path.to_owned() } else { format!("'{}'", path.replace('\'', "'\\''")) })
}

/// Writes the file whole or not at all, and keeps the old one.
fn written(file: &Path, before: &str, after: &str) -> Result<Option<PathBuf>> {
    let folder = file.parent().context("the settings have no folder")?;
    std::fs::create_dir_all(folder).with_context(|| format!("cannot make {}", folder.display()))?;
    // a link is written through, not replaced
    let target = std::fs::canonicalize(file).unwrap_or_else(|_| file.to_owned());
    let folder = target.parent().context("the settings have no folder")?;
    let mut kept = None;
    if !before.is_empty() {
        let backup = target.with_extension("json.before-agrail");
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
