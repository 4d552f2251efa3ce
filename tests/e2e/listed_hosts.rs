//! Commands that reach only the hosts that the user lists, through the proxy. Without a working
//! bubblewrap, the tests print their names and skip.

use std::io::{Read, Write};
use std::net::TcpListener;

use harness::{Answer, Provider};
use serde_json::{Value, json};

use crate::sandbox::holds;
use crate::shell::Shell;
use crate::stage::{QUESTION, ask_with, command, outcomes, result, wait_message};

/// Starts a server of this machine that says "ok" to each request, and returns its port.
pub fn server() -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let Ok(mut stream) = stream else { continue };
            let mut head = Vec::new();
            let mut byte = [0];
            while !head.ends_with(b"\r\n\r\n") && stream.read(&mut byte).is_ok_and(|it| it > 0) {
                head.push(byte[0]);
            }
            let _ = stream.write_all(
                b"HTTP/1.1 200 OK\r\ncontent-length: 3\r\nconnection: close\r\n\r\nok\n",
            );
        }
    });
    port
}

/// What the model reads after a command that reaches only these hosts.
fn said(hosts: &[String], script: &str) -> String {
    let provider = Provider::anthropic([
        Answer::new().tool_use("t_1", "bash", &command(script)),
        Answer::says("Well."),
    ]);
    let shell = Shell::new(&provider);
    let hosts: Vec<String> = hosts.iter().map(|it| format!("{it:?}")).collect();
    shell.configure(&format!(
        "[sandbox.policy.network]\nallow = [{}]\n",
        hosts.join(", ")
    ));
    shell.write("a.chat", QUESTION);
    let ran = shell.run(&["send", "--approve", "bash", "a.chat"]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    shell.read("a.chat")
}

fn refused(port: u16) -> String {
    format!(
        "[Network: 127.0.0.1:{port} was refused, because sandbox.policy.network.allow does not name it.]"
    )
}

#[test]
fn a_command_reaches_the_listed_hosts_and_the_others_are_named() {
    if !holds("a_command_reaches_the_listed_hosts_and_the_others_are_named") {
        return;
    }
    let (listed, other) = (server(), server());
    let script = format!(
        "for port in {listed} {other}; do\n\
         curl -sSf http://127.0.0.1:$port/ && echo plain $port\n\
         curl -sSfp http://127.0.0.1:$port/ && echo tunnel $port\n\
         curl -sSf --noproxy '*' http://127.0.0.1:$port/ && echo direct $port\n\
         done 2>&1\n\
         python3 -c \"import urllib.request as r; print(r.urlopen('http://127.0.0.1:{listed}/').read())\"\n\
         git ls-remote http://127.0.0.1:{other}/x 2>&1 | tail -n 1\n\
         wc -l < /proc/net/dev",
    );
    let text = said(&[format!("127.0.0.1:{listed}")], &script);
    for line in [
        format!("ok\nplain {listed}\nok\ntunnel {listed}\n"),
        "b'ok\\n'".to_owned(),
        "The requested URL returned error: 403".to_owned(),
        // The heading, and a loopback device of its own.
        "\n3\n".to_owned(),
    ] {
        assert!(text.contains(&line), "{line:?}: {text}");
    }
    assert!(
        !text.contains(&format!("plain {other}")) && !text.contains(&format!("tunnel {other}"))
    );
    assert!(!text.contains("\ndirect "), "{text}");
    assert_eq!(text.matches(&refused(other)).count(), 1, "{text}");
    assert!(
        !text.contains(&format!("127.0.0.1:{listed} was refused")),
        "{text}"
    );
}

#[test]
fn a_command_reaches_its_own_servers_and_no_name_leads_to_the_machine() {
    if !holds("a_command_reaches_its_own_servers_and_no_name_leads_to_the_machine") {
        return;
    }
    let other = server();
    // A name of this machine that is not "localhost".
    let script = format!(
        "python3 -m http.server -b 127.0.0.1 8123 >/dev/null 2>&1 &\n\
         until curl -sf http://localhost:8123/ > page; do sleep 0.05; done; echo reached $(wc -l < page | grep -c .)\n\
         curl -sSp --noproxy '' http://sub.localhost:{other}/ 2>&1",
    );
    let text = said(&[format!("sub.localhost:{other}")], &script);
    assert!(text.contains("reached 1\n"), "{text}");
    assert!(!text.contains("\nok\n"), "{text}");
    let problem = format!("[Network: sub.localhost:{other} ");
    assert_eq!(text.matches(&problem).count(), 1, "{text}");
}

#[test]
fn a_command_cannot_pass_another_socket_to_the_host() {
    if !holds("a_command_cannot_pass_another_socket_to_the_host") {
        return;
    }
    let listed = server();
    // The port is taken in its own network, and another network cannot be made.
    let script = "/run/flemma/leash --outlet 0000000000000000 true; echo code $?\n\
                  ls /run/flemma; unshare -Urn true 2>/dev/null || echo no other network";
    let text = said(&[format!("127.0.0.1:{listed}")], script);
    assert!(
        text.contains("flemma: nothing was run, because the proxy could not be reached"),
        "{text}"
    );
    assert!(
        text.contains("code 125\nleash\noutlet\nno other network\n"),
        "{text}"
    );
}

#[test]
fn the_status_names_the_hosts_and_a_trial_has_no_network() {
    if !crate::sandbox::overlays("the_status_names_the_hosts_and_a_trial_has_no_network") {
        return;
    }
    let listed = server();
    let line = format!("curl -sS http://127.0.0.1:{listed}/");
    let provider = Provider::anthropic([Answer::new().tool_use("t_1", "bash", &command(&line))]);
    let hosts = [format!("127.0.0.1:{listed}"), "*.example.org".to_owned()];
    let options: Value = json!({"sandbox": {"policy": {"network": {"allow": hosts}}}});
    let editor = ask_with(&provider, options);
    editor.keys("<C-]>");
    assert_eq!(outcomes(&editor, ["t_1"]), ["waits"]);
    editor.command("Flemma sandbox:status");
    wait_message(
        &editor,
        &format!("they have network only to 127.0.0.1:{listed}, *.example.org"),
    );
    editor.command("Flemma try");
    editor.wait_for("the trial", |editor| {
        let lines = editor.virtual_lines();
        lines
            .iter()
            .any(|it| it.text.contains("exit code 7") || it.text.contains("it needs the network"))
    });
    editor.keys("<M-CR>");
    editor.wait_for("the result", |editor| {
        result(editor, "t_1").contains("Failed to connect")
    });
}
