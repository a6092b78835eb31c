//! Where the options of programs are documented.

use super::manual::Manual;
use super::observe::Inventory;
use super::{fig, fish, text};
use anyhow::{Context as _, Result};
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::process::{Command as Process, Stdio};

/// Where the documentation lies.
#[derive(clap::Args)]
pub struct Sources {
    /// Folder of a man page tree with `man1`, `man8` ... instead of the system's
    #[arg(long)]
    man: Option<PathBuf>,
    /// Folder of fish completions
    #[arg(long, default_value = "/usr/share/fish/completions")]
    fish: PathBuf,
    /// Folder `build` of the package `@withfig/autocomplete`; needs Node.js
    #[arg(long)]
    fig: Option<PathBuf>,
    /// Also run installed programs with `--help`
    #[arg(long)]
    help: bool,
}

/// The sources that documented a program.
#[derive(Default)]
pub struct Origin {
    /// Kind of source, and package and version: `man page (gzip 1.12-1)`.
    sources: Vec<(&'static str, Option<String>)>,
    /// Whether one of them lists all options.
    pub full: bool,
}

impl Origin {
    pub fn text(&self) -> String {
        let named = self.sources.iter().map(|(source, version)| match version {
            Some(version) => format!("{source} ({version})"),
            None => (*source).to_owned(),
        });
        named.collect::<Vec<_>>().join(", ")
    }

    /// Adds the sources of an earlier comparison that were absent now.
    pub fn joined(&self, before: &str) -> String {
        let old = before
            .split(", ")
            .filter(|old| !old.is_empty() && !self.sources.iter().any(|(source, _)| old.starts_with(source)));
        std::iter::once(self.text()).chain(old.map(str::to_owned)).collect::<Vec<_>>().join(", ")
    }
}

impl Sources {
    /// The documented options of a program, from all sources. A source that fails is left out with a message.
    pub fn manual(&self, names: &[String]) -> (Manual, Origin) {
        let (mut manual, mut origin) = (Manual::default(), Origin::default());
        for name in names {
            for (source, complete, found) in [
                ("man page", true, self.man_page(name)),
                ("help", true, self.help_text(name)),
                ("fish", false, self.fish_file(name)),
                ("fig", false, self.fig_file(name)),
            ] {
                match found {
                    Ok(Some((found, file))) if !found.is_empty() => {
                        manual.merge(found);
                        origin.full |= complete;
                        if origin.sources.iter().all(|(known, _)| *known != source) {
                            let version = match source {
                                "fig" => self.fig_version(),
                                _ => Inventory::shared().and_then(|inventory| inventory.owner(&file)),
                            };
                            origin.sources.push((source, version));
                        }
                    }
                    Ok(_) => {}
                    Err(why) => eprintln!("{name}: {source}: {why:#}"),
                }
            }
        }
        (manual, origin)
    }

    fn man_page(&self, name: &str) -> Result<Option<(Manual, PathBuf)>> {
        let Some(tree) = &self.man else { return Ok(None) };
        let page = |name: &str| {
            ["1", "8", "6", "1p"]
                .iter()
                .flat_map(|section| {
                    let folder = tree.join(format!("man{}", section.chars().next().unwrap_or('1')));
                    [folder.join(format!("{name}.{section}.gz")), folder.join(format!("{name}.{section}"))]
                })
                .find(|file| file.is_file())
        };
        let Some(file) = page(name) else { return Ok(None) };
        let mut manual = text::parse_text(&render(&file)?);
        // `git push` is documented as git-push
        let prefix = format!("{name}-");
        for entry in std::fs::read_dir(tree.join("man1")).into_iter().flatten().flatten() {
            let file = entry.file_name().to_string_lossy().into_owned();
            if let Some(sub) =
                file.strip_prefix(&prefix).and_then(|rest| rest.split_once(".1")).map(|(sub, _)| sub.to_owned())
            {
                manual.subs.entry(sub).or_default().merge(text::parse_text(&render(&entry.path())?));
            }
        }
        Ok(Some((manual, file)))
    }

    fn help_text(&self, name: &str) -> Result<Option<(Manual, PathBuf)>> {
        let folders = ["/usr/bin", "/usr/sbin", "/bin", "/sbin"];
        let file = folders.iter().map(|folder| Path::new(folder).join(name)).find(|file| file.is_file());
        let Some(file) = file.filter(|_| self.help) else { return Ok(None) };
        let text = bounded(Process::new("timeout").args(["-s", "KILL", "5", name, "--help"]))?;
        Ok(Some((text::parse_text(&text), file)))
    }

    fn fish_file(&self, name: &str) -> Result<Option<(Manual, PathBuf)>> {
        let file = self.fish.join(format!("{name}.fish"));
        if !file.is_file() {
            return Ok(None);
        }
        let text = std::fs::read_to_string(&file).with_context(|| file.display().to_string())?;
        Ok(Some((fish::parse_fish(name, &text), file)))
    }

    fn fig_file(&self, name: &str) -> Result<Option<(Manual, PathBuf)>> {
        let Some(folder) = &self.fig else { return Ok(None) };
        let file = folder.join(format!("{name}.js"));
        if file.is_file() { Ok(Some((fig::parse_fig(&file)?, file))) } else { Ok(None) }
    }

    /// Name and version of the package in whose folder the specs lie.
    fn fig_version(&self) -> Option<String> {
        let text = std::fs::read_to_string(self.fig.as_ref()?.parent()?.join("package.json")).ok()?;
        let package: serde_json::Value = serde_json::from_str(&text).ok()?;
        Some(format!("{} {}", package.get("name")?.as_str()?, package.get("version")?.as_str()?))
    }
}

/// A man page as plain text.
fn render(file: &Path) -> Result<String> {
    bounded(
        Process::new("timeout")
            .args(["20", "man", "-l", "-P", "cat"])
            .arg(file)
            .env("MANWIDTH", "160")
            .env("LC_ALL", "C.UTF-8"),
    )
}

/// Standard output of a process that gets no input and no terminal, up to a bound.
fn bounded(command: &mut Process) -> Result<String> {
    let mut child = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn()?;
    let mut bytes = Vec::new();
    if let Some(output) = child.stdout.take() {
        output.take(text::MAX_TEXT as u64).read_to_end(&mut bytes)?;
    }
    let _ = child.kill();
    child.wait()?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}
