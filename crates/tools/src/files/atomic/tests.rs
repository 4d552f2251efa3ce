#![allow(clippy::unwrap_used)]

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt};

use rustix::buffer::spare_capacity;
use rustix::fs::{XattrFlags, fgetxattr, fsetxattr};

use super::*;

const ACL: &str = "system.posix_acl_access";

/// An access control list as Linux stores it: one more user may read, the mask gives read
/// and write, the file's group nothing.
fn list() -> Vec<u8> {
    const NOBODY: u32 = u32::MAX;
    let mut bytes = 2u32.to_le_bytes().to_vec();
    for (tag, permissions, id) in [
        (0x01u16, 6u16, NOBODY),
        (0x02, 4, 12_345),
        (0x04, 0, NOBODY),
        (0x10, 6, NOBODY),
        (0x20, 0, NOBODY),
    ] {
        bytes.extend(tag.to_le_bytes());
        bytes.extend(permissions.to_le_bytes());
        bytes.extend(id.to_le_bytes());
    }
    bytes
}

fn attribute(path: &Path, name: &str) -> Option<Vec<u8>> {
    let mut value = Vec::with_capacity(1024);
    fgetxattr(File::open(path).unwrap(), name, spare_capacity(&mut value)).ok()?;
    Some(value)
}

/// Returns false where the file system has no such attribute.
fn set(path: &Path, name: &str, value: &[u8]) -> bool {
    let file = File::open(path).unwrap();
    fsetxattr(&file, name, value, XattrFlags::empty()).is_ok()
}

#[test]
fn mode_access_control_list_and_attributes_stay_and_setuid_goes() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("f");
    fs::write(&path, "old").unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o4640)).unwrap();
    let has_list = set(&path, ACL, &list());
    let has_attribute = set(&path, "user.note", b"mine");
    write(&path, b"new").unwrap();
    assert_eq!(fs::read(&path).unwrap(), b"new");
    // With a list, the bits of the group are its mask.
    let mode = if has_list { 0o660 } else { 0o640 };
    assert_eq!(fs::metadata(&path).unwrap().mode() & 0o7777, mode);
    assert_eq!(attribute(&path, ACL), has_list.then(list));
    let note = attribute(&path, "user.note");
    assert_eq!(note, has_attribute.then(|| b"mine".to_vec()));
}

#[test]
fn the_list_that_a_folder_gives_to_new_files_does_not_open_an_old_one() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("f");
    fs::write(&path, "old").unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).unwrap();
    set(folder.path(), "system.posix_acl_default", &list());
    write(&path, b"new").unwrap();
    assert_eq!(attribute(&path, ACL), None);
    assert_eq!(fs::metadata(&path).unwrap().mode() & 0o7777, 0o600);
}

#[test]
fn a_file_without_write_permission_is_not_replaced() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("f");
    fs::write(&path, "old").unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o444)).unwrap();
    let refused = write(&path, b"new").unwrap_err();
    assert_eq!(refused.kind(), io::ErrorKind::PermissionDenied);
    assert_eq!(fs::read(&path).unwrap(), b"old");
}

#[test]
fn what_is_written_in_place_is_the_same_file_with_all_of_its_content_new() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("f");
    fs::write(&path, "a longer text").unwrap();
    let old = FileStatus::at(&path).unwrap();
    let real = RealPath::of(&path).unwrap();
    let (parent, name) = real.open_parent().unwrap();
    let written = in_place(&parent, name, &old, b"new").unwrap();
    assert_eq!(written.id, old.id);
    assert_eq!(fs::read(&path).unwrap(), b"new");
    let other = folder.path().join("other");
    fs::write(&other, "other").unwrap();
    fs::rename(&other, &path).unwrap();
    assert!(in_place(&parent, name, &old, b"newer").is_err());
    assert_eq!(fs::read(&path).unwrap(), b"other");
}

#[test]
fn a_file_gets_its_name_also_where_every_file_has_one() {
    let folder = tempfile::tempdir().unwrap();
    let real = RealPath::of(&folder.path().join("f")).unwrap();
    let (parent, name) = real.open_parent().unwrap();
    for is_named in [true, false] {
        let mut new = New::make(&parent, NewFileAttributes::Usual, is_named).unwrap();
        fill(&mut new.file, b"new").unwrap();
        new.rename(real.as_path(), name, Place::Any).unwrap();
    }
    drop(New::make(&parent, NewFileAttributes::Usual, true).unwrap());
    let names: Vec<_> = fs::read_dir(folder.path()).unwrap().collect();
    assert_eq!(names.len(), 1);
}

#[test]
fn a_new_file_takes_the_place_of_no_other() {
    let folder = tempfile::tempdir().unwrap();
    let real = RealPath::of(&folder.path().join("deep/f")).unwrap();
    create_real(&real, b"one").unwrap();
    let refused = create_real(&real, b"two").unwrap_err();
    assert_eq!(refused.kind(), io::ErrorKind::AlreadyExists);
    assert_eq!(fs::read(real.as_path()).unwrap(), b"one");
    // Nothing is left beside it.
    let names = fs::read_dir(folder.path().join("deep")).unwrap();
    assert_eq!(names.count(), 1);
}
