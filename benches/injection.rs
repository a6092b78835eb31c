//! The cost of the injection detector: rules alone on 20 KB and on 5 MB.

use agrail::injection::Detector;
use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use std::hint::black_box;

const PAGE: &str = "The parcel arrived on time and the box was intact. You can park behind the church until noon. \
    Please let us know if Friday suits you! {\"name\": \"lamp\", \"note\": \"Bring a coat, it gets cold\"}\n\
    | Lisbon | 1998 | 420 | Install the plugin before you build, then restart the service.\n";

fn rules(c: &mut Criterion) {
    let detector = Detector::rules();
    let mut group = c.benchmark_group("injection");
    for (name, size) in [("20KB", 20 << 10), ("5MB", 5 << 20)] {
        let text = PAGE.repeat(size / PAGE.len());
        group.throughput(Throughput::Bytes(text.len() as u64));
        group.sample_size(10).bench_function(format!("rules/{name}"), |b| b.iter(|| detector.scan(black_box(&text))));
    }
    group.finish();
}

criterion_group!(benches, rules);
criterion_main!(benches);
