//! The configuration file, and the guard that is built from it.

use crate::install::{codex_config, settings_file, settings_files};
use crate::layers::Places;
use crate::model::ModelSection;
use crate::organisation;
use crate::profile;
use crate::settled;
use agrail::action::Identity;
use agrail::effect::python::Library;
use agrail::embed::Sources;
use agrail::hook::Host;
use agrail::hook::install::Scope;
use agrail::memory::{Memory, MemoryError};
use agrail::policy::{Policy, Source};
use agrail::session::Sessions;
use anyhow::{Context as _, Result, anyhow, bail};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// Most rows about in-house tools.
const ROWS: usize = 1_000;

/// All settings; each has a default.
#[derive(Debug, Default, Deserialize, Serialize)]
#[serde(default, deny_unknown_fields)]
pub struct Config {
    pub guard: GuardSection,
    pub policy: PolicySection,
    pub profiles: ProfilesSection,
    pub tools: ToolsSection,
    pub memory: MemorySection,
    pub embedder: EmbedderSection,
    pub model: ModelSection,
    pub hook: HookSection,
    pub audit: AuditSection,
    pub serve: ServeSection,
    /// The file that was loaded, if any.
    #[serde(skip)]
    pub file: Option<PathBuf>,
    /// The sources of settings, for a reload.
    #[serde(skip)]
    pub places: Places,
}

/// `[guard]`
#[derive(Debug, Deserialize, Serialize)]
#[serde(default, deny_unknown_fields)]
pub struct GuardSection {
    /// Time limit of one check in ms; default 5 000, with a model 30 000.
    pub deadline_ms: Option<u64>,
    /// `deny` or `ask`.
    pub on_failure: String,
    /// Programs that are not in the table: `ask`, `allow` or `deny`.
    pub unknown_programs: String,
    /// What is learnt without an operator: `feedback` (nothing), `episodes` (checks of clean episodes), or `frozen` (nothing
    /// at all: the memory is only read).
    pub learning: String,
}

impl Default for GuardSection {
    fn default() -> Self {
        Self {
            deadline_ms: None,
            on_failure: "deny".to_owned(),
            unknown_programs: "ask".to_owned(),
            learning: "feedback".to_owned(),
        }
    }
}

/// `[policy]`
#[derive(Debug, Deserialize, Serialize)]
#[serde(default, deny_unknown_fields)]
pub struct PolicySection {
    /// Operator policies beside the universal ones: Cedar files, relative to the configuration file, and names of
    /// profiles (`ehr`, `web`).
    pub files: Vec<PathBuf>,
    /// Policies that are switched off, with the reason: ones that ask, or ones of `files`. `disable.schedule = "our cron
    /// jobs are reviewed elsewhere"`.
    pub disable: BTreeMap<String, String>,
    /// Whether a project may forbid more, with the policies in its `.agrail/policy.cedar`; default: true.
    pub projects: bool,
}

impl Default for PolicySection {
    fn default() -> Self {
        Self { files: Vec::new(), disable: BTreeMap::new(), projects: true }
    }
}

/// `[profiles]`
#[derive(Debug, Default, Deserialize, Serialize)]
#[serde(default, deny_unknown_fields)]
pub struct ProfilesSection {
    /// Folders with rules for one kind of agent, relative to the configuration file (see `profile.rs`).
    pub folders: Vec<PathBuf>,
}

/// `[tools]`
#[derive(Debug, Default, Deserialize, Serialize)]
#[serde(default, deny_unknown_fields)]
pub struct ToolsSection {
    /// Folder with rows about in-house tools (`*.toml`), relative to the configuration file; default: `agrail/tools` in the
    /// user's configuration folder.
    pub folder: Option<PathBuf>,
}

/// `[memory]`
#[derive(Debug, Default, Deserialize, Serialize)]
#[serde(default, deny_unknown_fields)]
pub struct MemorySection {
    /// The database; default: in the user's data folder.
    pub path: Option<PathBuf>,
    /// Decide without a memory.
    pub off: bool,
    /// Days after which the records of decisions are deleted, which can no longer be rated then; default: never.
    pub keep_days: Option<u32>,
    /// Cosine similarity above which an entry is the same kind of action, 0 to 1; default 0.8.
    pub similarity: Option<f32>,
    /// Most entries that similarity recalls; default 1.
    pub neighbours: Option<usize>,
    /// A file with the secret that an operator presents to approve without a terminal.
    pub approval_token_file: Option<PathBuf>,
}

