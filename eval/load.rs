//! `agrail-eval load`: loads a service with many parallel connections.

use anyhow::{Context as _, Result, bail};
use serde_json::json;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// Load a running `agrail serve` from many parallel connections; each sends its next request after an answer.
///
/// Prints the number of requests for each status, the latency of the answered ones and, with --pid, the largest memory
/// of the service. Exit code 1 if there was a status other than 200, 429 and 503, or a wrong answer.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// URL of the service.
    #[arg(long, default_value = "http://127.0.0.1:8642")]
    url: String,
    /// Number of parallel connections.
    #[arg(long, default_value_t = 1000)]
    connections: usize,
    /// Duration in seconds.
    #[arg(long, default_value_t = 60)]
    seconds: u64,
    /// Pause of a connection between an answer and its next request, milliseconds.
    #[arg(long, default_value_t = 0)]
    pause_ms: u64,
    /// Process id of the service.
    #[arg(long)]
    pid: Option<u32>,
}

#[derive(Default)]
struct Seen {
    statuses: BTreeMap<String, u64>,
    wall: Vec<Duration>,
    wrong: u64,
}

/// Runs the subcommand.
pub fn run(args: &Args) -> Result<()> {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build()?;
    let (all, memory) = runtime.block_on(load(args))?;
    let mut wall = all.wall;
    wall.sort_unstable();
    let at = |share: f64| {
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a place in the list")]
        let place = ((wall.len() as f64 * share) as usize).min(wall.len().saturating_sub(1));
        wall.get(place).map_or(0.0, |d| d.as_secs_f64() * 1e3)
    };
    println!("{} connections, {} s", args.connections, args.seconds);
    for (status, count) in &all.statuses {
        println!("{status:>12}  {count}");
    }
    println!("answered: p50 {:.1} ms, p95 {:.1} ms, p99 {:.1} ms", at(0.5), at(0.95), at(0.99));
    if let Some(kib) = memory {
        println!("largest memory of the service: {} MiB", kib / 1024);
    }
    let odd = all.statuses.keys().any(|status| !["200", "429", "503"].contains(&status.as_str()));
    if odd || all.wrong > 0 {
        bail!("{} wrong answers, or a status other than 200, 429 and 503", all.wrong);
    }
    Ok(())
}

async fn load(args: &Args) -> Result<(Seen, Option<u64>)> {
    // a pool that is large enough for every task to keep its own connection
    let client = reqwest::Client::builder().pool_max_idle_per_host(args.connections).build()?;
    let stop = Arc::new(AtomicBool::new(false));
    let tasks: Vec<_> = (0..args.connections)
        .map(|number| {
            let (client, stop) = (client.clone(), Arc::clone(&stop));
            let (url, pause) = (format!("{}/v1/check", args.url), Duration::from_millis(args.pause_ms));
            tokio::spawn(async move {
                let deny = number % 2 == 0;
                let command = if deny { "rm -rf /etc" } else { "ls /tmp" };
                let body = json!({"action": {"type": "shell", "command": command}}).to_string();
                let mut seen = Seen::default();
                while !stop.load(Ordering::Relaxed) {
                    let started = Instant::now();
                    let sent = client.post(&url).body(body.clone()).send().await;
                    let status = match sent {
                        Ok(response) => {
                            let status = response.status().as_u16();
                            let text = response.text().await.unwrap_or_default();
                            if status == 200 {
                                seen.wall.push(started.elapsed());
                                let expected = if deny { "\"decision\":\"deny\"" } else { "\"decision\":\"allow\"" };
                                seen.wrong += u64::from(!text.contains(expected));
                            } else {
                                // a short version of the pause that Retry-After asks for
                                tokio::time::sleep(Duration::from_millis(100)).await;
                            }
                            status.to_string()
                        }
                        Err(error) if error.is_connect() => "no connection".to_owned(),
                        Err(_) => "broken off".to_owned(),
                    };
                    *seen.statuses.entry(status).or_default() += 1;
                    tokio::time::sleep(pause).await;
                }
                seen
            })
        })
        .collect();
    let mut largest = None;
    for _ in 0..args.seconds {
        tokio::time::sleep(Duration::from_secs(1)).await;
        if let Some(pid) = args.pid {
            largest = largest.max(Some(resident(pid)?));
        }
    }
    stop.store(true, Ordering::Relaxed);
    let mut all = Seen::default();
    for task in tasks {
        let seen = task.await?;
        for (status, count) in seen.statuses {
            *all.statuses.entry(status).or_default() += count;
        }
        all.wall.extend(seen.wall);
        all.wrong += seen.wrong;
    }
    Ok((all, largest))
}

/// Resident memory of a process, KiB.
fn resident(pid: u32) -> Result<u64> {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status"))
        .with_context(|| format!("cannot read the memory of process {pid}; check --pid"))?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap_or_default();
    Ok(line.trim().trim_end_matches(" kB").trim().parse().unwrap_or_default())
}
