//! Access of commands to the network and to sockets.

use std::os::unix::net::UnixListener;

use super::tmp::with_tmp;
use super::*;

#[tokio::test]
async fn the_network_and_sockets_of_the_machine_are_out_of_reach() {
    let hidden = |root: &Path, limits: &mut SandboxLimits| {
        fs::create_dir_all(root.join("inside/run")).unwrap();
        limits.hidden = vec![root.join("inside/run")];
    };
    let Some(place) = held(hidden) else {
        return;
    };
    let server = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = server.local_addr().unwrap().port();
    let _editor = UnixListener::bind(place.path("inside/run/nvim.sock")).unwrap();
    let said = bash(
        &place,
        &format!(
            "(exec 3<>/dev/tcp/127.0.0.1/{port}) 2>/dev/null && echo TCP\n\
             (exec 3<>/dev/udp/192.0.2.1/53) 2>/dev/null && echo UDP\n\
             [ -e run/nvim.sock ] && echo SOCKET\n\
             ls -A /run | grep -v -e systemd -e resolvconf -e nscd\n\
             ls /sys/class/net /sys/devices/virtual/net 2>/dev/null | grep -v -e : -e '^$'\n\
             echo \"${{NVIM-unset}} $(cat /proc/net/dev | grep -c :)\"\n\
             ls /proc | grep -c '^[0-9]'"
        ),
    )
    .await;
    let lines: Vec<&str> = said.lines().collect();
    // Only a loopback device, and only its own processes.
    assert_eq!(lines[0], "unset 1", "{said}");
    assert!(
        lines[1].parse::<u32>().is_ok_and(|count| count < 8),
        "{said}"
    );
}

/// Prints whether sockets can be reached. `@` marks an abstract socket.
const REACH: &str = r#"
import socket, sys
for name in sys.argv[1:]:
    s = socket.socket(socket.AF_UNIX)
    try:
        s.connect('\0' + name[1:] if name[0] == '@' else name)
        print('reached', name)
    except OSError:
        print('out of reach', name)
"#;

#[tokio::test]
async fn a_socket_anywhere_is_out_of_reach_until_it_is_granted() {
    let grant = |root: &Path, limits: &mut SandboxLimits| {
        limits.network = Network::Everything;
        fs::create_dir_all(root.join("inside/deep")).unwrap();
        limits.sockets = vec![root.join("outside/granted")];
    };
    let granted = std::cell::OnceCell::new();
    let Some(place) = with_tmp(|root, limits| {
        grant(root, limits);
        let listener = UnixListener::bind(root.join("outside/granted")).unwrap();
        let _ = granted.set(listener);
    }) else {
        return;
    };
    let mut listeners = Vec::new();
    let mut names = Vec::new();
    for path in ["inside/s", "inside/deep/with a blank", "outside/s", "s"] {
        let path = place.path(path);
        listeners.push(UnixListener::bind(&path).unwrap());
        names.push(path.display().to_string());
    }
    let script = place.path("inside/reach.py");
    fs::write(&script, REACH).unwrap();
    let own = "python3 -c \"import socket; s = socket.socket(socket.AF_UNIX); s.bind('/tmp/own'); s.listen(); \
               c = socket.socket(socket.AF_UNIX); c.connect('/tmp/own'); print('own')\"";
    let quoted: Vec<String> = names.iter().map(|it| format!("'{it}'")).collect();
    let granted = place.path("outside/granted");
    let line = format!(
        "python3 reach.py {} {}; {own}",
        quoted.join(" "),
        granted.display()
    );
    let said = bash(&place, &line).await;
    let reached: Vec<&str> = said
        .lines()
        .filter_map(|it| it.strip_prefix("reached "))
        .collect();
    assert_eq!(reached, [granted.to_str().unwrap()], "{said}");
    assert!(said.contains("\nown"), "{said}");
}

#[tokio::test]
#[cfg(target_os = "linux")]
async fn abstract_sockets_are_out_of_reach_with_the_network_on() {
    use std::os::linux::net::SocketAddrExt;
    use std::os::unix::net::SocketAddr;
    let Some(place) = with_tmp(|_, limits| limits.network = Network::Everything) else {
        return;
    };
    if !tools::cuts_off_abstract_sockets() {
        skipped("the Landlock of this kernel can't block abstract sockets");
        return;
    }
    let socket = format!("flemma-test-{}", std::process::id());
    let _listener =
        UnixListener::bind_addr(&SocketAddr::from_abstract_name(&socket).unwrap()).unwrap();
    fs::write(place.path("inside/reach.py"), REACH).unwrap();
    let said = bash(&place, &format!("python3 reach.py @{socket}")).await;
    assert_eq!(said, format!("out of reach @{socket}"));
}

#[tokio::test]
async fn host_names_resolve_as_outside() {
    let Some(place) = held(|_, _| {}) else {
        return;
    };
    let outside = fs::read_to_string("/etc/resolv.conf").unwrap_or_default();
    let said = bash(
        &place,
        "cat /etc/resolv.conf; getent hosts localhost >&2 && echo found",
    )
    .await;
    assert!(said.starts_with(outside.trim_end()), "{said}");
    assert!(said.ends_with("found"), "{said}");
}
