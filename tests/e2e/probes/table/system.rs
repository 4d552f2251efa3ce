//! What a command tries with processes, the kernel and devices.

use super::{Probe, allowed, denied};

pub const PROCESSES: &[Probe] = &[
    denied(
        "see processes of the machine",
        "grep -lq flemma[-]victim /proc/[0-9]*/cmdline",
    ),
    denied("signal a process of the machine", "kill -0 $VICTIM"),
    denied(
        "read the memory of another process",
        "head -c 1 /proc/$VICTIM/mem",
    ),
    denied(
        "read the environment of Flemma",
        "cat /proc/[0-9]*/environ | tr '\\0' '\\n' | grep -q ^GITHUB_TOKEN=",
    ),
    denied("trace a process of the machine", "syscall ptrace $VICTIM"),
    denied(
        "have capabilities",
        "! grep -q 'CapEff:.0000000000000000' /proc/self/status",
    ),
    denied(
        "regain capabilities",
        "! grep -q 'CapBnd:.0000000000000000' /proc/self/status",
    ),
    denied(
        "gain rights with a setuid program",
        "! grep -q 'NoNewPrivs:.1' /proc/self/status",
    ),
    denied(
        "become another user",
        "python3 -c 'import os; os.setuid(os.getuid() + 1)'",
    ),
    denied(
        "give a file to another user",
        "echo x > owned && python3 -c \"import os; os.chown('owned', os.getuid() + 1, -1)\"",
    ),
    denied("make a user namespace", "unshare -Ur true"),
    denied("make a mount namespace", "unshare -m true"),
    denied(
        "enter the namespaces of another process",
        "nsenter -t 1 -m -u -i -n true",
    ),
    denied("change the root", "chroot /proc/1/root true"),
    denied("write into the terminal", ": > /dev/tty"),
    denied("raise its priority", "python3 -c 'import os; os.nice(-5)'"),
    allowed(
        "see and signal its own processes",
        "sleep 9 & kill $!",
        "nothing else is to be seen",
    ),
];

pub const KERNEL: &[Probe] = &[
    denied(
        "what runs on a crash (core_pattern)",
        ": >> /proc/sys/kernel/core_pattern",
    ),
    denied(
        "what loads modules (modprobe)",
        ": >> /proc/sys/kernel/modprobe",
    ),
    denied("the keys of SysRq", ": >> /proc/sys/kernel/sysrq"),
    denied("the trigger of SysRq", ": >> /proc/sysrq-trigger"),
    denied("caches (drop_caches)", ": >> /proc/sys/vm/drop_caches"),
    denied("routing (ip_forward)", ": >> /proc/sys/net/ipv4/ip_forward"),
    denied("limits of files (file-max)", ": >> /proc/sys/fs/file-max"),
    denied("any switch in /proc/sys", "opens_any /proc/sys"),
    denied("any other switch in /proc", "opens_any /proc"),
    denied("any switch in /sys", "opens_any /sys"),
    denied("control groups", ": >> /sys/fs/cgroup/cgroup.procs"),
    denied(
        "its messages (kmsg)",
        "head -c 1 /proc/kmsg || head -c 1 /dev/kmsg",
    ),
    denied("its memory (kcore)", "head -c 1 /proc/kcore"),
    denied("start another kernel", "syscall kexec_load"),
    denied("load a module", "syscall init_module"),
    denied("restart the machine", "syscall reboot"),
    denied("the hardware clock", "[ -e /dev/rtc0 ]"),
    denied("set the host's name", "syscall sethostname"),
    denied("turn swapping on", "syscall swapon"),
    denied("turn accounting of processes on", "syscall acct"),
    allowed(
        "the keyring of your session",
        "syscall keyctl || [ ! -e /proc/keys ]",
        "the kernel has no namespace for it; keep no keys there",
    ),
];

pub const DEVICES: &[Probe] = &[
    denied(
        "a disk",
        "exists '/dev/sd*' || exists '/dev/vd*' || exists '/dev/nvme*'",
    ),
    denied("/dev/mem", "[ -e /dev/mem ]"),
    denied("/dev/kvm", "[ -e /dev/kvm ]"),
    denied("/dev/fuse", "[ -e /dev/fuse ]"),
    denied("/dev/net/tun", "[ -e /dev/net/tun ]"),
    denied(
        "keyboards and cameras",
        "exists '/dev/input*' || exists '/dev/video*'",
    ),
    denied("make a device", "mknod device b 8 0"),
    denied("shared memory of the machine", "[ -e /dev/shm/$IN_SHM ]"),
    allowed(
        "/dev/null, /dev/urandom",
        "head -c 1 /dev/urandom > /dev/null",
        "programs need them",
    ),
    denied("mount a file system", "mount -t tmpfs none /mnt"),
    denied("mount a folder elsewhere", "mount --bind $HOME/outside ."),
    denied("mount the root for writing", "mount -o remount,rw /"),
    denied(
        "mount /proc/sys for writing",
        "mount -o remount,rw /proc/sys",
    ),
    denied(
        "unmount what hides something",
        "umount /proc/sys || umount /run || umount -l /tmp",
    ),
    denied("pivot_root", "syscall pivot_root"),
];
