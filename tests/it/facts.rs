//! Probes of a hostile root.

use agrail::machine::{Class, Environment, FileKind};
use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;

fn root() -> (tempfile::TempDir, Environment) {
    let folder = tempfile::tempdir().unwrap();
    for path in ["etc", "home/user", "home/other", "tmp", "usr/bin"] {
        fs::create_dir_all(folder.path().join(path)).unwrap();
    }
    fs::write(folder.path().join("etc/passwd"), "root:x:0:0::/root:\nuser:x:4242:4242::/home/user:\nbroken line\n")
        .unwrap();
    fs::write(folder.path().join("etc/group"), "team:x:77:user\nuser:x:4242:\n").unwrap();
    let environment = Environment::open(folder.path()).unwrap();
    (folder, environment)
}

#[test]
fn neither_links_nor_dots_leave_the_root() {
    let (folder, environment) = root();
    let who = environment.account("user");
    symlink("/../../../../etc/hostname", folder.path().join("up")).unwrap();
    symlink("/etc/hostname", folder.path().join("absolute")).unwrap();
    symlink("loop-b", folder.path().join("loop-a")).unwrap();
    symlink("loop-a", folder.path().join("loop-b")).unwrap();
    for path in ["/up", "/absolute", "/../../etc/hostname"] {
        let facts = environment.path(path, &who);
        assert_ne!(facts.kind, Some(FileKind::File), "{path} leads out: {facts:?}");
    }
    fs::write(folder.path().join("etc/hostname"), "inside").unwrap();
    let facts = environment.path("/absolute", &who);
    assert_eq!(
        (facts.kind, facts.resolved.as_str(), facts.class),
        (Some(FileKind::File), "/etc/hostname", Class::SystemConfig)
    );
    assert_eq!(environment.path("/loop-a", &who).kind, None);
    assert_eq!(environment.read_script("/up", 100).unwrap(), b"inside");
}

#[test]
fn pipes_devices_and_odd_names_neither_hang_nor_confuse() {
    let (folder, environment) = root();
    let who = environment.account("user");
    let pipe = folder.path().join("pipe");
    let made = std::process::Command::new("mkfifo").arg(&pipe).status().unwrap();
    assert!(made.success());
    assert_eq!(environment.path("/pipe", &who).kind, Some(FileKind::Fifo));
    assert!(environment.read_script("/pipe", 100).is_err());
    fs::write(folder.path().join("a\nb"), "").unwrap();
    assert_eq!(environment.path("/a\nb", &who).exists, Some(true));
    assert_eq!(environment.path("/a\0b", &who).exists, Some(false));
    assert_eq!(environment.path(&format!("/{}", "x/".repeat(4000)), &who).exists, None);
    assert_eq!(environment.path("relative", &who).exists, None);
}

#[test]
fn a_pipe_or_a_huge_file_for_passwd_is_survived() {
    let (folder, environment) = root();
    let passwd = folder.path().join("etc/passwd");
    let many: String = (0..200_000).map(|n| format!("u{n}:x:{n}:{n}::/home/u{n}:\n")).collect();
    fs::write(&passwd, many).unwrap();
    assert!(environment.account("u5").known);
    assert!(!environment.account("u199999").known, "lines past the bound are left out");
    fs::remove_file(&passwd).unwrap();
    assert!(std::process::Command::new("mkfifo").arg(&passwd).status().unwrap().success());
    assert!(!environment.account("user").known);
}

#[test]
fn access_follows_owner_group_mode_and_the_folders_above() {
    let (folder, environment) = root();
    let who = environment.account("user");
    assert!(who.groups.iter().any(|(_, name)| name == "team"));
    let file = folder.path().join("tmp/f");
    fs::write(&file, "").unwrap();
    let owner = fs::metadata(&file).map(|m| std::os::unix::fs::MetadataExt::uid(&m)).unwrap();
    if owner == 4242 {
        return;
    }
    let mode = |bits| fs::set_permissions(&file, fs::Permissions::from_mode(bits)).unwrap();
    mode(0o604);
    let facts = environment.path("/tmp/f", &who);
    assert_eq!((facts.readable, facts.writable, facts.mine), (Some(true), Some(false), false));
    mode(0o600);
    assert_eq!(environment.path("/tmp/f", &who).readable, Some(false));
    mode(0o606);
    fs::set_permissions(folder.path().join("tmp"), fs::Permissions::from_mode(0o700)).unwrap();
    assert_eq!(environment.path("/tmp/f", &who).readable, Some(false), "the folder cannot be entered");
    fs::set_permissions(folder.path().join("tmp"), fs::Permissions::from_mode(0o1777)).unwrap();
    assert_eq!(environment.path("/tmp/f", &who).removable, Some(false), "sticky");
    assert_eq!(environment.path("/tmp/new", &who).creatable, Some(true));
    assert_eq!(environment.path("/tmp/no/new", &who).parent, Some(false));
    let root = environment.account("root");
    assert_eq!(environment.path("/tmp/f", &root).writable, Some(true));
}