/// `[embedder]`
#[derive(Debug, Default, Deserialize, Serialize)]
#[serde(default, deny_unknown_fields)]
pub struct EmbedderSection {
    /// `libonnxruntime.so`
    pub runtime: Option<PathBuf>,
    /// `model.onnx` of all-MiniLM-L6-v2.
    pub model: Option<PathBuf>,
    /// Folder with both files.
    pub cache: Option<PathBuf>,
    /// Never fetch missing files.
    pub offline: bool,
}

/// `[audit]`
#[derive(Debug, Default, Deserialize, Serialize)]
#[serde(default, deny_unknown_fields)]
pub struct AuditSection {
    /// Folder of the log; default: in the user's state folder.
    pub folder: Option<PathBuf>,
    /// Keep no log.
    pub off: bool,
    /// Sync each line to the disk before its verdict is returned.
    pub durable: bool,
    /// Days after which entries are dropped; default: never.
    pub keep_days: Option<u32>,
    /// Megabytes of the log above which its oldest entries are dropped; default: never. Entries are dropped by the file, of
    /// 32 MiB.
    pub keep_mb: Option<u64>,
}

/// `[serve]`
#[derive(Debug, Default, Deserialize, Serialize)]
#[serde(default, deny_unknown_fields)]
pub struct ServeSection {
    /// Address; default: 127.0.0.1:8642.
    pub listen: Option<std::net::SocketAddr>,
    /// Host names of the service besides those of loopback.
    pub hosts: Vec<String>,
    /// Checks need a token, too.
    pub check_needs_token: bool,
    /// Maximum size of a body, bytes.
    pub body: Option<usize>,
    /// Maximum number of parallel checks.
    pub at_once: Option<usize>,
    /// Maximum number of waiting checks.
    pub waiting: Option<usize>,
    /// Maximum number of checks per second.
    pub per_second: Option<u32>,
    /// Allow everything; log each call that would have been blocked.
    pub shadow: bool,
    /// Identity for agents without a token.
    pub identity: Option<Identity>,
    /// Tokens of the callers.
    pub tokens: Vec<TokenSection>,
}

/// `[[serve.tokens]]`
#[derive(Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct TokenSection {
    /// Name of the caller.
    pub name: String,
    /// File with the secret.
    pub file: PathBuf,
    /// The caller may approve, give feedback, and read memory and audit log.
    #[serde(default)]
    pub operates: bool,
    /// The caller may name other identities.
    #[serde(default)]
    pub acts_for_others: bool,
    /// Identity that the caller acts for.
    pub identity: Option<Identity>,
}

/// `[hook]`
#[derive(Debug, Default, Deserialize, Serialize)]
#[serde(default, deny_unknown_fields)]
pub struct HookSection {
    /// Database of the sessions' observations; default: in the user's state folder.
    pub sessions: Option<PathBuf>,
    /// Days after their last use for which sessions are kept; default: 14.
    pub keep_days: Option<u32>,
    /// Block nothing; log each call that would have been blocked (`agrail audit show --blocked`).
    pub shadow: bool,
    /// Answer `allow` to Claude Code for calls that policy understands and permits, which overrides the permissions of
    /// the host. Default: stay silent.
    pub allow: bool,
    /// Keep a guard in memory between events (`agrail daemon`); default: true.
    pub daemon: Option<bool>,
    /// Minutes without an event after which it stops; default: 30.
    pub idle_minutes: Option<u32>,
}

/// The configuration file that is used if none is named.
pub fn default_file() -> Option<PathBuf> {
    base("XDG_CONFIG_HOME", ".config").map(|b| b.join("agrail/config.toml"))
}

pub fn days_long(days: u32) -> Duration {
    Duration::from_secs(u64::from(days) * 24 * 3600)
}

/// A base folder of the XDG specification.
fn base(variable: &str, below_home: &str) -> Option<PathBuf> {
    let set = |name: &str| std::env::var_os(name).filter(|v| !v.is_empty()).map(PathBuf::from);
    set(variable).or_else(|| set("HOME").map(|home| home.join(below_home)))
}

