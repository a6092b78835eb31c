//! Makes the mounts of a root.

use std::ffi::CString;
use std::fs::{self, File};
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::fs::symlink;
use std::path::Path;

use super::error::{RootError, failed};
use rustix::fs::{CWD, FileType, Mode, OFlags};
use rustix::mount::MountFlags;

pub(super) const PLAIN: MountFlags = MountFlags::NOSUID.union(MountFlags::NODEV);

pub(super) fn mount(
    source: &str,
    target: impl AsRef<Path>,
    kind: &str,
    flags: MountFlags,
    data: &str,
) -> Result<(), RootError> {
    let target = target.as_ref();
    let what = format!("cannot mount {kind} on {}", target.display());
    let data = CString::new(data).map_err(failed(what.as_str()))?;
    rustix::mount::mount(source, target, kind, flags, data.as_c_str()).map_err(failed(what))
}

/// Mounts the overlay in the working directory. Where the kernel and the layer support it, a change of owner or mode
/// does not copy up the contents, and renaming a directory does not copy up its files.
pub(super) fn mount_overlay() -> Result<(), RootError> {
    let layers = "lowerdir=/,upperdir=upper,workdir=work";
    mount("overlay", "root", "overlay", MountFlags::NODEV, &format!("{layers},xino=on,redirect_dir=on,metacopy=on"))
        .or_else(|_| mount("overlay", "root", "overlay", MountFlags::NODEV, layers))
}

pub(super) fn make_directory(path: &str) -> Result<(), RootError> {
    // a link in its place would redirect the mount
    if fs::symlink_metadata(path).is_ok_and(|found| !found.is_dir()) {
        fs::remove_file(path).map_err(failed(format!("cannot replace {path}")))?;
    }
    fs::create_dir_all(path).map_err(failed(format!("cannot make {path}")))
}

/// Mounts a `/proc` of the new PID namespace. The kernel's settings in it, which are shared with the host, are
/// read-only.
pub(super) fn mount_proc() -> Result<(), RootError> {
    make_directory("/proc")?;
    let flags = PLAIN | MountFlags::NOEXEC;
    mount("proc", "/proc", "proc", flags, "")?;
    for name in ["acpi", "asound", "bus", "driver", "fs", "irq", "mtrr", "scsi", "sys", "sysrq-trigger", "pressure"] {
        let path = format!("/proc/{name}");
        if Path::new(&path).exists() {
            rustix::mount::mount_bind(&path, &path).map_err(failed(format!("cannot bind {path}")))?;
            rustix::mount::mount_remount(&path, flags | MountFlags::BIND | MountFlags::RDONLY, c"")
                .map_err(failed(format!("cannot protect {path}")))?;
        }
    }
    Ok(())
}

/// Hides kernel memory and the lists of keys and timers, which a root's processes should not read.
fn mask_proc() -> Result<(), RootError> {
    for path in ["/proc/kcore", "/proc/kmsg", "/proc/keys", "/proc/timer_list", "/proc/sched_debug", "/proc/kpageflags"]
    {
        if Path::new(path).exists() {
            rustix::mount::mount_bind("/dev/null", path).map_err(failed(format!("cannot hide {path}")))?;
        }
    }
    Ok(())
}

const DEVICES: [(&str, u32, u32); 6] =
    [("null", 1, 3), ("zero", 1, 5), ("full", 1, 7), ("random", 1, 8), ("urandom", 1, 9), ("tty", 5, 0)];

/// Handles of the host's devices, in case device nodes cannot be made.
pub(super) fn host_devices() -> Vec<(&'static str, OwnedFd)> {
    let open = |name| rustix::fs::open(format!("/dev/{name}"), OFlags::PATH | OFlags::CLOEXEC, Mode::empty());
    DEVICES.iter().filter_map(|(name, ..)| Some((*name, open(*name).ok()?))).collect()
}

fn link(target: &str, path: &str) -> Result<(), RootError> {
    symlink(target, path).map_err(failed(format!("cannot make {path}")))
}

pub(super) fn mount_dev(host: &[(&str, OwnedFd)]) -> Result<(), RootError> {
    make_directory("/dev")?;
    mount("tmpfs", "/dev", "tmpfs", MountFlags::NOSUID | MountFlags::NOEXEC, "mode=0755,size=1m")?;
    for (name, major, minor) in DEVICES {
        let path = format!("/dev/{name}");
        // new nodes, so that a change of owner or mode stays inside; if a container forbids that, read-only bind mounts
        // of the host's nodes
        let node = rustix::fs::makedev(major, minor);
        let mode = Mode::from_raw_mode(0o666);
        if rustix::fs::mknodat(CWD, &path, FileType::CharacterDevice, mode, node).is_err()
            && let Some((_, device)) = host.iter().find(|(found, _)| *found == name)
        {
            File::create(&path).map_err(failed(format!("cannot make {path}")))?;
            rustix::mount::mount_bind(format!("/proc/self/fd/{}", device.as_raw_fd()), &path)
                .map_err(failed(format!("cannot bind {path}")))?;
            let flags = MountFlags::BIND | MountFlags::RDONLY | MountFlags::NOSUID | MountFlags::NOEXEC;
            rustix::mount::mount_remount(&path, flags, c"").map_err(failed(format!("cannot protect {path}")))?;
        }
    }
    for (name, target) in [("fd", ""), ("stdin", "/0"), ("stdout", "/1"), ("stderr", "/2")] {
        link(&format!("/proc/self/fd{target}"), &format!("/dev/{name}"))?;
    }
    make_directory("/dev/shm")?;
    mount("tmpfs", "/dev/shm", "tmpfs", PLAIN, "mode=1777,size=64m")?;
    make_directory("/dev/pts")?;
    let options = "newinstance,ptmxmode=0666,mode=0620";
    if mount("devpts", "/dev/pts", "devpts", MountFlags::NOSUID | MountFlags::NOEXEC, options).is_ok() {
        link("pts/ptmx", "/dev/ptmx")?;
    }
    mask_proc()
}
