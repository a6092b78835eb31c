//! Short policies of operators: groups of actions, and folders.

use crate::guard::{context, decide};
use agrail::guard::UnknownPrograms;
use agrail::policy::{Policy, PolicyError, Source};
use agrail::{Decision, Guard, Verdict};

fn own(condition: &str) -> Source {
    let text = format!("@id(\"own\") @category(\"scope\") @reason(\"it is production\")\nforbid ({condition});");
    Source { file: "own.cedar".to_owned(), text, examples: None, organisation: false }
}

fn load(condition: &str) -> Result<Policy, PolicyError> {
    Policy::load(&[own(condition)])
}

async fn judged(condition: &str, command: &str) -> Verdict {
    let folder = tempfile::tempdir().unwrap();
    let guard = Guard::builder().policy(load(condition).unwrap()).build().unwrap();
    decide(&guard, &context(folder.path(), "user"), command).await
}

#[tokio::test]
async fn a_folder_covers_everything_below_it() {
    let rule = "principal, action in Action::\"change\", resource in Folder::\"/home/user/prod\"";
    let deep = format!("touch /home/user/prod/{}x", "d/".repeat(200));
    for command in [
        "touch /home/user/prod/x",
        "rm -rf /home/user/prod",
        "mv /home/user/a /home/user/prod/b",
        "rm /home/user/prod/a/*.log",
        &deep,
    ] {
        let verdict = judged(rule, command).await;
        assert_eq!(verdict.decision, Decision::Deny, "{command}: {}", verdict.reason);
    }
    for command in ["touch /home/user/production", "cat /home/user/prod/x", "touch /home/user/x"] {
        let verdict = judged(rule, command).await;
        assert_eq!(verdict.decision, Decision::Allow, "{command}: {}", verdict.reason);
    }
}

#[tokio::test]
async fn a_group_holds_however_its_name_is_written() {
    for group in ["change", "ch\\u{61}nge"] {
        let rule = format!("principal, action in Action::\"{group}\", resource");
        assert_eq!(judged(&rule, "touch /home/user/x").await.decision, Decision::Deny, "{group}");
        assert_eq!(judged(&rule, "ls /home/user").await.decision, Decision::Allow, "{group}");
    }
}

#[tokio::test]
async fn a_path_beyond_the_kernels_limit_is_not_waved_through() {
    let rule = "principal, action, resource in Folder::\"/home/user/prod\"";
    let command = format!("touch /home/user/other/{}x", "d/".repeat(3_000));
    let verdict = judged(rule, &command).await;
    assert_ne!(verdict.decision, Decision::Allow, "{}", verdict.reason);
}

#[test]
fn a_misspelt_group_is_refused() {
    let error = load("principal, action in Action::\"chnage\", resource").unwrap_err();
    assert!(error.to_string().contains("chnage"), "{error}");
}

#[tokio::test]
async fn what_holds_a_folder_counts_if_it_goes() {
    let rule = "principal, action in Action::\"change\", resource in Folder::\"/home/user/a/prod\"";
    for command in [
        "rm -rf /home/user/a",
        "mv /home/user/a /home/user/b",
        "rm -rf /home/user/a/*",
        "chmod -R 700 /home/user/a",
        "mv /home/user/x /home/user/a/prod/",
    ] {
        let verdict = judged(rule, command).await;
        assert!(
            verdict.findings.iter().any(|found| found.source.to_string() == "policy:own"),
            "{command}: {}",
            verdict.reason
        );
    }
    for command in ["touch /home/user/a/x", "rm -rf /home/user/a/product", "mkdir -p /home/user/a/b", "ls /home/user/a"]
    {
        let verdict = judged(rule, command).await;
        assert!(
            verdict.findings.iter().all(|found| found.source.to_string() != "policy:own"),
            "{command}: {}",
            verdict.reason
        );
    }
}

