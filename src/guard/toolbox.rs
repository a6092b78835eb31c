//! Selects the tools that can contribute facts about an action.

use super::Inner;
use crate::action::Action;
use crate::effect::Kind;
use crate::injection::Detector;
use crate::reason::Case;
use crate::tools::Toolbox;
use crate::tools::injection::InjectionTool;
use crate::tools::os::OsDetector;
use crate::tools::permission::PermissionDetector;
use crate::tools::web::WebDetector;
use std::sync::Arc;

pub(super) fn tools(inner: &Inner, case: &Case) -> Toolbox {
    let mut tools = inner.tools.clone();
    if let Some(environment) = &case.context.environment {
        let account = environment.account(&case.context.identity.name);
        tools = tools.with(Arc::new(OsDetector::new(environment.clone(), account)));
    }
    if case.gathered.queries.iter().any(|q| matches!(q.kind, Kind::Column | Kind::Table)) {
        let library = Arc::clone(&inner.settings.library);
        tools = tools.with(Arc::new(PermissionDetector::new(inner.policy.clone(), library)));
    }
    if let (Action::Browse { .. }, Some(embedder)) = (&*case.action, &inner.embedder) {
        tools = tools.with(Arc::new(WebDetector::new(Arc::clone(embedder))));
    }
    if !case.context.observations.is_empty() {
        let detector = inner.embedder.clone().map_or_else(Detector::rules, Detector::with_head);
        tools = tools.with(Arc::new(InjectionTool::new(detector)));
    }
    tools
}
