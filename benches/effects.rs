//! The cost of extracting the effects of scripts and of canonicalising text.

use agrail::canonical::{Budget, canonical};
use agrail::effect::shell::{self, NoFiles};
use criterion::{Criterion, Throughput, criterion_group, criterion_main};

fn effects(c: &mut Criterion) {
    let long: String = (0..200).map(|n| format!("if [ -f f{n} ]; then cp f{n} /tmp/g{n} && rm f{n}; fi\n")).collect();
    let mut group = c.benchmark_group("effects");
    for (name, script) in [
        ("one command", "rm -rf build"),
        ("pipeline", "find . -name '*.log' -mtime +7 -print0 | xargs -0 gzip"),
        ("200 branches", &long),
    ] {
        group.throughput(Throughput::Bytes(script.len() as u64));
        group.bench_function(name, |b| {
            b.iter(|| shell::extract_effects(script, "user", "/home/user", "/home/user", &NoFiles))
        });
    }
    group.finish();
    let mut group = c.benchmark_group("canonical");
    for (name, text) in [("ascii", long.clone()), ("umlauts", long.replace('f', "ü"))] {
        group.throughput(Throughput::Bytes(text.len() as u64));
        group.bench_function(name, |b| b.iter(|| canonical(&text, &Budget::default()).changed));
    }
    group.finish();
}

criterion_group!(benches, effects);
criterion_main!(benches);
