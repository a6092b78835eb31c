//! The holder process: makes one root, runs the set-up in it, and lives until its parent ends.

use std::fs::{self, File, OpenOptions};
use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::fs::{FileExt, OpenOptionsExt, PermissionsExt};
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Command, ExitStatus, Stdio};
use std::thread;

use rustix::fs::{Mode, OFlags};
use rustix::mount::{MountFlags, MountPropagationFlags, UnmountFlags};
use rustix::process::{Signal, WaitOptions};
use rustix::thread::UnshareFlags;

use super::account::add_user;
use super::error::{RootError, failed, with_causes};
use super::keeper::{MARK, Order, Report, unshare};
use super::mounts::{PLAIN, host_devices, make_directory, mount, mount_dev, mount_overlay, mount_proc};
use super::{LAYER_SIZE, USER, privileges};

/// Most bytes of a set-up's output that are kept.
const OUTPUT_LIMIT: usize = 16 * 1024;

/// Runs the holder: makes the root that its order describes, reports, and lives until its parent ends. Returns the exit
/// status.
pub(super) fn hold() -> i32 {
    // the parent-death signal covers a parent that is killed later; the pipe covers one that died before this line
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
            report(&Report::Failed(with_causes(&error)));
            return 1;
        }
    };
    report(&Report::Made);
    // ends the holder, and thereby the namespace, as soon as the parent closes its end of the pipe
    let watch = thread::spawn(move || {
        let _ = input.read_to_end(&mut Vec::new());
        std::process::exit(0);
    });
    if let Some(setup) = &order.setup {
        report(&run_setup(setup, &output).unwrap_or_else(|error| Report::Failed(with_causes(&error))));
    }
    drop(output);
    // reap the orphans of the set-up; new ones come only from children, so once there are none there will be none
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

/// Moves this process into a new root and drops dangerous capabilities. Returns the file for the set-up's output, which
/// is outside the root, but on the layer with bounded size.
fn make_root(order: &Order) -> Result<File, RootError> {
    if std::process::id() != 1 {
        return Err(RootError::Holder("process 1 of its PID namespace"));
    }
    // /proc/PID/root shows the root of the process's first thread
    if rustix::thread::gettid().as_raw_nonzero().get() != 1 {
        return Err(RootError::Holder("on the first thread of its process"));
    }
    privileges::close_on_exec()?;
    // no controlling terminal: a set-up must not be able to type into the caller's terminal
    rustix::process::setsid().map_err(failed("cannot leave the session"))?;
    rustix::process::umask(Mode::empty());
    unshare(UnshareFlags::NEWNS | UnshareFlags::NEWNET | UnshareFlags::NEWIPC | UnshareFlags::NEWUTS)
        .map_err(failed("cannot make the holder's namespaces (CAP_SYS_ADMIN is needed)"))?;
    rustix::mount::mount_change("/", MountPropagationFlags::PRIVATE | MountPropagationFlags::REC)
        .map_err(failed("cannot make the mounts private"))?;

    let layer = &order.mount_point;
    mount("tmpfs", layer, "tmpfs", PLAIN, &format!("mode=0700,size={LAYER_SIZE}"))?;
    // paths are relative from here on, because overlay options cannot contain a comma or colon from the path
    std::env::set_current_dir(layer).map_err(failed("cannot enter the layer"))?;
    let output = fill_layer().map_err(failed("cannot fill the layer"))?;
    mount_overlay()?;

    let host = rustix::fs::open("/", OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty())
        .map_err(failed("cannot open the host's root"))?;
    let devices = host_devices();
    std::env::set_current_dir("root").map_err(failed("cannot enter the overlay"))?;
    rustix::process::pivot_root(".", ".").map_err(failed("cannot pivot the root (is / an initramfs?)"))?;
    // the host's root is now stacked on the new one; it can still be the source of bind mounts
    mount_proc()?;
    mount_dev(&devices)?;
    drop(devices);
    make_directory("/tmp")?;
    mount("tmpfs", "/tmp", "tmpfs", PLAIN, &format!("mode=1777,size={LAYER_SIZE}"))?;
    make_directory("/sys")?;
    // a container may forbid this mount; the root then has an empty /sys
    let _ = mount("sysfs", "/sys", "sysfs", PLAIN | MountFlags::NOEXEC | MountFlags::RDONLY, "");
    rustix::process::fchdir(&host)
        .and_then(|()| rustix::mount::unmount(".", UnmountFlags::DETACH))
        .map_err(failed("cannot unmount the host's root"))?;
    drop(host);
    std::env::set_current_dir("/").map_err(failed("cannot enter the root"))?;

    rustix::process::umask(Mode::WGRP | Mode::WOTH);
    if order.user {
        add_user(Path::new("/"), USER)?;
    }
    privileges::give_up()?;
    Ok(output)
}

/// Makes the directories of the overlay and the file for the set-up's output, in the working directory.
fn fill_layer() -> std::io::Result<File> {
    for directory in ["upper", "work", "root"] {
        fs::create_dir(directory)?;
        fs::set_permissions(directory, fs::Permissions::from_mode(0o755))?;
    }
    OpenOptions::new().read(true).append(true).create_new(true).mode(0o600).open("output")
}

fn run_setup(setup: &str, output: &File) -> Result<Report, RootError> {
    // public set-ups are written for bash (`echo -e`), which runs all others as `sh` does
    let shell = ["/bin/bash", "/usr/bin/bash"].into_iter().find(|path| Path::new(path).exists()).unwrap_or("/bin/sh");
    let copy = || output.try_clone().map_err(failed("cannot open the file for the set-up's output"));
    let child = Command::new(shell)
        .args(["-c", setup])
        .env_clear()
        .env("PATH", "/usr/sbin:/usr/bin:/sbin:/bin")
        .env("HOME", "/root")
        .current_dir("/")
        .stdin(Stdio::null())
        .stdout(copy()?)
        .stderr(copy()?)
        .spawn()
        .map_err(failed(format!("cannot start {shell}")))?;
    // orphans are children of this process, too, but only the script's own end counts; waiting for the end of a pipe
    // would not work, because a daemon would keep the pipe open
    let exit = loop {
        match rustix::process::wait(WaitOptions::empty()) {
            Ok(Some((pid, status))) if u32::try_from(pid.as_raw_nonzero().get()) == Ok(child.id()) => {
                let status = ExitStatus::from_raw(status.as_raw());
                break status.code().unwrap_or_else(|| 128 + status.signal().unwrap_or(0));
            }
            Ok(_) | Err(rustix::io::Errno::INTR) => {}
            Err(error) => return Err(failed("cannot wait for the set-up")(error)),
        }
    };
    let mut bytes = vec![0; OUTPUT_LIMIT];
    let length = output.read_at(&mut bytes, 0).unwrap_or(0);
    bytes.truncate(length);
    let mut text = String::from_utf8_lossy(&bytes).into_owned();
    if output.metadata().is_ok_and(|found| found.len() > OUTPUT_LIMIT as u64) {
        text.push_str("\n[output truncated]");
    }
    Ok(Report::Done { exit, output: text })
}
