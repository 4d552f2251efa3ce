use std::fs::OpenOptions;
use std::hash::{BuildHasher, RandomState};
use std::io;
use std::process::Stdio;
use std::task::{Context, Poll, Waker};

pub use tokio::net::windows::named_pipe::NamedPipeServer as Stream;
use tokio::net::windows::named_pipe::ServerOptions;

pub(super) fn pair() -> io::Result<(Stream, Stdio)> {
    let id = std::process::id();
    // The standard library seeds it randomly.
    let random = RandomState::new().hash_one(id);
    let name = format!(r"\\.\pipe\flemma-{id}-{random:016x}");
    // One instance: if another process connects first, opening the pipe below fails.
    let ours = ServerOptions::new()
        .first_pipe_instance(true)
        .max_instances(1)
        .reject_remote_clients(true)
        .create(&name)?;
    let theirs = OpenOptions::new().read(true).write(true).open(&name)?;
    // Required before the first write. Ends at once, because the other end is open.
    let mut connecting = Box::pin(ours.connect());
    match connecting
        .as_mut()
        .poll(&mut Context::from_waker(Waker::noop()))
    {
        Poll::Ready(connected) => connected?,
        Poll::Pending => return Err(io::ErrorKind::NotConnected.into()),
    }
    drop(connecting);
    Ok((ours, Stdio::from(theirs)))
}

#[cfg(test)]
pub(super) fn standard_input() -> io::Result<std::fs::File> {
    use std::os::windows::io::AsHandle;
    Ok(io::stdin().as_handle().try_clone_to_owned()?.into())
}
