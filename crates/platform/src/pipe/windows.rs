use std::fs::File;
use std::io::{self, PipeReader, PipeWriter};
use std::os::windows::io::OwnedHandle;

// Anonymous pipes can't be polled. A file reads and writes them on tokio's threads for blocking
// work.
pub use tokio::fs::{File as Receiver, File as Sender};

pub(super) fn receiver(reader: PipeReader) -> io::Result<Receiver> {
    Ok(Receiver::from_std(File::from(OwnedHandle::from(reader))))
}

pub(super) fn sender(writer: PipeWriter) -> io::Result<Sender> {
    Ok(Sender::from_std(File::from(OwnedHandle::from(writer))))
}
