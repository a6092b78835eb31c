//! The operating system detector: probes paths, processes and accounts of one environment.

use super::{Tool, ToolError};
use crate::machine::{Account, Environment};
use crate::policy::EffectFacts;
use async_trait::async_trait;
use serde_json::{Value, json};

const NAME: &str = "os";

/// How the questions to a model call whoever the agent acts as; a model does not relate an account's name to it.
const IDENTITY: &str = "the identity";

/// Probes one environment for one identity.
#[derive(Debug, Clone)]
pub(crate) struct OsDetector {
    environment: Environment,
    account: Account,
}

impl OsDetector {
    /// A detector for the access that `account` has in `environment`.
    #[must_use]
    pub fn new(environment: Environment, account: Account) -> Self {
        Self { environment, account }
    }

    fn look(&self, probe: &str, name: &str) -> Result<Value, ToolError> {
        Ok(match probe {
            "path" => {
                let facts = self.environment.path(name, &self.account);
                let owner = if facts.mine { IDENTITY } else { &facts.owner_name };
                json!({
                    "path": name, "resolved": facts.resolved, "exists": facts.exists, "class": facts.class.as_str(),
                    "size": facts.size, "mode": facts.mode.map(|m| format!("{m:o}")), "owner": owner,
                    "mine": facts.mine, "readable": facts.readable, "writable": facts.writable,
                    "removable": facts.removable, "creatable": facts.creatable,
                })
            }
            "process" => {
                let found = match name.parse::<u32>() {
                    Ok(pid) => vec![self.environment.process(pid, &self.account)],
                    Err(_) => self.environment.processes_named(name, &self.account),
                };
                let owner = |uid: u32| self.environment.account_by_uid(uid).unwrap_or_else(|| uid.to_string());
                let one = |p: &crate::machine::ProcessFacts| {
                    let owner = if p.mine { Some(IDENTITY.to_owned()) } else { p.owner.map(owner) };
                    json!({
                        "pid": p.pid, "exists": p.exists, "name": p.name, "owner": owner, "mine": p.mine, "system": p.system,
                    })
                };
                json!({"processes": found.iter().map(one).collect::<Vec<_>>()})
            }
            "account" => {
                let account = self.environment.account(name);
                let groups: Vec<&String> = account.groups.iter().map(|(_, name)| name).collect();
                json!({"account": name, "exists": account.known, "uid": account.uid, "groups": groups, "superuser": account.superuser})
            }
            other => return Err(self.wrong(format!("probe \"{other}\" is not one of path, process, account"))),
        })
    }

    fn wrong(&self, problem: String) -> ToolError {
        ToolError::Arguments { tool: NAME, problem, schema: self.input_schema().to_string() }
    }
}

#[async_trait]
impl Tool for OsDetector {
    fn name(&self) -> &'static str {
        NAME
    }

    fn description(&self) -> &'static str {
        "existence, owner and access of a path, process or account"
    }

    fn input_schema(&self) -> Value {
        json!({
            "type": "object",
            "properties": {
                "probe": {"enum": ["path", "process", "account"]},
                "name": {"type": "string", "description": "absolute path, process id or name, or account name"},
            },
            "required": ["probe", "name"],
            "additionalProperties": false,
        })
    }

    async fn examine(&self, arguments: &Value) -> Result<Value, ToolError> {
        let text = |key: &str| arguments.get(key).and_then(Value::as_str);
        match (text("probe"), text("name")) {
            (Some(probe), Some(name)) => {
                let (detector, probe, name) = (self.clone(), probe.to_owned(), name.to_owned());
                // a probe may hang on a faulty file system
                let looked = tokio::task::spawn_blocking(move || detector.look(&probe, &name)).await;
                looked.unwrap_or_else(|_| Err(self.wrong("the probe broke down".to_owned())))
            }
            _ => Err(self.wrong("\"probe\" and \"name\" are strings and both needed".to_owned())),
        }
    }

    fn arguments_for(&self, query: &EffectFacts) -> Option<Value> {
        let probe = match query.kind.as_str() {
            "path" if !query.unresolved && !query.is_prefix => "path",
            "pid" | "process" => "process",
            "user" => "account",
            _ => return None,
        };
        Some(json!({"probe": probe, "name": query.name}))
    }
}
