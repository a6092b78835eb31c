//! The life of a holder: it makes one root, runs the set-up in it, and stays until its parent is gone.

use std::fs::{self, File, OpenOptions};
use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::fs::{FileExt, OpenOptionsExt, PermissionsExt};
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Command, ExitStatus, Stdio};
use std::thread;

use anyhow::{Context, Result, ensure};
use rustix::fs::{Mode, OFlags};
use rustix::mount::{MountFlags, MountPropagationFlags, UnmountFlags};
use rustix::process::{Signal, WaitOptions};
use rustix::thread::UnshareFlags;

use super::account::add_user;
use super::keeper::{MARK, Order, Report, unshare};
use super::mounts::{PLAIN, host_devices, make_directory, mount, mount_dev, mount_overlay, mount_proc};
use super::{LAYER_SIZE, USER, privileges};

/// Bytes of a set-up's output that are kept.
const OUTPUT_LIMIT: usize = 16 * 1024;

/// The holder: makes the root its order describes, reports, and stays until its parent is gone. Returns the exit status.
pub(super) fn hold() -> i32 {
    // The parent-death signal covers a parent that is killed, the pipe one that was gone before this line.
    let _ = rustix::process::set_parent_process_death_signal(Some(Signal::KILL));
    let mut input = BufReader::new(std::io::stdin());
    let mut line = String::new();
    let order = match input.read_line(&mut line).map(|_| serde_json::from_str::<Order>(&line)) {
        Ok(Ok(order)) => order,
        Ok(Err(_)) | Err(_) => return 2,
    };
    let output = match make_root(&order) {
        Ok(output) => output,
        Err(error) => {
            report(&Report::Failed(format!("{error:#}")));
            return 1;
        }
    };
    report(&Report::Made);
    // Ends the holder, and so the namespace, as soon as the parent closes its end of the pipe.
    let watch = thread::spawn(move || {
        let _ = input.read_to_end(&mut Vec::new());
        std::process::exit(0);
    });
    if let Some(setup) = &order.setup {
        report(&run_setup(setup, &output).unwrap_or_else(|error| Report::Failed(format!("{error:#}"))));
    }
    drop(output);
    // Reaps what the set-up left behind. Only a child can bring a new one, so none means none ever.
    while rustix::process::wait(WaitOptions::empty()).is_ok() {}
    let _ = watch.join();
    0
}

fn report(report: &Report) {
    if let Ok(json) = serde_json::to_string(report) {
        let mut out = std::io::stdout().lock();
        let _ = out.write_all(format!("{MARK}{json}\n").as_bytes());
        let _ = out.flush();
    }
}

/// Ends with this process inside the new root, without dangerous capabilities. Returns the file that takes the set-up's
/// output: outside the root, but on the layer whose size is bounded.
fn make_root(order: &Order) -> Result<File> {
    ensure!(std::process::id() == 1, "the holder of a root must be process 1 of its PID namespace");
    // The root of a process, as others see it, is that of its first thread.
    ensure!(rustix::thread::gettid().as_raw_nonzero().get() == 1, "the holder of a root must be a first thread");
    privileges::close_on_exec()?;
    // No controlling terminal: a set-up must not be able to type into the caller's.
    rustix::process::setsid().context("setsid")?;
    rustix::process::umask(Mode::empty());
    unshare(UnshareFlags::NEWNS | UnshareFlags::NEWNET | UnshareFlags::NEWIPC | UnshareFlags::NEWUTS)
        .context("no namespaces of its own (CAP_SYS_ADMIN is needed)")?;
    rustix::mount::mount_change("/", MountPropagationFlags::PRIVATE | MountPropagationFlags::REC)
        .context("cannot make the mounts private")?;

    let layer = &order.mount_point;
    mount("tmpfs", layer, "tmpfs", PLAIN, &format!("mode=0700,size={LAYER_SIZE}"))?;
    // Relative from here: an overlay option cannot hold a comma or colon of the path.
    std::env::set_current_dir(layer)?;
    for directory in ["upper", "work", "root"] {
        fs::create_dir(directory)?;
        fs::set_permissions(directory, fs::Permissions::from_mode(0o755))?;
    }
    let output = OpenOptions::new().read(true).append(true).create_new(true).mode(0o600).open("output")?;
    mount_overlay()?;

    let host = rustix::fs::open("/", OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty())?;
    let devices = host_devices();
    std::env::set_current_dir("root")?;
    rustix::process::pivot_root(".", ".").context("pivot_root (is / an initramfs?)")?;
    // The host's root now lies unseen over the new one, still good as a source of bind mounts.
    mount_proc()?;
    mount_dev(&devices)?;
    drop(devices);
    make_directory("/tmp")?;
    mount("tmpfs", "/tmp", "tmpfs", PLAIN, &format!("mode=1777,size={LAYER_SIZE}"))?;
    make_directory("/sys")?;
    // A container may forbid it; the root then has an empty /sys.
    let _ = mount("sysfs", "/sys", "sysfs", PLAIN | MountFlags::NOEXEC | MountFlags::RDONLY, "");
    rustix::process::fchdir(&host)?;
    rustix::mount::unmount(".", UnmountFlags::DETACH).context("cannot let go of the host's root")?;
    drop(host);
    std::env::set_current_dir("/")?;

    rustix::process::umask(Mode::WGRP | Mode::WOTH);
    if order.user {
        add_user(Path::new("/"), USER).context("cannot add the base user")?;
    }
    privileges::give_up()?;
    Ok(output)
}

fn run_setup(setup: &str, output: &File) -> Result<Report> {
    // Public set-ups are written for bash (`echo -e`), which does what `sh` does with all others.
    let shell = ["/bin/bash", "/usr/bin/bash"].into_iter().find(|path| Path::new(path).exists()).unwrap_or("/bin/sh");
    let child = Command::new(shell)
        .args(["-c", setup])
        .env_clear()
        .env("PATH", "/usr/sbin:/usr/bin:/sbin:/bin")
        .env("HOME", "/root")
        .current_dir("/")
        .stdin(Stdio::null())
        .stdout(output.try_clone()?)
        .stderr(output.try_clone()?)
        .spawn()
        .with_context(|| format!("cannot start {shell}"))?;
    // Orphans are this process's children too; the script's own end is the one that counts. Nothing is waited for
    // through a pipe, which a daemon would hold open.
    let exit = loop {
        match rustix::process::wait(WaitOptions::empty()) {
            Ok(Some((pid, status))) if u32::try_from(pid.as_raw_nonzero().get()) == Ok(child.id()) => {
                let status = ExitStatus::from_raw(status.as_raw());
                break status.code().unwrap_or_else(|| 128 + status.signal().unwrap_or(0));
            }
            Ok(_) | Err(rustix::io::Errno::INTR) => {}
            Err(error) => return Err(error).context("lost the set-up"),
        }
    };
    let mut bytes = vec![0; OUTPUT_LIMIT];
    let length = output.read_at(&mut bytes, 0).unwrap_or(0);
    bytes.truncate(length);
    let mut text = String::from_utf8_lossy(&bytes).into_owned();
    if output.metadata().is_ok_and(|found| found.len() > OUTPUT_LIMIT as u64) {
        text.push_str("\n[output cut]");
    }
    Ok(Report::Done { exit, output: text })
}
