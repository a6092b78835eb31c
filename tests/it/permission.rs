//! Permissions on data: statements and data agents' code, through the real parsers and the real policies.

use crate::profiles::{library, profile};
use agrail::check::Outcome;
use agrail::effect::{self, Effect, Who, shell::NoFiles};
use agrail::policy::{Policy, PolicyError, Source};
use agrail::tools::{Tool as _, permission::PermissionDetector};
use agrail::{Action, Context, Decision, Guard, Identity, Verdict};
use serde_json::json;
use std::sync::Arc;
use std::time::{Duration, Instant};

fn sql(statement: &str) -> Action {
    Action::Sql { statement: statement.to_owned() }
}

fn python(source: &str) -> Action {
    Action::Code { language: "python".to_owned(), source: source.to_owned() }
}

fn brief(action: &Action) -> Vec<String> {
    let who = Who { name: "user", home: "/home/user" };
    let mut all: Vec<String> =
        effect::extract_effects(action, who, &NoFiles).effects.iter().map(Effect::to_table_notation).collect();
    all.sort();
    all
}

fn ehr() -> Policy {
    Policy::load(&[profile("ehr")]).unwrap()
}

async fn judged(policy: Policy, agent: &str, roles: &[&str], action: &Action) -> Verdict {
    let guard = Guard::builder().policy(policy).with(|s| s.library = Arc::new(library())).build().unwrap();
    let roles = roles.iter().map(ToString::to_string).collect();
    let mut context = Context::new(Identity { roles, ..Identity::default() }, None);
    agent.clone_into(&mut context.agent);
    guard.check(action, &context).await
}

async fn decision(roles: &[&str], action: &Action) -> Decision {
    judged(ehr(), "ehr", roles, action).await.decision
}

#[test]
fn statements_name_their_tables_and_columns() {
    let cases: &[(&str, &[&str])] = &[
        ("SELECT Price FROM Goods", &["select goods", "select goods.price"]),
        ("select * from goods", &["select goods", "select goods.*"]),
        ("select count(*) from public.goods", &["select goods"]),
        ("select g.price from goods g where g.id = 4", &["select goods", "select goods.id", "select goods.price"]),
        (
            "select g.name, s.day from goods as g join sales s on g.id = s.good order by s.day",
            &[
                "select goods",
                "select goods.id",
                "select goods.name",
                "select sales",
                "select sales.day",
                "select sales.good",
            ],
        ),
        ("select a.x from a join b using (k)", &["select a", "select a.k", "select a.x", "select b", "select b.k"]),
        ("with c as (select price from goods) select price from c", &["select goods", "select goods.price"]),
        // the body of a common table expression speaks of the real table of that name
        ("with goods as (select * from goods) select price from goods", &["select goods", "select goods.*"]),
        (
            "select t.n from (select name as n, rank() over (order by price) as r from goods) as t where t.r < 4",
            &["select goods", "select goods.name", "select goods.price"],
        ),
        ("select name as n from goods order by n", &["select goods", "select goods.name"]),
        (
            "select name from goods union select day from sales",
            &["select goods", "select goods.name", "select sales", "select sales.day"],
        ),
        (
            "select (select secret from b limit 1) from a",
            &["select a", "select b", "select b.secret", "select/possible a.secret"],
        ),
        (
            "select max(distinct lower(name)) from goods group by kind having min(price) > 2",
            &["select goods", "select goods.kind", "select goods.name", "select goods.price"],
        ),
        ("select a.x from a; select b.y from b", &["select a", "select a.x", "select b", "select b.y"]),
        (
            "insert into goods (id, name) select sid, label from staff",
            &[
                "insert goods.id",
                "insert goods.name",
                "select staff",
                "select staff.label",
                "select staff.sid",
                "select/possible goods.label",
                "select/possible goods.sid",
            ],
        ),
        (
            "update goods set price = price * 2 where id = 3",
            &["select goods", "select goods.id", "select goods.price", "update goods.price"],
        ),
        ("update goods set price = 1", &["select goods", "update goods.price", "update/rows goods"]),
        ("delete from goods where id = 3", &["delete/rows goods", "select goods", "select goods.id"]),
        ("drop table if exists goods", &["drop goods"]),
        ("truncate table goods", &["drop/truncate goods"]),
        ("grant all on goods to public", &["privilege rights in the database"]),
        ("alter table goods add column x int", &["update/alter goods"]),
        ("create table copies as table goods", &["create copies", "select goods.*"]),
        ("begin; commit", &[]),
    ];
    for (statement, want) in cases {
        assert_eq!(brief(&sql(statement)), *want, "{statement}");
    }
}

