//! The table of probes: what a command in the sandbox tries, and the expected result.
//!
//! Each probe is a line of bash that succeeds if the sandbox does not prevent it. None changes the
//! machine: probes write only in a folder of the test, and only open files of the system for writing.
//! `prelude.sh` defines `reach`, `syscall`, and the variables.

mod system;

use system::{DEVICES, KERNEL, PROCESSES};

/// The expected result of a probe.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// The sandbox prevents it.
    Denied,
    /// The sandbox allows it for this reason.
    Allowed(&'static str),
}

use Verdict::{Allowed, Denied};

/// A probe.
#[derive(Debug)]
pub struct Probe {
    /// Its description in the manual.
    pub what: &'static str,
    /// The line of bash.
    pub line: &'static str,
    /// The expected result.
    pub verdict: Verdict,
}

const fn denied(what: &'static str, line: &'static str) -> Probe {
    Probe {
        what,
        line,
        verdict: Denied,
    }
}

const fn allowed(what: &'static str, line: &'static str, why: &'static str) -> Probe {
    Probe {
        what,
        line,
        verdict: Allowed(why),
    }
}

/// The probes with network access, by topic.
pub const PROBES: [(&str, &[Probe]); 10] = [
    ("Files", FILES),
    ("Secrets", SECRETS),
    ("Files that run by themselves", BY_THEMSELVES),
    ("Chats", CHATS),
    ("Sockets", SOCKETS),
    ("Environment", ENVIRONMENT),
    ("Processes and privileges", PROCESSES),
    ("Kernel", KERNEL),
    ("Devices and mounts", DEVICES),
    ("Network", NETWORK),
];

const FILES: &[Probe] = &[
    allowed(
        "create a file in the project",
        "echo x > made && rm made",
        "you work on the project",
    ),
    allowed(
        "create a file in /tmp",
        "echo x > /tmp/made",
        "the chat has a /tmp of its own",
    ),
    allowed(
        "read your plain files",
        "cat $HOME/outside/old",
        "a command needs your tools and their settings",
    ),
    allowed("read /etc/passwd", "cat /etc/passwd", "every user may"),
    denied("create a file in your home", "echo x > $HOME/outside/new"),
    denied(
        "append to a file in your home",
        "echo x >> $HOME/outside/old",
    ),
    denied("delete a file in your home", "rm -f $HOME/outside/old"),
    denied(
        "rename a file in your home",
        "mv $HOME/outside/old $HOME/outside/new",
    ),
    denied(
        "move a file of your home into the project",
        "mv $HOME/outside/old moved",
    ),
    denied(
        "empty a file in your home",
        "truncate -s 0 $HOME/outside/old",
    ),
    denied(
        "change the mode of a file in your home",
        "chmod 777 $HOME/outside/old",
    ),
    denied(
        "change the time of a file in your home",
        "touch -d @0 $HOME/outside/old",
    ),
    denied(
        "set an attribute of a file in your home",
        "python3 -c \"import os; os.setxattr('$HOME/outside/old', 'user.x', b'x')\"",
    ),
    denied("make a folder in your home", "mkdir $HOME/outside/folder"),
    denied(
        "write through a symbolic link",
        "ln -sfn $HOME/outside soft && echo x > soft/new",
    ),
    denied(
        "write through a hard link",
        "ln $HOME/outside/old hard && echo x > hard",
    ),
    denied(
        "write through /proc/self/root",
        "echo x > /proc/self/root$HOME/outside/new",
    ),
    denied(
        "write through /proc/1/root",
        "echo x > /proc/1/root$HOME/outside/new",
    ),
    denied(
        "write through /proc/self/cwd",
        "echo x > /proc/self/cwd/../outside/new",
    ),
    denied("open a file by its handle", "syscall open_by_handle_at"),
    denied("write to /etc", "echo x > /etc/flemma-probe"),
    denied(
        "write to /usr/local/bin",
        "echo x > /usr/local/bin/flemma-probe",
    ),
    denied("write to /var/tmp", "echo x > /var/tmp/flemma-probe"),
    denied("write to /opt", "echo x > /opt/flemma-probe"),
    denied("read the machine's /tmp", "[ -e $IN_TMP/secret ]"),
    denied("read the /tmp of another chat", "[ -e $OTHER_CHAT/secret ]"),
    denied(
        "write Flemma's configuration",
        "echo x >> $XDG_CONFIG_HOME/flemma/config.toml",
    ),
    denied(
        "write Flemma's state",
        "echo x > $XDG_STATE_HOME/nvim/flemma/new",
    ),
];

