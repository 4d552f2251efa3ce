//! The host's standard streams: Neovim gives it sockets, and other programs may give it
//! pipes.

use std::io::{BufReader, Read, Write};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::process::{Child, Command, Stdio};

use rmpv::Value;

fn start(input: impl Into<Stdio>, output: impl Into<Stdio>) -> Child {
    let mut command = Command::new(env!("CARGO_BIN_EXE_flemma"));
    // These hosts store no state.
    command.arg("host").env("XDG_STATE_HOME", "/dev/null");
    command.stdin(input).stdout(output).spawn().unwrap()
}

/// Sends `hello` and returns the response, one frame.
fn greet(to: &mut impl Write, from: &mut impl Read) -> Value {
    let hello = Value::Map(vec![
        ("protocol".into(), 2.into()),
        ("version".into(), "a test".into()),
    ]);
    let message = Value::Array(vec![2.into(), "hello".into(), Value::Array(vec![hello])]);
    rmpv::encode::write_value(to, &message).unwrap();
    rmpv::decode::read_value(&mut BufReader::new(from)).unwrap()
}

#[track_caller]
fn assert_welcomes(frame: &Value) {
    assert_eq!(frame[1].as_str(), Some("nvim_exec_lua"), "{frame}");
    let message = &frame[2][1][0][0];
    assert_eq!(message[0].as_str(), Some("welcome"), "{frame}");
}

/// Checks that the host ends by itself, since Neovim is gone.
#[track_caller]
fn assert_ends(mut host: Child) {
    let status = host.wait().unwrap();
    assert!(status.success(), "{status}");
}

#[test]
fn a_host_answers_over_pipes_and_ends_when_they_close() {
    let mut host = start(Stdio::piped(), Stdio::piped());
    let (mut to, mut from) = (host.stdin.take().unwrap(), host.stdout.take().unwrap());

    assert_welcomes(&greet(&mut to, &mut from));

    drop(to);
    assert_ends(host);
}

#[test]
fn a_host_answers_over_sockets_and_ends_when_they_close() {
    let (mut to, input) = UnixStream::pair().unwrap();
    let (mut from, output) = UnixStream::pair().unwrap();
    let host = start(OwnedFd::from(input), OwnedFd::from(output));

    assert_welcomes(&greet(&mut to, &mut from));

    drop((to, from));
    assert_ends(host);
}

/// One socket for both directions, as with `socat`.
#[test]
fn a_host_answers_over_one_socket() {
    let (mut ours, theirs) = UnixStream::pair().unwrap();
    let output = theirs.try_clone().unwrap();
    let host = start(OwnedFd::from(theirs), OwnedFd::from(output));

    let mut from = ours.try_clone().unwrap();
    assert_welcomes(&greet(&mut ours, &mut from));

    drop((ours, from));
    assert_ends(host);
}

#[test]
fn a_host_without_a_client_ends() {
    assert_ends(start(Stdio::null(), Stdio::null()));
}
