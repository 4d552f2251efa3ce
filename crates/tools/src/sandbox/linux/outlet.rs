//! The way out of a sandbox that lists hosts.
//!
//! Its commands have a network of their own, with nothing in it. Before a command starts, a small
//! program in the sandbox, `flemma-leash --outlet`, listens in that network, passes the listening socket
//! to the host, and becomes the command. The host accepts from that socket, which stays in the
//! command's network, and serves the `proxy` there. So nothing but the command reaches the proxy, and no
//! process in the sandbox forwards anything. Sources: unix(7), network_namespaces(7).

use std::collections::VecDeque;
use std::ffi::OsString;
use std::hash::{BuildHasher, RandomState};
use std::io::{self, IoSlice, IoSliceMut, Read};
use std::mem::MaybeUninit;
use std::net::{Ipv4Addr, TcpListener};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use std::sync::Arc;
use std::time::Duration;

use rustix::net::{
    RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer,
    SendAncillaryMessage, SendFlags, recvmsg, sendmsg,
};
use tokio::io::Interest;
use tokio::net::UnixListener;
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};
use tokio_util::task::AbortOnDropHandle;

use super::proxy::{NameServers, Proxy};
use crate::address::HostList;
use crate::private::TemporaryFolder;
use crate::state_dir;

/// The first argument of the program that opens an outlet.
pub const OUTLET: &str = "--outlet";
/// The port of the proxy in the network of a command. Not one that the kernel gives out by itself.
const PORT: u16 = 61_128;
/// The program in the sandbox.
const PROGRAM: &str = "/run/flemma/leash";
/// The socket in the sandbox over which it passes another one.
const SOCKET: &str = "/run/flemma/outlet";
/// Most commands of one call that are served at a time: the latest, because it is not known when one has
/// ended.
const COMMANDS: usize = 16;
/// How long the program may take to pass its socket, and the host to take it.
const PATIENCE: Duration = Duration::from_secs(10);
/// Interval between attempts to accept, after an error such as too many open files.
const RETRY: Duration = Duration::from_millis(100);
/// The byte that says that the host has the socket.
const TAKEN: u8 = 1;
/// Bytes of a token.
const TOKEN: usize = 16;

/// Variables with the address of the proxy. `curl` reads the one for plain HTTP only in lower case.
const PROXIES: [&str; 4] = ["HTTPS_PROXY", "https_proxy", "HTTP_PROXY", "http_proxy"];
/// Variables with the hosts that are reached without it.
const DIRECT: [&str; 2] = ["NO_PROXY", "no_proxy"];
/// Names of the command's own network, whose servers it may test.
const OWN: &str = "localhost,127.0.0.1,::1";

/// The way of the commands of one call to the hosts that their sandbox lists. Closed on drop.
#[derive(Debug)]
pub(crate) struct Outlet {
    proxy: Arc<Proxy>,
    helper: PathBuf,
    /// Proves that a socket is from a command of this call, which alone can read it. Other sandboxes can
    /// reach [`SOCKET`] by its path on the machine.
    token: String,
    /// The host's end of [`SOCKET`] is in it.
    folder: TemporaryFolder,
    _serving: AbortOnDropHandle<()>,
}

impl Outlet {
    /// Opens the way to `hosts`, in a runtime. `helper` is the program that is started with [`OUTLET`].
    ///
    /// # Errors
    ///
    /// There is no helper, or a socket can't be made.
    pub(in crate::sandbox) fn new(helper: Option<PathBuf>, hosts: HostList) -> io::Result<Self> {
        let helper = helper.ok_or_else(|| io::Error::other("flemma-leash is missing"))?;
        let folder = state_dir::temporary_folder()?;
        let listener = super::listen(folder.path(), "socket")?;
        listener.set_nonblocking(true)?;
        let listener = UnixListener::from_std(listener)?;
        // The standard library seeds it randomly.
        let token = format!("{:016x}", RandomState::new().hash_one(folder.path()));
        let proxy = Arc::new(Proxy::new(hosts, Box::new(NameServers)));
        let serving = tokio::spawn(serve(listener, token.clone(), proxy.clone()));
        Ok(Self {
            proxy,
            helper,
            token,
            folder,
            _serving: AbortOnDropHandle::new(serving),
        })
    }

    /// bubblewrap's options that show the program and its socket, and set the variables of the proxy.
    pub(super) fn mounts(&self) -> impl Iterator<Item = OsString> {
        let proxy = format!("http://127.0.0.1:{PORT}");
        // Otherwise a listed server of the machine could not be reached by the usual names.
        let own = if self.proxy.hosts.lists_this_machine() {
            ""
        } else {
            OWN
        };
        let proxies = PROXIES.iter().map(move |name| (*name, proxy.clone()));
        let direct = DIRECT.iter().map(|name| (*name, own.to_owned()));
        // Node reads the others only with this one.
        let node = [("NODE_USE_ENV_PROXY", "1".to_owned())];
        let variables = proxies.chain(direct).chain(node);
        let socket = self.folder.path().join("socket");
        let mounts = [(self.helper.clone(), PROGRAM), (socket, SOCKET)];
        mounts
            .into_iter()
            .flat_map(|(from, to)| -> [OsString; 3] {
                ["--ro-bind".into(), from.into(), to.into()]
            })
            .chain(variables.flat_map(|(name, value)| -> [OsString; 3] {
                ["--setenv".into(), name.into(), value.into()]
            }))
    }