const PIP: &str = "@id(\"pip\") @category(\"integrity\") @reason(\"the shop may\") @allows(\"install\")
permit (principal, action == Action::\"install\", resource)
when { context.program == \"pip\" && !context.privileged && context.folder in Folder::\"/home/user/shop\" };";

fn named(file: &str, text: &str) -> Source {
    Source { file: file.to_owned(), text: text.to_owned(), examples: None, organisation: false }
}

async fn told(policy: &Policy, command: &str, cwd: &str) -> Verdict {
    let folder = tempfile::tempdir().unwrap();
    for path in ["home/user/shop/deep/er", "home/user/shopping", "tmp"] {
        std::fs::create_dir_all(folder.path().join(path)).unwrap();
    }
    let guard = Guard::builder().policy(policy.clone()).build().unwrap();
    let action = agrail::action::Action::Shell { command: command.to_owned(), cwd: Some(cwd.into()) };
    guard.check(&action, &context(folder.path(), "user")).await
}

#[tokio::test]
async fn operators_allow_what_a_policy_asks_about() {
    let policy = Policy::load(&[named("own.cedar", PIP)]).unwrap();
    for (command, cwd, decision) in [
        ("pip install requests", "/home/user/shop", Decision::Allow),
        ("pip install requests", "/home/user/shop/deep/er", Decision::Allow),
        ("cd /home/user/shop && pip install requests", "/tmp", Decision::Allow),
        ("pip install requests", "/home/user/shopping", Decision::Ask),
        ("pip install requests", "/home/user", Decision::Ask),
        ("cd .. && pip install requests", "/home/user/shop", Decision::Ask),
        ("cd \"$X\" && pip install requests", "/home/user/shop", Decision::Ask),
        ("pip install a; cd /tmp; pip install a", "/home/user/shop", Decision::Ask),
        ("env -C /tmp pip install requests", "/home/user/shop", Decision::Ask),
        (
            "python3 -c 'import subprocess; subprocess.run([\"pip\", \"install\", \"x\"], cwd=\"/tmp\")'",
            "/home/user/shop",
            Decision::Ask,
        ),
        ("sudo pip install requests", "/home/user/shop", Decision::Ask),
        ("apt-get install x", "/home/user/shop", Decision::Ask),
        ("pip install --index-url https://x.example/simple requests", "/home/user/shop", Decision::Ask),
    ] {
        let verdict = told(&policy, command, cwd).await;
        let fine = verdict.decision == decision || (decision == Decision::Ask && verdict.decision == Decision::Deny);
        assert!(fine, "{command} in {cwd}: {} {}", verdict.decision, verdict.reason);
    }
    let verdict = told(&policy, "pip install requests", "/home/user/shop").await;
    assert!(verdict.findings.iter().any(|found| found.source.to_string() == "policy:pip"));
}

#[cfg(unix)]
#[tokio::test]
async fn a_permit_about_a_folder_does_not_reach_out_of_it() {
    let text = "@id(\"mine\") @category(\"x\") @reason(\"y\") @allows(\"overwrite-existing\")
        permit (principal, action == Action::\"overwrite\", resource in Folder::\"/home/user/shop\");";
    let folder = tempfile::tempdir().unwrap();
    let home = folder.path().join("home/user");
    std::fs::create_dir_all(home.join("shop")).unwrap();
    std::fs::create_dir_all(home.join("other/deep")).unwrap();
    for file in ["shop/a", "other/a", "new"] {
        std::fs::write(home.join(file), "x").unwrap();
    }
    for path in ["shop", "other", "other/deep", "shop/a", "other/a", "new"] {
        let open = std::os::unix::fs::PermissionsExt::from_mode(0o777);
        std::fs::set_permissions(home.join(path), open).unwrap();
    }
    std::os::unix::fs::symlink("/home/user/other/a", home.join("shop/link")).unwrap();
    std::os::unix::fs::symlink("/home/user/other", home.join("shop/out")).unwrap();
    let policy = Policy::load(&[named("own.cedar", &format!("{text}\n{PIP}"))]).unwrap();
    let guard = Guard::builder().policy(policy).build().unwrap();
    for (command, allowed) in [
        ("cp new shop/a", true),
        ("cp new other/a", false),
        ("cp new shop/link", false),
        ("cp new shop/out/a", false),
        ("cp new shop/../other/a", false),
        ("cd /home/user/shop && pip install x", true),
        ("cd /home/user/shop/out && pip install x", false),
    ] {
        let action = agrail::action::Action::Shell { command: command.to_owned(), cwd: Some("/home/user".into()) };
        let verdict = guard.check(&action, &context(folder.path(), "user")).await;
        assert_eq!(verdict.decision == Decision::Allow, allowed, "{command}: {}", verdict.reason);
    }
}

/// What a permit leaves out is left out under every name: the written path is not in `other`, where its link leads.
#[cfg(unix)]
#[tokio::test]
async fn a_permit_with_an_exception_does_not_reach_into_it() {
    let text = "@id(\"mine\") @category(\"x\") @reason(\"y\") @allows(\"overwrite-existing\")
        permit (principal, action == Action::\"overwrite\", resource) unless { resource in Folder::\"/home/user/other\" };";
    let folder = tempfile::tempdir().unwrap();
    let home = folder.path().join("home/user");
    for place in ["shop", "other"] {
        std::fs::create_dir_all(home.join(place)).unwrap();
        std::fs::set_permissions(home.join(place), std::os::unix::fs::PermissionsExt::from_mode(0o777)).unwrap();
    }
    for file in ["shop/a", "other/a", "new"] {
        std::fs::write(home.join(file), "x").unwrap();
        std::fs::set_permissions(home.join(file), std::os::unix::fs::PermissionsExt::from_mode(0o666)).unwrap();
    }
    std::os::unix::fs::symlink("/home/user/other/a", home.join("shop/link")).unwrap();
    let policy = Policy::load(&[named("own.cedar", text)]).unwrap();
    let guard = Guard::builder().policy(policy).build().unwrap();
    for (command, allowed) in [("cp new shop/a", true), ("cp new other/a", false), ("cp new shop/link", false)] {
        let action = agrail::action::Action::Shell { command: command.to_owned(), cwd: Some("/home/user".into()) };
        let verdict = guard.check(&action, &context(folder.path(), "user")).await;
        assert_eq!(verdict.decision == Decision::Allow, allowed, "{command}: {}", verdict.reason);
    }
}

#[tokio::test]
async fn a_policy_about_commands_can_be_disabled() {
    let text = "@id(\"no-terraform\") @category(\"x\") @reason(\"y\")
        forbid (principal, action == Action::\"event\", resource == Event::\"plain\") when { context.facts.contains(\"program ls\") };";
    let own = [named("own.cedar", text)];
    let with = Policy::load(&own).unwrap();
    assert_eq!(told(&with, "ls /home/user", "/home/user").await.decision, Decision::Deny);
    let off = [("no-terraform".to_owned(), "not now".to_owned())].into();
    let without = Policy::load_without(&own, &off).unwrap();
    assert_eq!(told(&without, "ls /home/user", "/home/user").await.decision, Decision::Allow);
}

#[test]
fn nothing_allows_what_a_policy_denies() {
    let wrong = |text: &str| Policy::load(&[named("own.cedar", text)]).unwrap_err().to_string();
    let denial = PIP.replace("\"install\")\n", "\"downloaded-code\")\n");
    assert!(wrong(&denial).contains("'downloaded-code' denies"), "{}", wrong(&denial));
    let typo = PIP.replace("@allows(\"install\")", "@allows(\"instal\")");
    assert!(wrong(&typo).contains("did you mean 'install'?"), "{}", wrong(&typo));
    let forbids = PIP.replace("permit", "forbid");
    assert!(wrong(&forbids).contains("belongs to a policy that permits"), "{}", wrong(&forbids));
    let all = PIP.split("when").next().unwrap().to_owned() + ";";
    assert!(wrong(&all).contains("@whole"), "{}", wrong(&all));
    Policy::load(&[named("own.cedar", &all.replace("@id", "@whole(\"yes\") @id"))]).unwrap();
    let permit = PIP.replace("@allows(\"install\")", "@allows(\"understood\")");
    assert!(wrong(&permit).contains("nothing to allow"), "{}", wrong(&permit));
}

#[tokio::test]
async fn a_policy_that_asks_can_be_disabled() {
    let off = |id: &str, why: &str| [(id.to_owned(), why.to_owned())].into();
    let policy = Policy::load_without(&[], &off("install", "images are built from scratch")).unwrap();
    assert_eq!(told(&policy, "pip install x", "/home/user").await.decision, Decision::Allow);
    assert_ne!(policy.digest(), Policy::base().unwrap().digest());
    let refused = |id: &str, why: &str| Policy::load_without(&[], &off(id, why)).unwrap_err().to_string();
    assert!(refused("downloaded-code", "x").contains("denies"));
    assert!(refused("instal", "x").contains("did you mean 'install'?"));
    assert!(refused("install", " ").contains("no reason"));
    // an operator may switch off what is the operator's own
    let own = named(
        "own.cedar",
        "@id(\"mine\") @category(\"x\") @reason(\"y\")\nforbid (principal, action == Action::\"list\", resource);",
    );
    let with = Policy::load(std::slice::from_ref(&own)).unwrap();
    assert_eq!(told(&with, "ls /home/user", "/home/user").await.decision, Decision::Deny);
    let without = Policy::load_without(&[own], &off("mine", "not now")).unwrap();
    assert_eq!(told(&without, "ls /home/user", "/home/user").await.decision, Decision::Allow);
}

#[test]
fn all_problems_of_a_file_are_told_at_once() {
    let text = "@id(\"a\") @category(\"x\") @reason(\"y\")\nforbid (principal, action, resource) when { resource.clas == \"x\" };\n\n@id(\"b\") @reason(\"y\")\nforbid (principal, action, resource);\n\n@id(\"c\") @category(\"x\") @reason(\"y\")\n@decision(\"perhaps\")\nforbid (principal, action, resource);\n\n@id(\"d\") @category(\"x\") @reason(\"y\")\nforbid (principal, action, resource) when { resource.class == Class::\"credentials\" };";
    let found = Policy::problems(&[named("own.cedar", text)], &[].into());
    let told: Vec<String> = found.iter().map(|(line, problem)| format!("{line} {problem}")).collect();
    assert_eq!(found.len(), 4, "{told:#?}");
    for (line, part) in [(1, "clas"), (4, "no @category"), (7, "perhaps"), (12, "did you mean \"credential\"")] {
        assert!(
            found.iter().any(|(at, problem)| *at == line && problem.to_string().contains(part)),
            "{line} {part}: {told:#?}"
        );
    }
    assert!(Policy::problems(&[named("own.cedar", PIP)], &[].into()).is_empty());
    let broken =
        Policy::problems(&[named("own.cedar", "forbd (principal);\npermit (principal, action, resource")], &[].into());
    assert!(!broken.is_empty() && broken[0].0 > 0, "{broken:?}");
}

const RULE: &str =
    "@id(\"registry\") @category(\"integrity\") @reason(\"packages come from the mirror\") @decision(\"ask\")
forbid (principal, action == Action::\"install\", resource);";

fn of_the_organisation(text: &str) -> Source {
    Source { organisation: true, ..named("/etc/agrail/policies/all.cedar", text) }
}

#[tokio::test]
async fn nobody_but_the_organisation_loosens_its_rules() {
    let allows = PIP.replace("@allows(\"install\")", "@allows(\"install, registry\")");
    let refused = |result: Result<Policy, PolicyError>| result.unwrap_err().to_string();
    let error = refused(Policy::load(&[of_the_organisation(RULE), named("own.cedar", &allows)]));
    assert!(error.contains("'registry' is a rule of the organisation"), "{error}");
    let off = [("registry".to_owned(), "in the way".to_owned())].into();
    let error = refused(Policy::load_without(&[of_the_organisation(RULE)], &off));
    assert!(error.contains("only the organisation can loosen"), "{error}");
    let all = Policy::problems(&[of_the_organisation(RULE), named("own.cedar", &allows)], &off);
    assert_eq!(all.len(), 2, "{all:?}");

    // a file that is the user's may allow what agrail asks about, but the organisation still asks
    let policy = Policy::load(&[of_the_organisation(RULE), named("own.cedar", PIP)]).unwrap();
    let verdict = told(&policy, "pip install x", "/home/user/shop").await;
    assert_eq!(verdict.decision, Decision::Ask, "{}", verdict.reason);
    assert!(verdict.reason.contains("the mirror"), "{}", verdict.reason);
    // the organisation may allow a part of its own rule, and the user may forbid that again
    let both = of_the_organisation(&format!("{RULE}\n{allows}"));
    let policy = Policy::load(std::slice::from_ref(&both)).unwrap();
    assert_eq!(told(&policy, "pip install x", "/home/user/shop").await.decision, Decision::Allow);
    let stricter = named(
        "own.cedar",
        "@id(\"none\") @category(\"integrity\") @reason(\"not here\")\nforbid (principal, action == Action::\"install\", resource);",
    );
    let policy = Policy::load(&[both, stricter]).unwrap();
    assert_eq!(told(&policy, "pip install x", "/home/user/shop").await.decision, Decision::Deny);
}

#[tokio::test]
async fn too_many_policies_are_refused_and_one_about_many_folders_is_not() {
    let one = |n: usize| {
        format!(
            "@id(\"r{n}\") @category(\"c\") @reason(\"r\")\nforbid (principal, action in Action::\"change\", resource in Folder::\"/data/{n}\");\n"
        )
    };
    let many = named("many.cedar", &(0..10_000).map(one).collect::<String>());
    let error = Policy::load(std::slice::from_ref(&many)).unwrap_err();
    assert!(error.to_string().starts_with("many.cedar: with it there are more than 10000 policies"), "{error}");
    let told_once = Policy::problems(&[many], &[].into());
    assert_eq!(told_once.len(), 1, "{told_once:?}");

    let folders: Vec<String> = (0..10_000).map(|n| format!("Folder::\"/home/user/data/{n}\"")).collect();
    let text = format!(
        "@id(\"own\") @category(\"c\") @reason(\"r\")\nforbid (principal, action in Action::\"change\", resource) when {{ resource in [{}] }};",
        folders.join(", ")
    );
    let policy = Policy::load(&[named("own.cedar", &text)]).unwrap();
    assert_eq!(told(&policy, "touch data/9999/x", "/home/user").await.decision, Decision::Deny);
    assert_eq!(told(&policy, "rm -r data", "/home/user").await.decision, Decision::Deny);
    assert_eq!(told(&policy, "touch data/10000", "/home/user").await.decision, Decision::Allow);
}

#[tokio::test]
async fn a_policy_that_cannot_be_evaluated_takes_nothing_back() {
    let broken = named(
        "own.cedar",
        "@id(\"broken\") @category(\"c\") @reason(\"r\")\nforbid (principal, action, resource) when { 9223372036854775807 + (if resource.name like \"*\" then 1 else 0) > 0 };",
    );
    let whole = of_the_organisation(
        "@id(\"quiet\") @category(\"c\") @reason(\"nobody lists\")\nforbid (principal, action == Action::\"list\", resource);",
    );
    let policy = Policy::load(&[whole, broken]).unwrap();
    for command in ["ls /home/user", "cat /etc/shadow", "rm -rf /usr"] {
        let verdict = told(&policy, command, "/home/user").await;
        assert_eq!(verdict.decision, Decision::Deny, "{command}: {}", verdict.reason);
    }
    // and nothing passes, whatever the settings say of unknown programs
    let folder = tempfile::tempdir().unwrap();
    let lenient = Guard::builder().policy(policy.clone()).with(|s| s.unknown_programs = UnknownPrograms::Allow);
    let verdict = decide(&lenient.build().unwrap(), &context(folder.path(), "user"), "frobnicate x").await;
    assert_eq!((verdict.decision, verdict.ask_of), (Decision::Ask, Some("person")), "{}", verdict.reason);
    let verdict = told(&policy, "touch a", "/home/user").await;
    assert_eq!(verdict.decision, Decision::Ask, "{}", verdict.reason);
    assert!(verdict.reason.contains("could not be evaluated"), "{}", verdict.reason);
}