#[test]
fn what_a_statement_does_not_say_is_unknown() {
    let unknown = [
        "select a.x from a where",
        "table goods",
        "selekt 1",
        "select price from goods, sales",
        "select f(price) from goods",
        "select pg_read_file('/etc/passwd')",
        "copy goods to '/tmp/x'",
        "call clean()",
        "attach database 'x' as y",
        "select * from goods natural join sales",
        "load data infile 'x' into table goods",
        "",
        "select price",
        "select a.x from a where id = \u{FFFC}",
        "set role admin",
        "vacuum",
        "merge into a using b on a.i = b.i when matched then delete",
        "select * into copies from goods",
    ];
    for statement in unknown {
        let all = brief(&sql(statement));
        let nothing = statement.is_empty() && all.is_empty();
        assert!(nothing || all.iter().any(|e| e.starts_with("unknown")), "{statement}: {all:?}");
    }
}

#[test]
fn hostile_statements_are_bounded_and_unknown() {
    let deep = |open: &str, close: &str| format!("select {}1{} from t", open.repeat(3_000), close.repeat(3_000));
    let hostile = [
        deep("(", ")"),
        deep("(select ", ")"),
        deep("not ", ""),
        deep("-", ""),
        deep("case when ", " then 1 end"),
        format!("select {} from t", vec!["1"; 30_000].join("+")),
        format!("select 1 from t where {}", vec!["a=1"; 12_000].join(" or ")),
        "x".repeat(1_000_000),
        "'".repeat(60_000),
        format!("select {} from t", (0..20_000).map(|i| format!("c{i}")).collect::<Vec<_>>().join(",")),
        "with a as (".repeat(400),
        format!("select 1 {}", "union select 1 ".repeat(4_000)),
    ];
    for statement in hostile {
        let started = Instant::now();
        let all = brief(&sql(&statement));
        assert!(started.elapsed() < Duration::from_secs(5), "{:?} for {:.40}", started.elapsed(), statement);
        let harmless = statement.contains("union");
        assert!(
            harmless || all.iter().any(|e| e.starts_with("unknown")) || all.len() < 4,
            "{:.40}: {all:?}",
            statement
        );
    }
}

#[tokio::test]
async fn roles_see_what_they_are_given_and_no_more() {
    let age = sql("select p.age from patient p where p.uniquepid = 'x'");
    assert_eq!(decision(&["nursing"], &age).await, Decision::Allow);
    assert_eq!(decision(&["general administration"], &age).await, Decision::Deny);
    assert_eq!(decision(&["general administration", "nursing"], &age).await, Decision::Allow);
    assert_eq!(decision(&["gardening"], &age).await, Decision::Deny);
    assert_eq!(decision(&[], &age).await, Decision::Deny);
    assert_eq!(decision(&["physician"], &sql("select * from patient")).await, Decision::Deny);
    assert_eq!(
        decision(&["physician"], &sql("update patient set age = 4 where uniquepid = 'x'")).await,
        Decision::Deny
    );
    // the condition counts, too
    let hidden = sql("select uniquepid from patient where gender = 'f'");
    assert_eq!(decision(&["general administration"], &hidden).await, Decision::Deny);
    // another schema's table, a shadowing alias, a subquery, a quoted name
    for statement in [
        "select x.age from other.patient x",
        "select 1 as gender from patient group by gender",
        "select (select gender from patient limit 1) from treatment",
        "with patient as (select * from patient) select gender from patient",
        "select \"gender\" from patient",
        "select PATIENT.GENDER from Patient",
        "select uniquepid from patient order by case when gender = 'f' then 1 end",
    ] {
        assert_eq!(decision(&["general administration"], &sql(statement)).await, Decision::Deny, "{statement}");
    }
    // what is not understood asks
    assert_eq!(decision(&["physician"], &sql("select from patient where")).await, Decision::Ask);
    // other agents are not concerned
    assert_eq!(judged(ehr(), "shop", &[], &age).await.decision, Decision::Allow);
}