const SECRETS: &[Probe] = &[
    denied("read a key of SSH", "grep -q . $HOME/.ssh/id_work"),
    denied(
        "read credentials of a cloud",
        "grep -q . $HOME/.aws/credentials",
    ),
    denied(
        "read the history of a shell",
        "grep -q . $HOME/.bash_history",
    ),
    denied("read a .env in the project", "grep -q . .env"),
    denied("read a .env deep in the project", "grep -q . deep/er/.env"),
    denied("link to a .env", "ln .env linked && grep -q . linked"),
    denied(
        "read Flemma's options",
        "grep -q . $XDG_CONFIG_HOME/flemma/config.toml",
    ),
    denied("read /etc/shadow", "grep -q . /etc/shadow"),
    allowed(
        "read the hosts that SSH knows",
        "grep -q . $HOME/.ssh/known_hosts",
        "they are public, as `*.pub` is",
    ),
    allowed(
        "read a .env by a hard link that you made",
        "grep -q . another-name",
        "files are hidden by their paths",
    ),
];

const BY_THEMSELVES: &[Probe] = &[
    denied("write a hook of Git", "echo x > .git/hooks/pre-commit"),
    denied("write Git's configuration", "echo x >> .git/config"),
    denied(
        "set a program with git config",
        "git config core.fsmonitor ./x",
    ),
    denied("replace the folder .git", "mv .git .other && mkdir .git"),
    denied("write .envrc", "echo x >> .envrc"),
    denied("replace .envrc", "echo x > e && mv -f e .envrc"),
    denied("write .mcp.json", "echo x >> .mcp.json"),
    denied(
        "write settings of an editor",
        "echo x >> .vscode/settings.json",
    ),
    denied("write .bashrc", "echo x >> $HOME/.bashrc"),
    denied("write .profile", "echo x >> $HOME/.profile"),
    denied("write .gitconfig", "echo x >> $HOME/.gitconfig"),
    denied(
        "make a program start with the session",
        "mkdir -p $XDG_CONFIG_HOME/autostart && echo x > $XDG_CONFIG_HOME/autostart/x.desktop",
    ),
    denied("write a job of cron", "echo x > /var/spool/cron/x"),
    denied(
        "write a unit of systemd",
        "echo x > /etc/systemd/system/x.service",
    ),
    denied("make a file setuid", "cp /bin/true lent && chmod u+s lent"),
    denied(
        "make a file setgid",
        "cp /bin/true lent2 && chmod 2755 lent2",
    ),
    denied(
        "create a setuid file",
        "python3 -c \"import os; os.open('lent3', os.O_CREAT | os.O_WRONLY, 0o4755)\"",
    ),
    allowed(
        "write Git's index",
        "echo x > .git/index && rm .git/index",
        "`git add` and `git commit` write it",
    ),
    allowed(
        "make a .envrc where there is none",
        "mkdir -p sub && echo x > sub/.envrc",
        "it becomes .envrc.flemma-held when the command ends",
    ),
    allowed(
        "put a command into a rebase under way",
        "mkdir -p .git/rebase-merge && echo exec x > .git/rebase-merge/git-rebase-todo",
        "the line is gone when the command ends",
    ),
];

const CHATS: &[Probe] = &[
    denied("write the chat that it runs for", "echo x >> a.chat"),
    denied(
        "replace the chat that it runs for",
        "cp a.chat b && mv -f b a.chat",
    ),
    allowed(
        "write another chat",
        "echo x >> other.chat",
        "what an approval in it says counts only once you agree",
    ),
];