impl Config {
    /// Resolves a path from the configuration file relative to that file.
    pub fn beside(&self, path: &Path) -> PathBuf {
        let folder = self.file.as_deref().and_then(Path::parent).unwrap_or(Path::new(""));
        folder.join(path)
    }

    /// The universal policies, the operator's and those of the profiles.
    pub fn policy(&self) -> Result<Policy> {
        Ok(Policy::load_without(&self.policy_sources()?, &self.policy.disable)?)
    }

    /// The policies of the organisation, then the operator's.
    pub fn policy_sources(&self) -> Result<Vec<Source>> {
        let load = |file: &PathBuf| profile::named_policy(file).map_or_else(|| source(&self.beside(file)), Ok);
        let mut sources = organisation::policies()?;
        for file in &self.policy.files {
            sources.push(load(file)?);
        }
        for folder in &self.profiles.folders {
            sources.extend(profile::policy(&self.beside(folder))?);
        }
        Ok(sources)
    }

    /// Folder of the rows about in-house tools.
    pub fn tools_folder(&self) -> Result<PathBuf> {
        match &self.tools.folder {
            Some(folder) => Ok(self.beside(folder)),
            None => base("XDG_CONFIG_HOME", ".config")
                .map(|b| b.join("agrail/tools"))
                .context("there is no home folder for rows about tools; set tools.folder in the configuration"),
        }
    }

    /// The rows about in-house tools.
    pub fn rows(&self) -> Result<Vec<Source>> {
        let folder = match (&self.tools.folder, self.tools_folder()) {
            (Some(_), folder) => folder?,
            (None, Ok(folder)) if settled::present(folder.clone(), "the folder of rows")?.is_some() => folder,
            (None, _) => return Ok(Vec::new()),
        };
        let unread = || format!("cannot read the rows about tools in {}", folder.display());
        let entries = std::fs::read_dir(&folder).with_context(unread)?;
        let paths = entries.map(|entry| Ok(entry?.path())).collect::<std::io::Result<Vec<_>>>().with_context(unread)?;
        let mut files: Vec<PathBuf> =
            paths.into_iter().filter(|path| path.extension().is_some_and(|end| end == "toml")).collect();
        files.sort();
        if files.len() > ROWS {
            bail!("{} has more than {ROWS} rows about tools", folder.display());
        }
        let row = |file: &PathBuf| {
            let text = settled::text(file, "the row about a tool")?;
            let name = file.file_name().unwrap_or_default().to_string_lossy().into_owned();
            Ok(Source { file: name, text, examples: None, organisation: false })
        };
        files.iter().map(row).collect()
    }

    /// The functions that the profiles describe.
    pub fn library(&self) -> Result<Library> {
        let mut library = Library::default();
        for name in &self.policy.files {
            library.extend(profile::named_library(name)?);
        }
        for folder in &self.profiles.folders {
            library.extend(profile::library(&self.beside(folder))?);
        }
        Ok(library)
    }

    /// Path of the memory.
    pub fn memory_path(&self) -> Result<PathBuf> {
        match &self.memory.path {
            Some(path) => Ok(self.beside(path)),
            None => base("XDG_DATA_HOME", ".local/share").map(|b| b.join("agrail/memory.db")).context(
                "there is no home folder for the memory; set memory.path in the configuration, or use --no-memory",
            ),
        }
    }

    /// Path of the hook's session database.
    pub fn sessions_path(&self) -> Result<PathBuf> {
        match &self.hook.sessions {
            Some(path) => Ok(self.beside(path)),
            None => base("XDG_STATE_HOME", ".local/state")
                .map(|b| b.join("agrail/sessions.db"))
                .context("there is no home folder for the sessions; set hook.sessions in the configuration"),
        }
    }

    /// Folder of the accepted configurations; no setting moves it, unless there is no home folder.
    pub fn accepted_folder(&self) -> Result<PathBuf> {
        match base("XDG_STATE_HOME", ".local/state") {
            Some(base) => Ok(base.join("agrail/accepted")),
            None => Ok(self.sessions_path()?.with_file_name("accepted")),
        }
    }

    /// Path of the record of a pause, beside the sessions.
    pub fn pause_path(&self) -> Result<PathBuf> {
        Ok(self.sessions_path()?.with_file_name("pause.json"))
    }

    /// Path of the pinned tool descriptions of MCP servers, beside the sessions.
    pub fn pins_path(&self) -> Result<PathBuf> {
        Ok(self.sessions_path()?.with_file_name("mcp-tools.json"))
    }

