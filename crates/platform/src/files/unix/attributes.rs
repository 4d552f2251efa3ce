//! Attributes that a file keeps when its content is replaced: owner, mode, access control list,
//! and extended attributes.

use std::fs::File;
use std::io;

use rustix::buffer::spare_capacity;
use rustix::fs::{
    Gid, Mode, RawMode, Uid, XattrFlags, fchmod, fchown, fgetxattr, flistxattr, fremovexattr,
    fsetxattr, fstat,
};
use rustix::io::Errno;

/// Maximum size in bytes of the list of names and of a value: Linux's limits (`XATTR_LIST_MAX`,
/// `XATTR_SIZE_MAX`).
const MOST_BYTES: usize = 64 * 1024;
/// The access control list on Linux.
const ACL: &[u8] = b"system.posix_acl_access";
/// The error for an attribute that a file does not have.
#[cfg(not(target_os = "macos"))]
const NO_ATTRIBUTE: Errno = Errno::NODATA;
#[cfg(target_os = "macos")]
const NO_ATTRIBUTE: Errno = Errno::NOATTR;
/// Attributes that the kernel itself removes when a file is written.
const NOT_KEPT: [&[u8]; 3] = [b"security.capability", b"security.ima", b"security.evm"];
/// The permission bits and the sticky bit. Writing a file clears setuid and setgid.
const KEPT_MODE: RawMode = 0o1777;

/// Copies the attributes of `old` to `new`.
///
/// # Errors
///
/// The owner, the access control list, or a user attribute can't be copied. With the mode
/// alone, `new` could be accessible to other people than `old` is.
pub(super) fn copy(old: &File, new: &File) -> io::Result<()> {
    let (now, before) = (fstat(new)?, fstat(old)?);
    if (now.st_uid, now.st_gid) != (before.st_uid, before.st_gid) {
        let (owner, group) = (Uid::from_raw(before.st_uid), Gid::from_raw(before.st_gid));
        fchown(new, Some(owner), Some(group))?;
    }
    copy_extended(old, new)?;
    let mode = Mode::from_raw_mode(before.st_mode & KEPT_MODE);
    // Last, because setting the list changes the group bits.
    fchmod(new, mode)?;
    Ok(())
}

fn copy_extended(old: &File, new: &File) -> io::Result<()> {
    let kept = names(old)?;
    // A new file may have inherited a default list from its folder.
    for name in names(new)?.iter().filter(|name| !kept.contains(name)) {
        if **name == *ACL {
            fremovexattr(new, &name[..])?;
        }
    }
    for name in kept.iter().filter(|name| !NOT_KEPT.contains(&&name[..])) {
        let value = match value(old, name) {
            // Removed in the meantime.
            Err(NO_ATTRIBUTE) => continue,
            value => value?,
        };
        let set = fsetxattr(new, &name[..], &value, XattrFlags::empty());
        let matters = **name == *ACL || name.starts_with(b"user.");
        match set {
            Err(error) if matters => return Err(error.into()),
            // Labels of the system are the system's business, so they may be lost.
            _ => {}
        }
    }
    Ok(())
}

/// The names of the extended attributes; none if the file system doesn't support them.
fn names(file: &File) -> io::Result<Vec<Vec<u8>>> {
    let mut list = Vec::with_capacity(MOST_BYTES);
    match flistxattr(file, spare_capacity(&mut list)) {
        Ok(_) => {}
        Err(Errno::NOTSUP) => return Ok(Vec::new()),
        Err(error) => return Err(error.into()),
    }
    let names = list.split(|byte| *byte == 0).filter(|it| !it.is_empty());
    Ok(names.map(<[u8]>::to_vec).collect())
}

fn value(file: &File, name: &[u8]) -> rustix::io::Result<Vec<u8>> {
    let mut value = Vec::with_capacity(MOST_BYTES);
    fgetxattr(file, name, spare_capacity(&mut value))?;
    Ok(value)
}