#[test]
fn classes_hold_for_paths_that_do_not_exist() {
    let (_folder, environment) = root();
    let who = environment.account("user");
    for (path, class) in [
        ("/", Class::Root),
        ("/home", Class::Root),
        ("/etc/con.daily/x", Class::SystemConfig),
        ("/etc/cron.daily/x", Class::Persistence),
        ("/etc/shadow", Class::Credential),
        ("/etc/sudoers.d/x", Class::Credential),
        ("/etc/ssh/ssh_host_rsa_key", Class::Credential),
        ("/etc/ssh/ssh_host_rsa_key.pub", Class::SystemConfig),
        ("/usr/bin/ls", Class::SystemBinary),
        ("/bin", Class::SystemBinary),
        ("/usr/share/doc", Class::SystemLibrary),
        ("/lib/x", Class::SystemLibrary),
        ("/boot/vmlinuz", Class::Boot),
        ("/vmlinuz.old", Class::Boot),
        ("/proc/1/mem", Class::Credential),
        ("/proc/meminfo", Class::Kernel),
        ("/dev/sda", Class::Device),
        ("/dev/null", Class::Harmless),
        ("/dev/shm/x", Class::Shared),
        ("/tmp/x", Class::Shared),
        ("/var/log/x", Class::Log),
        ("/var/lib/x", Class::SystemData),
        ("/var/www/site/x", Class::Ordinary),
        ("/srv/x", Class::Ordinary),
        ("/hello", Class::Ordinary),
        ("/home/user", Class::OwnHome),
        ("/home/user/x", Class::OwnHome),
        ("/home/user/.bashrc", Class::Persistence),
        ("/home/user/.ssh/id_rsa", Class::Credential),
        ("/home/user/.ssh/id_rsa.pub", Class::OwnHome),
        ("/home/user/.ssh/authorized_keys", Class::Persistence),
        ("/home/user/.bash_history", Class::Log),
        ("/home/user/.aws/credentials", Class::Credential),
        ("/home/user/p/.git/hooks/pre-commit", Class::Persistence),
        ("/home/nobody/x", Class::OtherHome),
        ("/root/x", Class::SuperuserHome),
        ("/root/.profile", Class::Persistence),
    ] {
        assert_eq!(environment.class(path, &who).0, class, "{path}");
    }
}

#[test]
fn a_root_that_does_not_exist_is_a_clear_error() {
    let error = Environment::open(Path::new("/no/such/root")).unwrap_err().to_string();
    assert!(error.contains("/no/such/root") && error.contains("--root"), "{error}");
}

#[test]
fn this_process_is_not_mistaken_for_the_agents() {
    let environment = Environment::open(Path::new("/")).unwrap();
    let who = environment.account("user");
    assert_eq!(environment.path("/proc/self/environ", &who).readable, None);
    assert!(environment.process(1, &who).system);
    assert_eq!(environment.process(u32::MAX, &who).exists, Some(false));
}

#[test]
fn what_a_process_has_open_is_no_system_file_without_proc() {
    let root = crate::javascript::project(&[("a.awk", "END { print NR > \"/dev/stderr\" }\n")]);
    std::fs::create_dir_all(root.path().join("dev")).unwrap();
    symlink("/proc/self/fd/2", root.path().join("dev/stderr")).unwrap();
    symlink("/etc/hostname", root.path().join("dev/stdout")).unwrap();
    crate::knowledge::allowed_in(root.path(), &["echo x > /dev/stderr", "awk -f a.awk a.awk"]);
    symlink("/proc/self/root/etc/hostname", root.path().join("dev/other")).unwrap();
    crate::knowledge::stopped_in(root.path(), &["echo x > /dev/stdout", "echo x > /dev/other"]);
}
