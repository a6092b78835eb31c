//! `agrail learn tool`.

use crate::accepted;
use crate::learn::{RECORD, SHOWN, action};
use crate::memory::may_approve;
use crate::settings::Config;
use crate::show::plain;
use agrail::approvals::Approvals;
use agrail::memory::DecisionRecord;
use anyhow::{Context as _, Result, bail};
use serde_json::{Value, json};
use std::path::{Path, PathBuf};

/// Longest definition that is read, in bytes.
const LARGEST: u64 = 16 << 20;

/// Draft a row about an in-house tool or program: which calls are everyday use, so that the guard stops asking about them.
///
/// The draft comes from the calls that you approved, or let the host run, from those that you reported, and from what the tool
/// declares of its arguments. It is a TOML file for you to read and change: the arguments are JSON Schema, the calls are
/// examples that are verified when the row is loaded. A call that fits is no longer asked about as such; a person is asked
/// about every other call of the tool. A row never answers what a policy forbids or finds about a path, an address or
/// a table.
///
/// docs/in-house-tools.md describes rows.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Name of the tool, without its server; or the path of a program.
    name: String,
    /// Subcommand of the program, if it was run with several.
    #[arg(long, value_delimiter = ' ')]
    words: Vec<String>,
    /// Name of its server, if several have a tool of this name.
    #[arg(long)]
    server: Option<String>,
    /// JSON file that describes the tool: its entry in tools/list of MCP, a list of tools for a model, or an OpenAPI document
    /// with the tool's name as operationId. Of a program: a file with its help text. Default: what 'agrail mcp' has seen of it.
    #[arg(long, value_name = "FILE")]
    definition: Option<PathBuf>,
    /// Write the row into the folder of rows (tools.folder). Needs a terminal.
    #[arg(long)]
    write: bool,
    /// Replace a row that is there.
    #[arg(long, requires = "write")]
    replace: bool,
    /// Print JSON.
    #[arg(long)]
    json: bool,
    /// Content of the approval token file, if there is no terminal.
    #[arg(long)]
    token: Option<String>,
}

/// Drafts, shows and perhaps writes the row.
pub fn run(args: &Args, config: &Config) -> Result<()> {
    let memory = config.open_memory()?;
    let record = memory.decisions(RECORD)?;
    let mut answered = Approvals::open(&config.approvals_path()?)?.approved()?;
    answered.extend(config.open_sessions()?.permitted()?);
    let draft = if args.name.starts_with('/') {
        let help = args.definition.as_deref().map(text).transpose()?;
        memory.draft_program(&args.name, &args.words, help.as_deref(), &answered, &record)?
    } else {
        let definition = match &args.definition {
            Some(file) => Some(read(file)?),
            None => kept(config, args)?,
        };
        memory.draft_tool(&args.name, args.server.as_deref(), definition.as_ref(), &answered, &record)?
    };
    if args.definition.is_some() && !draft.declared {
        bail!("the definition does not describe a tool {}", plain(&args.name));
    }
    let file = config.tools_folder()?.join(format!("{}.toml", file_name(args)));
    if args.json {
        let shown = json!({
            "row": draft.text, "approved": draft.approved, "alike": draft.alike, "passes": draft.passes,
            "asks": draft.asks, "file": file,
        });
        println!("{}", serde_json::to_string_pretty(&shown)?);
    } else {
        println!("{}", draft.text);
        replayed(&draft.passes, &draft.asks, &record);
        if draft.alike > 0 {
            eprintln!(
                "{} reported calls have the arguments of approved ones: the row would let them pass. Narrow it by hand",
                draft.alike
            );
        }
    }
    if args.write { write(args, config, &file, &draft.text) } else { Ok(()) }
}

/// Says what the row would have changed.
fn replayed(passes: &[String], asks: &[String], record: &[DecisionRecord]) {
    eprintln!(
        "of the last {} decisions, {} asked about it: {} would pass, {} would still ask",
        record.len(),
        passes.len() + asks.len(),
        passes.len(),
        asks.len()
    );
    for decision in record.iter().filter(|decision| asks.contains(&decision.id)).take(SHOWN) {
        eprintln!("  still asks: {}  {}", decision.id, action(&decision.record));
    }
}

fn write(args: &Args, config: &Config, file: &Path, text: &str) -> Result<()> {
    if file.exists() && !args.replace {
        let before = std::fs::read_to_string(file).with_context(|| format!("cannot read {}", file.display()))?;
        let difference = similar::TextDiff::from_lines(before.as_str(), text);
        eprint!("{}", difference.unified_diff().header("the row that is there", "this draft"));
        bail!("{} is there; edit it, or add --replace", file.display());
    }
    may_approve(config, args.token.as_deref())?;
    let folder = file.parent().unwrap_or(Path::new("."));
    std::fs::create_dir_all(folder).with_context(|| format!("cannot create {}", folder.display()))?;
    let mut draft = tempfile::NamedTempFile::new_in(folder)?;
    std::io::Write::write_all(&mut draft, text.as_bytes())?;
    draft.persist(file).with_context(|| format!("cannot write {}", file.display()))?;
    accepted::accept_row(config, &file.file_name().unwrap_or_default().to_string_lossy())?;
    eprintln!(
        "wrote {}; edit it if it says too much or too little, and check it with 'agrail config check'",
        file.display()
    );
    Ok(())
}

/// The file of the row: server and tool, without what a file system could mistake.
fn file_name(args: &Args) -> String {
    let name = args.name.rsplit('/').next().unwrap_or(&args.name).to_owned();
    let whole = args.server.iter().chain([&name]).chain(&args.words).cloned().collect::<Vec<_>>().join("-");
    let plain = |c: char| if c.is_ascii_alphanumeric() || c == '-' { c } else { '_' };
    whole.chars().map(plain).take(100).collect()
}

fn text(file: &Path) -> Result<String> {
    let about = || format!("cannot read the definition {}", file.display());
    if std::fs::metadata(file).with_context(about)?.len() > LARGEST {
        bail!("the definition {} is larger than {} MiB", file.display(), LARGEST >> 20);
    }
    std::fs::read_to_string(file).with_context(about)
}

fn read(file: &Path) -> Result<Value> {
    serde_json::from_str(&text(file)?).with_context(|| format!("{} is not JSON", file.display()))
}

/// The definition that the proxy has kept, if one server alone has such a tool.
fn kept(config: &Config, args: &Args) -> Result<Option<Value>> {
    let file = config.definitions_path()?;
    if !file.exists() {
        return Ok(None);
    }
    let all = read(&file)?;
    let of = |(server, tools): (&String, &Value)| {
        let own = args.server.as_ref().is_none_or(|named| named == server);
        tools.get(&args.name).filter(|_| own).cloned()
    };
    let mut found = all.as_object().into_iter().flatten().filter_map(of);
    Ok(found.next().filter(|_| found.next().is_none()))
}