    /// Path of the definitions of these tools.
    pub fn definitions_path(&self) -> Result<PathBuf> {
        Ok(self.sessions_path()?.with_file_name("mcp-definitions.json"))
    }

    /// Folder of the audit log.
    pub fn audit_folder(&self) -> Result<PathBuf> {
        match &self.audit.folder {
            Some(path) => Ok(self.beside(path)),
            None => base("XDG_STATE_HOME", ".local/state").map(|b| b.join("agrail/audit")).context(
                "there is no home folder for the audit log; set audit.folder in the configuration, or audit.off",
            ),
        }
    }

    /// Path of the pending approvals, beside the sessions.
    pub fn approvals_path(&self) -> Result<PathBuf> {
        Ok(self.sessions_path()?.with_file_name("approvals.db"))
    }

    /// Computed values of settings that are not set.
    pub fn computed(&self) -> Result<Vec<(&'static str, serde_json::Value)>> {
        let path = |path: Result<PathBuf>| Ok::<_, anyhow::Error>(serde_json::to_value(path?)?);
        Ok(vec![
            ("tools.folder", path(self.tools_folder())?),
            ("memory.path", path(self.memory_path())?),
            ("hook.sessions", path(self.sessions_path())?),
            ("audit.folder", path(self.audit_folder())?),
            ("embedder.cache", path(self.embedder_cache())?),
            ("guard.deadline_ms", self.deadline_ms().into()),
        ])
    }

    pub fn deadline_ms(&self) -> u64 {
        let usual = if self.model.url.is_some() { 30_000 } else { 5_000 };
        self.guard.deadline_ms.unwrap_or(usual).max(1)
    }

    /// The files and folders that a guard is built from, whether they exist or not. What it reads at each check is not
    /// among them.
    pub fn reads(&self) -> Vec<PathBuf> {
        let files = self.policy.files.iter().filter(|name| profile::named_policy(name).is_none());
        let examples = files.clone().map(|file| file.with_extension("examples.toml"));
        let named = files.cloned().chain(examples).chain(self.profiles.folders.iter().cloned());
        let model = &self.model;
        let others = [&model.paraphraser, &model.executor];
        let keys = others.into_iter().flatten().filter_map(|other| other.key_file.clone());
        let rest = [&model.prompts, &model.criteria, &model.key_file, &self.memory.approval_token_file];
        let named = named.chain(rest.into_iter().flatten().cloned()).chain(keys).map(|path| self.beside(&path));
        let usual = [self.file.clone(), default_file(), self.tools_folder().ok()];
        let embedder = self.embedder_sources(false).map(|sources| sources.files()).unwrap_or_default();
        let whole = [PathBuf::from(organisation::FOLDER)].into_iter().chain(organisation::files());
        usual.into_iter().flatten().chain(named).chain(embedder).chain(whole).collect()
    }

    /// All files of the guard, in their configured places.
    pub fn own(&self) -> Vec<String> {
        let program = std::env::current_exe().ok();
        let places = [
            self.file.clone(),
            // it may not exist yet
            default_file(),
            program.as_deref().and_then(|path| path.canonicalize().ok()),
            program.as_deref().map(|path| path.with_file_name("agrail-hook")),
            program,
            Path::new(organisation::FOLDER).parent().map(Path::to_owned),
            agrail_resident::folder(),
            settings_file(Host::ClaudeCode, Scope::User).ok().and_then(|file| Some(file.parent()?.join("projects"))),
            codex_config().ok(),
            settings_file(Host::Codex, Scope::User).ok().and_then(|file| Some(file.parent()?.join("sessions"))),
            self.memory_path().ok(),
            self.sessions_path().ok(),
            self.approvals_path().ok(),
            self.accepted_folder().ok(),
            self.pins_path().ok(),
            self.pause_path().ok(),
            self.definitions_path().ok(),
            self.tools_folder().ok(),
            self.audit_folder().ok(),
            self.approval_token_file(),
            self.model.prompts.as_deref().map(|p| self.beside(p)),
            self.model.criteria.as_deref().map(|p| self.beside(p)),
        ];
        let files = self.policy.files.iter().filter(|name| profile::named_policy(name).is_none());
        let hosts = Host::installable().filter_map(|host| settings_files(host, Scope::User).ok()).flatten().map(Some);
        let policies = files.chain(&self.profiles.folders).map(|f| Some(self.beside(f)));
        let tokens = self.serve.tokens.iter().map(|token| Some(self.beside(&token.file)));
        let mut own = Vec::new();
        for path in places
            .into_iter()
            .chain(hosts)
            .chain(policies)
            .chain(tokens)
            .flatten()
            .filter_map(|p| std::path::absolute(p).ok())
        {
            let name = path.to_string_lossy().into_owned();
            if ["/dev/null", "/"].contains(&name.as_str()) {
                continue;
            }
            own.extend(["-wal", "-shm", ".index"].iter().map(|end| format!("{name}{end}")));
            own.push(name);
        }
        own
    }

