//! Three wishes of operators, as the file of `agrail policy init` has them, against 30 neighbouring commands each. The
//! commands, and what is wanted of them, were written without knowledge of how policies work.

use crate::guard::context;
use agrail::action::Action;
use agrail::policy::{Policy, Source};
use agrail::{Decision, Guard};
use std::path::Path;

const CASES: &str = include_str!("data/wishes.jsonl");
const FILE: &str = include_str!("../../src/bin/agrail/policy/wishes.cedar");
/// Wanted to be stopped, and allowed without the rule, too: shipped policies let every project install packages by name.
const OTHERWISE: [&str; 2] = ["pip install requests", "cd /home/user/blog && pip install -r requirements.txt"];

#[derive(serde::Deserialize)]
struct Case {
    wish: String,
    command: String,
    cwd: String,
    wanted: String,
}

/// The rule with this id, in use.
fn rule(id: &str) -> Source {
    let marker = format!("@id(\"{id}\")");
    let lines = FILE.lines().map(|line| line.strip_prefix("// ").unwrap_or(line));
    let own = lines.skip_while(|line| !line.contains(&marker)).collect::<Vec<_>>().join("\n");
    let text = own.split_inclusive(';').next().unwrap().replace("/home/me/", "/home/user/");
    Source { file: "own.cedar".to_owned(), text, examples: None, organisation: false }
}

fn made(root: &Path) {
    use std::os::unix::fs::PermissionsExt as _;
    let shop = [
        "home/user/shop/requirements.txt",
        "home/user/shop/requirements-dev.txt",
        "home/user/shop/constraints.txt",
        "home/user/shop/services/api/requirements.txt",
        "home/user/shop/.venv/bin/activate",
        "home/user/shop/config/catalog.ini",
        "home/user/shop/setup.py",
        "home/user/shop/api/main.py",
        "home/user/shop/k8s/deployment.yaml",
        "home/user/shop/docs/production-notes.md",
        "home/user/shop/chart/Chart.yaml",
        "home/user/shop/overlays/prod/kustomization.yaml",
        "home/user/shop-old/notes.txt",
        "home/user/blog/requirements.txt",
        "data/prod/catalog.ini",
        "data/prod/orders.csv",
        "data/prod/logs/runs.log",
        "data/production-notes/todo.md",
        "data/test/catalog.ini",
        "usr/lib/python3/x.py",
        "tmp/x",
    ];
    for file in shop {
        let path = root.join(file);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, if file.contains("requirements") { "flask\n" } else { "" }).unwrap();
        for place in path.ancestors().take_while(|place| place.starts_with(root) && *place != root) {
            std::fs::set_permissions(place, std::fs::Permissions::from_mode(0o777)).unwrap();
        }
    }
}

#[tokio::test]
async fn three_wishes_decide_their_neighbours_as_wanted() {
    let folder = tempfile::tempdir().unwrap();
    made(folder.path());
    let context = context(folder.path(), "user");
    let ids = [("pip", "packages-of-the-shop"), ("prod", "production-data"), ("cluster", "cluster-prod")];
    let guards = ids.map(|(wish, id)| {
        let policy = Policy::load(&[rule(id)]).unwrap();
        (wish, Guard::builder().policy(policy).build().unwrap())
    });
    let cases: Vec<Case> = CASES.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(cases.len(), 90);
    let mut missed = Vec::new();
    for case in &cases {
        let (_, guard) = guards.iter().find(|(wish, _)| *wish == case.wish).unwrap();
        let action = Action::Shell { command: case.command.clone(), cwd: Some(case.cwd.as_str().into()) };
        let verdict = guard.check(&action, &context).await;
        if (verdict.decision == Decision::Allow) != (case.wanted == "allow") {
            missed.push((case.command.as_str(), verdict.decision, verdict.reason));
        }
    }
    let missed_only = missed.iter().filter(|(command, ..)| !OTHERWISE.contains(command)).collect::<Vec<_>>();
    assert!(missed_only.is_empty() && missed.len() == OTHERWISE.len(), "{missed:#?}");
}