    /// The words that precede the command in the sandbox.
    pub(super) fn words(&self) -> [OsString; 3] {
        [PROGRAM.into(), OUTLET.into(), (&self.token).into()]
    }

    /// Notes about the hosts that were refused.
    pub(crate) fn notes(&self) -> Vec<String> {
        self.proxy.notes()
    }
}

/// Serves the proxy to each command that passes its socket.
async fn serve(listener: UnixListener, token: String, proxy: Arc<Proxy>) {
    let mut receiving = JoinSet::new();
    let mut served = VecDeque::new();
    loop {
        tokio::select! {
            accepted = listener.accept() => match accepted {
                Ok((stream, _)) if receiving.len() < COMMANDS => {
                    let token = token.clone();
                    receiving.spawn(async move {
                        let receive = || receive(&stream, &token);
                        let received = stream.async_io(Interest::READABLE, receive);
                        let socket = timeout(PATIENCE, received).await.unwrap_or_else(|late| Err(late.into()))?;
                        // The command waits for it.
                        stream.async_io(Interest::WRITABLE, || stream.try_write(&[TAKEN])).await?;
                        Ok(socket)
                    });
                }
                Ok(_) => {}
                Err(_) => sleep(RETRY).await,
            },
            Some(received) = receiving.join_next() => match received {
                Ok(Ok(socket)) => {
                    if served.len() == COMMANDS {
                        served.pop_front();
                    }
                    let serving = tokio::spawn(proxy.clone().serve(socket));
                    served.push_back(AbortOnDropHandle::new(serving));
                }
                refused => {
                    let refused: Result<io::Result<OwnedFd>, _> = refused;
                    tracing::warn!(?refused, "a socket of a command was refused");
                }
            },
        }
    }
}

/// Receives a token and a socket.
fn receive(stream: impl AsFd, token: &str) -> io::Result<OwnedFd> {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut control = RecvAncillaryBuffer::new(&mut space);
    let mut said = [0; TOKEN];
    let into = &mut [IoSliceMut::new(&mut said)];
    recvmsg(stream, into, &mut control, RecvFlags::CMSG_CLOEXEC)?;
    let sockets = control.drain().filter_map(|message| match message {
        RecvAncillaryMessage::ScmRights(sockets) => Some(sockets),
        _ => None,
    });
    let socket = sockets.flatten().next();
    socket
        .filter(|_| said == token.as_bytes())
        .ok_or_else(|| io::ErrorKind::PermissionDenied.into())
}

/// Opens the outlet from within the sandbox, and becomes the command. `words` are the arguments after
/// [`OUTLET`]: the token, and the words of the command.
pub fn open_outlet(words: &[OsString]) -> ExitCode {
    let [token, program, arguments @ ..] = words else {
        return ExitCode::FAILURE;
    };
    if let Err(error) = pass_listener(token.as_encoded_bytes()) {
        eprintln!("flemma: nothing was run, because the proxy could not be reached: {error}");
        return ExitCode::from(125);
    }
    let error = Command::new(program).args(arguments).exec();
    eprintln!(
        "flemma: {} could not be started: {error}",
        Path::new(program).display()
    );
    // As shells do.
    ExitCode::from(127)
}

fn pass_listener(token: &[u8]) -> io::Result<()> {
    // The connections wait until the host accepts them.
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, PORT))?;
    let mut host = UnixStream::connect(SOCKET)?;
    pass(&listener, &host, token)?;
    host.set_read_timeout(Some(PATIENCE))?;
    // The host closes the connection if it serves too many commands.
    host.read_exact(&mut [0])
}

/// Sends a token and a socket.
fn pass(socket: &TcpListener, host: &UnixStream, token: &[u8]) -> io::Result<()> {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut control = SendAncillaryBuffer::new(&mut space);
    let sockets = [socket.as_fd()];
    control.push(SendAncillaryMessage::ScmRights(&sockets));
    sendmsg(
        host,
        &[IoSlice::new(token)],
        &mut control,
        SendFlags::NOSIGNAL,
    )?;
    Ok(())
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    use tokio::net::TcpStream;

    use super::*;

    /// What is said to a connection of a socket that is passed with this token.
    async fn said(outlet: &Outlet, token: &str) -> String {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let host = UnixStream::connect(outlet.folder.path().join("socket")).unwrap();
        let mut client = TcpStream::connect(address).await.unwrap();
        pass(&listener, &host, token.as_bytes()).unwrap();
        // The host has the last one now.
        drop(listener);
        let _ = client.write_all(b"GET / HTTP/1.1\r\n\r\n").await;
        let mut said = String::new();
        let _ = client.read_to_string(&mut said).await;
        said
    }

    #[tokio::test]
    async fn only_a_socket_that_comes_with_the_token_is_served() {
        let outlet = Outlet::new(Some("/bin/true".into()), HostList::default()).unwrap();
        let token = outlet.token.clone();
        assert!(said(&outlet, &token).await.starts_with("HTTP/1.1 400"));
        assert_eq!(said(&outlet, "0123456789abcdef").await, "");
        assert_eq!(said(&outlet, "").await, "");
        assert!(said(&outlet, &token).await.starts_with("HTTP/1.1 400"));
        let another = Outlet::new(Some("/bin/true".into()), HostList::default()).unwrap();
        assert_ne!(another.token, token);
        assert!(Outlet::new(None, HostList::default()).is_err());
    }
}