#[tokio::test]
async fn a_denial_names_the_role_and_all_that_it_lacks() {
    let source =
        "a = LoadDB('patient')\nb = FilterDB(a, 'gender=f||max(hospitaladmittime)')\nprint(GetValue(b, 'age'))\n";
    let verdict = judged(ehr(), "ehr", &["general administration"], &python(source)).await;
    assert_eq!(verdict.decision, Decision::Deny);
    assert!(verdict.reason.contains("general administration"), "{}", verdict.reason);
    assert!(verdict.reason.contains("patient.gender") && verdict.reason.contains("patient.age"), "{}", verdict.reason);
    assert!(!verdict.reason.contains("hospitaladmittime"), "{}", verdict.reason);
    let lacking: Vec<_> = verdict.findings.iter().filter(|f| f.outcome == Outcome::Violation).collect();
    assert_eq!(lacking.len(), 1);
    assert_eq!(lacking[0].evidence.len(), 2);
    assert!(verdict.advice.is_some());
}

#[tokio::test]
async fn code_of_data_agents_is_followed() {
    let nurse = |source: &'static str| async move { decision(&["nursing"], &python(source)).await };
    let load = "def stay(pid):\n    return GetValue(FilterDB(LoadDB('patient'), 'uniquepid={}'.format(pid)), 'patientunitstayid')\n";
    assert_eq!(nurse("x = GetValue(FilterDB(LoadDB('lab'), 'labname=x'), 'labresult')").await, Decision::Allow);
    assert_eq!(nurse("t = 'diag' + 'nosis'\nx = LoadDB(t)").await, Decision::Deny);
    assert_eq!(nurse("t = f\"{'co'}st\"\nx = LoadDB(t)").await, Decision::Deny);
    assert_eq!(nurse("for t in ['lab', 'cost']:\n    LoadDB(t)").await, Decision::Deny);
    assert_eq!(nurse("c = 'age'\nif input():\n    c = 'secret'\nGetValue(LoadDB('patient'), c)").await, Decision::Deny);
    assert_eq!(nurse("GetValue(LoadDB('patient'), input())").await, Decision::Ask);
    assert_eq!(nurse("FilterDB(LoadDB('patient'), input() + '=3')").await, Decision::Ask);
    assert_eq!(nurse("print(LoadDB('lab'))").await, Decision::Deny);
    assert_eq!(nurse("x = SQLInterpreter('select l.labresult from lab l')").await, Decision::Allow);
    assert_eq!(nurse("x = SQLInterpreter('select c.cost from cost c')").await, Decision::Deny);
    assert_eq!(nurse("x = SQLInterpreter('select from')").await, Decision::Ask);
    assert_eq!(nurse("x = SQLInterpreter(input())").await, Decision::Ask);
    assert_eq!(nurse("x = LoadDB('lab'").await, Decision::Ask);
    // what the same source does to the system still counts
    assert_eq!(nurse("x = LoadDB('lab')\nimport os\nos.remove('/etc/passwd')").await, Decision::Deny);
    assert_eq!(nurse("x = LoadDB('lab')\neval(input())").await, Decision::Ask);
    let defined = format!("{load}x = stay('1')\ny = FilterDB(LoadDB('lab'), 'patientunitstayid={{}}'.format(x))\n");
    assert_eq!(decision(&["nursing"], &python(&defined)).await, Decision::Allow);
    let nested = format!("x = {}LoadDB('lab'){}", "(".repeat(5_000), ")".repeat(5_000));
    assert_ne!(decision(&["nursing"], &python(&nested)).await, Decision::Allow);
}

