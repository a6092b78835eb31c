//! The permission detector: finds the columns and tables that a statement or source needs and its roles may not access.

use super::{Tool, ToolError};
use crate::check::Outcome;
use crate::effect::Kind;
use crate::effect::python::Library;
use crate::effect::shell::{NoFiles, Providing};
use crate::effect::{self, Effect, Target, Verb};
use crate::policy::{EffectFacts, Policy, Subject};
use crate::{Action, effect::Who};
use async_trait::async_trait;
use serde_json::{Value, json};
use std::sync::Arc;

const NAME: &str = "permission_detector";
/// Most columns, and most roles, in the arguments.
const MOST: usize = 256;

/// Checks every column and table against the policies.
#[derive(Debug, Clone)]
pub struct PermissionDetector {
    policy: Policy,
    library: Arc<Library>,
}

impl PermissionDetector {
    /// A detector for these policies, and for sources that call these functions of the agent's host.
    #[must_use]
    pub fn new(policy: Policy, library: Arc<Library>) -> Self {
        Self { policy, library }
    }

    fn look(&self, arguments: &Value) -> Result<Value, ToolError> {
        let effects = self.effects(arguments)?;
        let roles = self.texts(arguments, "roles")?.ok_or_else(|| self.wrong("\"roles\" is needed"))?;
        let agent = arguments.get("agent").and_then(Value::as_str).unwrap_or("agent");
        let subject = Subject { name: "user".to_owned(), roles: roles.clone(), ..Subject::default() };
        let (mut needed, mut lacked, mut unknown) = (Vec::new(), Vec::new(), Vec::new());
        for effect in effects {
            let mut query = EffectFacts::new(effect.verb, effect.target.kind(), effect.target.name());
            query.operation.clone_from(&effect.operation);
            query.program.clone_from(&effect.program);
            query.recursive = effect.recursive;
            agent.clone_into(&mut query.agent);
            if query.verb == Verb::Unknown {
                unknown.push(query.lead());
                continue;
            }
            if !matches!(query.kind, Kind::Column | Kind::Table | Kind::Database) {
                continue;
            }
            let found = self.policy.screen(&subject, &query);
            let name = format!("{} {}", query.verb, query.name);
            if let Some(finding) = found.iter().find(|f| f.outcome == Outcome::Violation) {
                lacked.push(json!({"access": name, "policy": finding.source, "reason": finding.reason}));
            } else if found.iter().any(|f| f.outcome != Outcome::Pass) || found.is_empty() {
                unknown.push(query.lead());
            }
            needed.push(name);
        }
        // an effect that is not understood is never permitted
        let permitted = lacked.is_empty() && unknown.is_empty() && !needed.is_empty();
        Ok(
            json!({"roles": roles, "permitted": permitted, "needed": needed, "lacked": lacked, "not_understood": unknown}),
        )
    }

    fn effects(&self, arguments: &Value) -> Result<Vec<Effect>, ToolError> {
        let who = Who { name: "user", home: "/home/user" };
        let text = |key: &str| arguments.get(key).and_then(Value::as_str).map(str::to_owned);
        let action = match (text("statement"), text("source"), self.texts(arguments, "columns")?) {
            (Some(statement), None, None) => Action::Sql { statement },
            (None, Some(source), None) => Action::Code { language: "python".to_owned(), source },
            (None, None, Some(columns)) => {
                let effect = |name: String| {
                    let kind = if name.contains('.') { Kind::Column } else { Kind::Table };
                    Effect::new(Verb::Select, Target::Named(kind, name.to_lowercase()), "it")
                };
                return Ok(columns.into_iter().map(effect).collect());
            }
            _ => return Err(self.wrong("exactly one of \"statement\", \"source\" and \"columns\" is needed")),
        };
        Ok(effect::extract_effects(&action, who, &Providing(&NoFiles, &self.library)).effects)
    }

    /// An argument that is a list of strings; `None` if the key is absent.
    fn texts(&self, arguments: &Value, key: &str) -> Result<Option<Vec<String>>, ToolError> {
        let Some(value) = arguments.get(key).filter(|v| !v.is_null()) else { return Ok(None) };
        let list = value.as_array().filter(|l| l.len() <= MOST);
        let texts = list.and_then(|l| l.iter().map(|v| v.as_str().map(str::to_owned)).collect::<Option<Vec<_>>>());
        texts.map(Some).ok_or_else(|| self.wrong(&format!("\"{key}\" is a list of at most {MOST} strings")))
    }

    fn wrong(&self, problem: &str) -> ToolError {
        ToolError::Arguments { tool: NAME, problem: problem.to_owned(), schema: self.input_schema().to_string() }
    }
}

#[async_trait]
impl Tool for PermissionDetector {
    fn name(&self) -> &'static str {
        NAME
    }

    fn description(&self) -> &'static str {
        "which columns and tables a statement or source needs that the roles lack"
    }

    fn input_schema(&self) -> Value {
        let texts = json!({"type": "array", "items": {"type": "string"}, "maxItems": MOST});
        json!({
            "type": "object",
            "properties": {
                "roles": texts,
                "agent": {"type": "string", "description": "as the policies call it"},
                "statement": {"type": "string", "description": "SQL"},
                "source": {"type": "string", "description": "Python of a data agent"},
                "columns": {"type": "array", "items": {"type": "string", "description": "table.column, or table"}, "maxItems": MOST},
            },
            "required": ["roles"],
            "additionalProperties": false,
        })
    }

    async fn examine(&self, arguments: &Value) -> Result<Value, ToolError> {
        let (detector, arguments) = (self.clone(), arguments.clone());
        // a parser may panic on hostile text
        let looked = tokio::task::spawn_blocking(move || detector.look(&arguments)).await;
        looked.unwrap_or_else(|_| Err(self.wrong("the text could not be read")))
    }

    /// `None`: an effect does not contain the roles, and the screen has already checked it against the policies.
    fn arguments_for(&self, _query: &EffectFacts) -> Option<Value> {
        None
    }
}