    /// Path of the secret for approvals without a terminal.
    pub fn approval_token_file(&self) -> Option<PathBuf> {
        self.memory.approval_token_file.as_deref().map(|file| self.beside(file))
    }

    /// Opens the memory and creates its folder.
    pub fn open_memory(&self) -> Result<Memory> {
        self.memory_by(Memory::open)
    }

    /// The same for a guard: `Guard::warm` loads the entries if the process goes on.
    pub fn open_memory_on_demand(&self) -> Result<Memory> {
        self.memory_by(Memory::open_on_demand)
    }

    fn memory_by(&self, open: fn(&Path, &str, usize) -> Result<Memory, MemoryError>) -> Result<Memory> {
        let path = self.memory_path()?;
        if let Some(folder) = path.parent().filter(|f| !f.as_os_str().is_empty()) {
            std::fs::create_dir_all(folder)
                .with_context(|| format!("cannot create {}; set memory.path, or use --no-memory", folder.display()))?;
        }
        let memory = open(&path, agrail::embed::MINILM_ID, agrail::embed::MINILM_DIMENSIONS)?;
        if let Some(days) = self.memory.keep_days {
            let now = SystemTime::now().duration_since(UNIX_EPOCH)?;
            memory.drop_decisions(i64::try_from(now.saturating_sub(days_long(days)).as_millis())?)?;
        }
        Ok(memory)
    }

    /// The sessions.
    pub fn open_sessions(&self) -> Result<Sessions> {
        let sessions = Sessions::open(&self.sessions_path()?)?;
        Ok(match self.hook.keep_days {
            Some(days) => sessions.keep(days_long(days)),
            None => sessions,
        })
    }

    /// The folder of the embedding model.
    fn embedder_cache(&self) -> Result<PathBuf> {
        match &self.embedder.cache {
            Some(cache) => Ok(self.beside(cache)),
            None => base("XDG_CACHE_HOME", ".cache")
                .map(|b| b.join("agrail"))
                .context("there is no home folder for the cache; set embedder.cache in the configuration"),
        }
    }

    /// Places to search for the embedding model.
    pub fn embedder_sources(&self, fetch: bool) -> Result<Sources> {
        let mut sources = Sources::new(self.embedder_cache()?);
        sources.runtime = self.embedder.runtime.as_deref().map(|p| self.beside(p));
        sources.model = self.embedder.model.as_deref().map(|p| self.beside(p));
        sources.fetch = fetch && !self.embedder.offline;
        Ok(sources)
    }
}

/// Whether a file has the policies of a project, by its name.
pub fn is_of_project(file: &Path) -> bool {
    file.ends_with(".agrail/policy.cedar")
}

/// A policy file with the examples beside it (`team.cedar`, `team.examples.toml`), or the policies of a named profile.
pub fn source(file: &Path) -> Result<Source> {
    if let Some(source) = profile::named_policy(file) {
        return Ok(source);
    }
    if is_of_project(file) {
        bail!(
            "{} has the policies of a project, which hold there without being named; verify them with: agrail policy check {}",
            file.display(),
            file.display()
        );
    }
    let text = settled::text(file, "the policy file").map_err(|error| {
        anyhow!("{error:#}; name a Cedar file, or a profile that ships with agrail: {}", profile::names().join(", "))
    })?;
    let beside = settled::present(file.with_extension("examples.toml"), "the examples file")?;
    let examples = beside.map(|beside| settled::text(&beside, "the examples file")).transpose()?;
    Ok(Source { file: file.display().to_string(), text, examples, organisation: false })
}