#[tokio::test]
async fn no_operator_policy_lifts_a_base_forbid() {
    let head = "@id(\"all\") @category(\"x\") @reason(\"trust {roles} { {name}\")";
    let text = format!("{head} permit (principal, action in [Action::\"select\", Action::\"drop\"], resource);");
    let own = Source { file: "own.cedar".into(), text, examples: None, organisation: false };
    let policy = Policy::load(&[profile("ehr"), own.clone()]).unwrap();
    assert!(policy.rules().len() > ehr().rules().len());
    let verdict = judged(policy.clone(), "ehr", &["nursing"], &sql("select c.cost from cost c")).await;
    assert_eq!(verdict.decision, Decision::Deny);
    let verdict = judged(policy.clone(), "ehr", &["nursing"], &sql("drop table x")).await;
    assert_eq!(verdict.decision, Decision::Deny);
    assert_eq!(judged(policy, "os", &[], &sql("drop table x")).await.decision, Decision::Ask);
    let twice = Policy::load(&[profile("ehr"), profile("ehr")]);
    assert!(matches!(twice, Err(PolicyError::Annotation { .. })));
}

#[tokio::test]
async fn base_asks_a_person_before_data_is_lost() {
    for statement in
        ["drop table goods", "truncate goods", "delete from goods", "update goods set a = 1", "grant all on a to b"]
    {
        let verdict = judged(Policy::base().unwrap(), "agent", &[], &sql(statement)).await;
        assert_eq!((verdict.decision, verdict.ask_of), (Decision::Ask, Some("person")), "{statement}");
    }
    for statement in ["select goods.a from goods", "delete from goods where a = 1", "insert into goods (a) values (1)"]
    {
        let verdict = judged(Policy::base().unwrap(), "agent", &[], &sql(statement)).await;
        assert_eq!(verdict.decision, Decision::Allow, "{statement}: {}", verdict.reason);
    }
}

#[tokio::test]
async fn the_detector_says_what_is_lacked() {
    let detector = PermissionDetector::new(ehr(), Arc::new(library()));
    let ask = |arguments: serde_json::Value| {
        let detector = detector.clone();
        async move { detector.examine(&arguments).await }
    };
    let roles = json!(["general administration"]);
    let said =
        ask(json!({"roles": roles, "agent": "ehr", "columns": ["patient.age", "patient.wardid"]})).await.unwrap();
    assert_eq!(said["permitted"], false);
    assert_eq!(said["lacked"].as_array().unwrap().len(), 1);
    assert_eq!(said["lacked"][0]["access"], "select patient.age");
    let said = ask(json!({"roles": roles, "agent": "ehr", "statement": "select cost.cost from cost"})).await.unwrap();
    assert_eq!(said["permitted"], true);
    let said = ask(json!({"roles": roles, "agent": "ehr", "source": "LoadDB(input())"})).await.unwrap();
    assert_eq!((&said["permitted"], said["not_understood"].as_array().unwrap().len()), (&json!(false), 1));
    for wrong in [
        json!({}),
        json!({"roles": "x", "statement": "a"}),
        json!({"roles": []}),
        json!({"roles": [], "source": "a", "statement": "b"}),
        json!([]),
    ] {
        assert!(ask(wrong.clone()).await.is_err(), "{wrong}");
    }
}

#[test]
fn base_policies_fit_the_schema_with_their_examples() {
    // at run time this is taken for granted
    let policy = Policy::base().unwrap();
    assert!(policy.examples().is_empty());
    let proved = policy.proved().unwrap();
    assert!(proved.examples().len() > 120, "{}", proved.examples().len());
    assert_eq!(proved.digest(), policy.digest());
    let wrong = Source {
        file: "team.cedar".to_owned(),
        text: "@id(\"x\") permit (principal, action, resource);".to_owned(),
        examples: None,
        organisation: false,
    };
    assert!(Policy::load(&[wrong]).is_err(), "an operator's own policies are proved each time");
}