const SOCKETS: &[Probe] = &[
    denied("the ssh-agent", "reach $SSH_AGENT"),
    denied("another agent in .ssh", "reach $HOME/.ssh/agent/s"),
    denied("the gpg-agent in .gnupg", "reach $HOME/.gnupg/S.gpg-agent"),
    denied("the session's D-Bus", "reach $RUNTIME/bus"),
    denied(
        "the gpg-agent of the session",
        "reach $RUNTIME/gnupg/S.gpg-agent",
    ),
    denied("Docker for one user", "reach $RUNTIME/docker.sock"),
    denied("Wayland", "reach $RUNTIME/wayland-0"),
    denied("tmux in /tmp", "reach $IN_TMP/tmux"),
    denied("X11 in /tmp", "reach $IN_TMP/X0"),
    denied("Neovim in /tmp", "reach $IN_TMP/nvim.sock"),
    denied("Neovim in the project", "reach $PWD/nvim.sock"),
    denied("a database in the project", "reach $PWD/db/s.5432"),
    denied("a socket anywhere in your home", "reach $HOME/outside/s"),
    denied(
        "a socket with a blank in its name",
        "reach \"$HOME/outside/a socket\"",
    ),
    denied(
        "a socket through a symbolic link",
        "ln -sfn $HOME/outside/s linked && reach linked",
    ),
    denied(
        "a socket through a hard link",
        "ln -f $HOME/outside/s hard-link && reach hard-link",
    ),
    denied(
        "a socket through /proc/1/root",
        "reach /proc/1/root$HOME/outside/s",
    ),
    denied(
        "a socket moved into the project",
        "mv nvim.sock moved.sock && reach moved.sock",
    ),
    denied(
        "a datagram socket in your home",
        "reach_datagram $HOME/outside/d",
    ),
    denied("an abstract socket", "reach @$ABSTRACT"),
    denied("the system's D-Bus", "[ -S /run/dbus/system_bus_socket ]"),
    denied(
        "Docker",
        "[ -S /run/docker.sock ] || [ -S /var/run/docker.sock ]",
    ),
    denied(
        "systemd",
        "[ -S /run/systemd/private ] || [ -S /run/systemd/notify ]",
    ),
    denied("the runtime folders of all users", "[ -e /run/user ]"),
    allowed(
        "a socket of its own in /tmp",
        "own_socket /tmp/own",
        "tests and servers need it",
    ),
    allowed(
        "an abstract socket of its own",
        "own_socket @own-$ABSTRACT",
        "tests and servers need it",
    ),
    allowed(
        "a socket in your home made after the command started",
        "touch listen && wait_for_socket $HOME/outside/late && reach $HOME/outside/late",
        "sockets are looked for when a command starts",
    ),
];

const ENVIRONMENT: &[Probe] = &[
    allowed("$PATH", "[ -n \"$PATH\" ]", "programs are found with it"),
    allowed(
        "$CARGO_HOME and other folders of toolchains",
        "[ -n \"$CARGO_HOME\" ]",
        "builds need them",
    ),
    denied("$ANTHROPIC_API_KEY", "has ANTHROPIC_API_KEY"),
    denied("$AWS_SECRET_ACCESS_KEY", "has AWS_SECRET_ACCESS_KEY"),
    denied("$GITHUB_TOKEN", "has GITHUB_TOKEN"),
    denied("$MY_SECRET", "has MY_SECRET"),
    denied("$DATABASE_URL", "has DATABASE_URL"),
    denied("$SSH_AUTH_SOCK", "has SSH_AUTH_SOCK"),
    denied("$XDG_RUNTIME_DIR", "has XDG_RUNTIME_DIR"),
    denied("$DBUS_SESSION_BUS_ADDRESS", "has DBUS_SESSION_BUS_ADDRESS"),
    denied("$NVIM", "has NVIM"),
    denied("$TMUX", "has TMUX"),
    denied("$HTTPS_PROXY with a password", "has HTTPS_PROXY"),
];

const NETWORK: &[Probe] = &[
    allowed(
        "a server on this machine over TCP",
        "tcp $PORT",
        "the network is on by default",
    ),
    allowed(
        "send over UDP",
        "echo x > /dev/udp/127.0.0.1/9",
        "the network is on by default",
    ),
    denied(
        "forge packets",
        "python3 -c 'import socket; socket.socket(socket.AF_INET, socket.SOCK_RAW, 1)'",
    ),
    denied(
        "listen to all packets",
        "python3 -c 'import socket; socket.socket(17, socket.SOCK_RAW, 3)'",
    ),
    denied("change addresses", "ip addr add 192.0.2.1/32 dev lo"),
    denied("change routes", "ip route add blackhole 192.0.2.0/24"),
];

/// The probes with `network = false`, or with a list of other hosts.
pub const WITHOUT_NETWORK: &[Probe] = &[
    denied("a server on this machine over TCP", "tcp $PORT"),
    denied("send over UDP", "echo x > /dev/udp/192.0.2.1/9"),
    denied(
        "look up a name",
        "getent ahosts localhost.flemma.invalid || getent ahosts example.com",
    ),
    denied("an abstract socket", "reach @$ABSTRACT"),
    denied(
        "a name server's socket",
        "[ -S /run/systemd/resolve/io.systemd.Resolve ] || [ -S /run/nscd/socket ]",
    ),
    denied(
        "see devices of the network",
        "[ $(grep -c : /proc/net/dev) -gt 1 ]",
    ),
];
