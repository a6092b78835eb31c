//! The privileges of a root's processes: enough to own files, write and switch users, but nothing that reaches beyond
//! the namespaces.

use std::fs;

use super::error::{RootError, failed};
use rustix::process::{DumpableBehavior, Resource, Rlimit, Signal};
use rustix::thread::{CapabilitySet, CapabilitySets};

/// The capabilities that root keeps inside, to own files, write and switch users; none reaches beyond the namespaces.
/// Not among them: `DAC_READ_SEARCH` (opens any file of the host by handle), `MKNOD`, and `SYS_PTRACE` (the holder's
/// descriptors and executable belong to the host).
pub(super) const KEPT: CapabilitySet = CapabilitySet::CHOWN
    .union(CapabilitySet::DAC_OVERRIDE)
    .union(CapabilitySet::FOWNER)
    .union(CapabilitySet::FSETID)
    .union(CapabilitySet::KILL)
    .union(CapabilitySet::SETGID)
    .union(CapabilitySet::SETUID)
    .union(CapabilitySet::SETFCAP)
    .union(CapabilitySet::NET_BIND_SERVICE)
    .union(CapabilitySet::SYS_CHROOT)
    .union(CapabilitySet::AUDIT_WRITE)
    .union(CapabilitySet::LINUX_IMMUTABLE);

pub(super) fn give_up() -> Result<(), RootError> {
    for number in 0..64 {
        let capability = CapabilitySet::from_bits_retain(1 << number);
        if !KEPT.contains(capability) {
            // the kernel rejects numbers above its last capability
            match rustix::thread::remove_capability_from_bounding_set(capability) {
                Ok(()) | Err(rustix::io::Errno::INVAL) => {}
                Err(error) => return Err(failed("cannot give up a capability")(error)),
            }
        }
    }
    let _ = rustix::thread::clear_ambient_capability_set();
    let held = rustix::thread::capabilities(None).map_err(failed("cannot read the holder's capabilities"))?;
    let held = held.permitted.intersection(KEPT);
    let sets = CapabilitySets { effective: held, permitted: held, inheritable: CapabilitySet::empty() };
    rustix::thread::set_capabilities(None, sets).map_err(failed("cannot give up capabilities"))?;
    let none = Rlimit { current: Some(0), maximum: Some(0) };
    let _ = rustix::process::setrlimit(Resource::Core, none);
    // /proc/1/exe, /proc/1/fd and /proc/1/environ belong to the host: deny them to the processes of this root. The
    // guard outside can still enter through /proc/PID/root, because it has CAP_SYS_PTRACE.
    rustix::process::set_dumpable_behavior(DumpableBehavior::NotDumpable)
        .and_then(|()| rustix::process::set_parent_process_death_signal(Some(Signal::KILL)))
        .map_err(failed("cannot protect the holder"))
}

/// Marks inherited descriptors close-on-exec, so that the set-up does not get those that the caller's own parent left
/// open (the log of a CI runner, for example).
#[expect(unsafe_code, reason = "a descriptor known only by its number cannot be marked otherwise")]
pub(super) fn close_on_exec() -> Result<(), RootError> {
    let listed = fs::read_dir("/proc/self/fd").map_err(failed("cannot list the open files"))?;
    let numbers: Vec<i32> = listed.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok()).collect();
    for number in numbers.into_iter().filter(|number| *number > 2) {
        // SAFETY: the borrow ends with the call and closes nothing; a number no longer open yields EBADF.
        let descriptor = unsafe { std::os::fd::BorrowedFd::borrow_raw(number) };
        let _ = rustix::io::fcntl_setfd(descriptor, rustix::io::FdFlags::CLOEXEC);
    }
    Ok(())
}
