//! Commands that try to write outside the sandbox, set setuid bits, or control the kernel.

use std::fs;
use std::path::Path;

use tools::SandboxLimits;

use super::{bash, held, skipped};

/// Each of these must fail without changing anything outside.
const ESCAPES: [&str; 24] = [
    "echo x > ../outside/new",
    "echo x >> ../outside/old",
    "rm ../outside/old",
    "mv ../outside/old ../outside/new",
    "mv ../outside/old here",
    "truncate -s 0 ../outside/old",
    "chmod 777 ../outside/old",
    "touch -d @0 ../outside/old",
    "ln ../outside/old hard && echo x > hard",
    "ln -s ../outside soft && echo x > soft/new",
    "ln -s ../outside/old soft2 && echo x > soft2",
    "mkdir ../outside/folder",
    "cp /bin/true /usr/local/bin/flemma-escape",
    "echo x > /etc/flemma-escape",
    "echo x > ~/flemma-escape",
    "echo x > /proc/1/root/tmp/flemma-escape",
    "echo x > /proc/self/root/etc/flemma-escape",
    "echo 1 > /proc/sys/kernel/sysrq",
    "mount -t tmpfs none /mnt",
    "mount --bind ../outside .",
    "umount -l /",
    "unshare -Ur true",
    "mknod device b 8 0",
    "chroot /proc/1/root true",
];

#[tokio::test]
async fn no_command_changes_anything_outside() {
    let Some(place) = held(|_, _| {}) else {
        return;
    };
    let script: String = ESCAPES
        .iter()
        .map(|it| format!("({it}) >/dev/null 2>&1 && echo 'ESCAPED: {it}'\n"))
        .collect();
    let said = bash(&place, &format!("{script}echo done")).await;
    assert_eq!(said, "done", "{said}");
    assert_eq!(place.text("outside/old"), "old");
    let left = fs::read_dir(place.path("outside")).unwrap().count();
    assert_eq!(left, 1);
}

/// Each of these creates a file with a setuid or setgid bit, unless it is prevented.
const BITS: [&str; 9] = [
    "cp /bin/true a && chmod u+s a",
    "cp /bin/true b && chmod 2755 b",
    "install -m 4755 /bin/true c",
    "mkdir d && chmod g+s d",
    "python3 -c 'import os; os.open(\"e\", os.O_CREAT | os.O_WRONLY, 0o4755)'",
    "python3 -c 'import os; os.mknod(\"f\", 0o104755)'",
    "cp /bin/true g && python3 -c 'import os; os.fchmod(os.open(\"g\", 0), 0o6755)'",
    "python3 -c 'import ctypes; ctypes.CDLL(None).syscall(452, -100, b\"a\", 0o4755, 0)'",
    // io_uring could create files past the filter.
    "python3 -c 'import ctypes, sys; sys.exit(ctypes.CDLL(None).syscall(425, 1, bytes(120)) < 0)' && touch h && exit 7",
];

#[tokio::test]
#[cfg(target_os = "linux")]
async fn no_file_gets_a_setuid_or_setgid_bit() {
    use std::os::unix::fs::MetadataExt;
    for privileged in [false, true] {
        let Some(place) = held(|_, limits| limits.privileged = privileged) else {
            return;
        };
        if !tools::keeps_from_setuid() {
            skipped("this kernel doesn't support seccomp filters");
            return;
        }
        let tries: String = BITS
            .iter()
            .map(|it| format!("({it}) 2>/dev/null\n"))
            .collect();
        // Other modes still work.
        let usual = "touch i && chmod 1777 i && install -m 0755 i j && cp -p j k && mkdir -m 700 l && echo fine";
        let said = bash(&place, &format!("{tries}{usual}")).await;
        assert!(said.starts_with("fine"), "{said}");
        for entry in fs::read_dir(place.path("inside")).unwrap() {
            let entry = entry.unwrap();
            let mode = entry.metadata().unwrap().mode();
            assert_eq!(mode & 0o6000, 0, "{:?} {mode:o}", entry.file_name());
        }
        assert!(!place.path("inside/h").exists());
        let said = bash(&place, "touch x; chmod u+s x").await;
        assert!(said.contains("lets no command set a setuid"), "{said}");
    }
}

#[tokio::test]
async fn the_kernel_cannot_be_controlled_whatever_is_writable() {
    for privileged in [false, true] {
        let everything = |_: &Path, limits: &mut SandboxLimits| {
            limits.writable = vec!["/".into()];
            limits.privileged = privileged;
        };
        let Some(place) = held(everything) else {
            return;
        };
        // Only opens the files for writing; writes nothing.
        let script = "for file in $(find /proc/[a-z]* /sys/kernel /sys/power /sys/class -maxdepth 4 -type f \
                      ! -path '/proc/self/*' ! -path '/proc/thread-self/*' 2>/dev/null); do \
                      (: >> $file) 2>/dev/null && echo opened $file; done; echo done";
        let said = bash(&place, script).await;
        assert_eq!(said, "done", "privileged: {privileged}");
        let said = bash(&place, "grep CapEff /proc/self/status").await;
        let held = u64::from_str_radix(said.split_whitespace().last().unwrap(), 16).unwrap();
        // SYS_MODULE, SYS_RAWIO, SYS_PTRACE, SYS_ADMIN, SYS_BOOT, SYS_TIME, MKNOD; see
        // capability.h.
        let dangerous = [16, 17, 19, 21, 22, 25, 27]
            .iter()
            .fold(0, |all, bit| all | 1 << bit);
        assert_eq!(held & dangerous, 0, "{said}");
    }
}
