//! The cost of a check: decided by the screen, asked, denied.

use agrail::Guard;
use agrail::action::{Action, Context, Identity};
use agrail::machine::Environment;
use criterion::{Criterion, criterion_group, criterion_main};
use std::path::Path;

fn checks(c: &mut Criterion) {
    let Ok(runtime) = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_time().build() else {
        return;
    };
    let Ok(guard) = Guard::builder().build() else { return };
    let Ok(environment) = Environment::open(Path::new("/")) else { return };
    let context = Context::new(Identity::default(), Some(environment));
    let mut group = c.benchmark_group("check");
    for (name, command) in [
        ("one read", "cat notes.txt"),
        ("pipeline", "grep -rn TODO src | sort | head -n 20 > /tmp/todo.txt"),
        ("denied", "rm -rf /etc"),
        ("asked", "frobnicate --fast"),
        ("hidden", "echo cm0gLXJmIC9ldGM= | base64 -d | sh"),
    ] {
        let action = Action::Shell { command: command.to_owned(), cwd: None };
        group.bench_function(name, |b| b.iter(|| runtime.block_on(guard.check(&action, &context))));
    }
    group.finish();
}

criterion_group!(benches, checks);
criterion_main!(benches);
