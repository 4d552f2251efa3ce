#![allow(clippy::unwrap_used)]

use std::ffi::OsStr;
use std::fs::{self, OpenOptions};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

use super::*;
use crate::paths::canonicalize;

/// A folder that is removed at the end of the test, and its path without links.
fn place() -> (tempfile::TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let path = canonicalize(folder.path()).unwrap();
    (folder, path)
}

fn name(name: &str) -> &OsStr {
    OsStr::new(name)
}

/// Makes a link to a folder, also where only junctions are permitted. Returns false if that failed.
fn link_folder(target: &Path, link: &Path) -> bool {
    let (parent, last) = (link.parent().unwrap(), link.file_name().unwrap());
    let parent = OpenFolder::open(parent, FolderAccess::Lookup).unwrap();
    // Wine says that it has made a link, and makes none.
    parent.make_link(target, last).is_ok() && link.is_symlink()
}

fn names(folder: &OpenFolder) -> Vec<(String, FileKind)> {
    let entries = folder.entries().unwrap().map(Result::unwrap);
    let named = entries.map(|it| (it.name.to_string_lossy().into_owned(), it.kind));
    let mut named: Vec<_> = named.collect();
    named.sort_by(|a, b| a.0.cmp(&b.0));
    named
}

#[test]
fn a_folder_finds_what_is_below_it() {
    let (_folder, path) = place();
    fs::create_dir_all(path.join("a/b")).unwrap();
    fs::write(path.join("a/b/f"), "text").unwrap();
    let folder = OpenFolder::open(&path.join("a"), FolderAccess::List).unwrap();
    assert_eq!(names(&folder), [("b".to_owned(), FileKind::Folder)]);
    let mut text = String::new();
    let mut file = folder.file(Path::new("b/f")).unwrap();
    file.read_to_string(&mut text).unwrap();
    assert_eq!(text, "text");
    let inner = folder.folder(Path::new("b"), FolderAccess::List).unwrap();
    assert_eq!(names(&inner), [("f".to_owned(), FileKind::File)]);
    let status = inner.status(name("f")).unwrap();
    assert_eq!((status.kind, status.size), (FileKind::File, 4));
    assert_eq!(status.id, FileStatus::at(&path.join("a/b/f")).unwrap().id);
    let same = folder.folder(Path::new(""), FolderAccess::List).unwrap();
    assert_eq!(
        same.own_status().unwrap().id,
        folder.own_status().unwrap().id
    );
    for missing in [folder.status(name("g")), inner.status(name("b"))] {
        assert_eq!(missing.unwrap_err().kind(), io::ErrorKind::NotFound);
    }
}

#[test]
fn a_path_that_leads_upwards_leads_nowhere() {
    let (_folder, path) = place();
    fs::create_dir(path.join("a")).unwrap();
    fs::write(path.join("f"), "").unwrap();
    let folder = OpenFolder::open(&path.join("a"), FolderAccess::List).unwrap();
    assert!(folder.file(Path::new("../f")).is_err());
    assert!(folder.folder(Path::new(".."), FolderAccess::List).is_err());
}

#[test]
fn no_link_is_followed() {
    let (_folder, path) = place();
    fs::create_dir(path.join("there")).unwrap();
    fs::write(path.join("there/f"), "").unwrap();
    if !link_folder(&path.join("there"), &path.join("link")) {
        return;
    }
    let folder = OpenFolder::open(&path, FolderAccess::List).unwrap();
    assert_eq!(folder.status(name("link")).unwrap().kind, FileKind::Link);
    assert_eq!(folder.read_link(name("link")).unwrap(), path.join("there"));
    assert!(
        folder
            .folder(Path::new("link"), FolderAccess::Lookup)
            .is_err()
    );
    assert!(folder.file(Path::new("link/f")).is_err());
    assert!(OpenFolder::open(&path.join("link"), FolderAccess::Lookup).is_err());
    assert!(OpenFolder::open_last(&path.join("link")).is_err());
    assert!(open_no_link(&path.join("link")).is_err());
    // Removing the link leaves its target.
    folder.remove_file(name("link")).unwrap();
    assert!(path.join("there/f").exists());
}

#[test]
fn an_open_folder_is_the_same_whatever_becomes_of_its_name() {
    let (_folder, path) = place();
    fs::create_dir(path.join("a")).unwrap();
    fs::create_dir(path.join("b")).unwrap();
    fs::write(path.join("a/f"), "of a").unwrap();
    fs::write(path.join("b/f"), "of b").unwrap();
    let folder = OpenFolder::open(&path.join("a"), FolderAccess::Lookup).unwrap();
    // Either the system refuses, or the folder moves with its content.
    if fs::rename(path.join("a"), path.join("c")).is_ok() {
        fs::rename(path.join("b"), path.join("a")).unwrap();
    }
    let mut text = String::new();
    let mut file = folder.file(Path::new("f")).unwrap();
    file.read_to_string(&mut text).unwrap();
    assert_eq!(text, "of a");
}

#[test]
fn a_file_is_created_and_renamed_only_where_none_is() {
    let (_folder, path) = place();
    let folder = OpenFolder::open(&path, FolderAccess::List).unwrap();
    let usual = NewFileAttributes::Usual;
    folder
        .create(name("one"), usual)
        .unwrap()
        .write_all(b"1")
        .unwrap();
    let again = folder.create(name("one"), usual).unwrap_err();
    assert_eq!(again.kind(), io::ErrorKind::AlreadyExists);
    folder
        .create(name("two"), usual)
        .unwrap()
        .write_all(b"2")
        .unwrap();
    let refused = folder.rename_to_free(name("two"), &folder, name("one"));
    assert_eq!(refused.unwrap_err().kind(), io::ErrorKind::AlreadyExists);
    folder
        .rename_to_free(name("two"), &folder, name("three"))
        .unwrap();
    assert!(!path.join("two").exists());
    folder.rename(name("three"), name("one")).unwrap();
    assert_eq!(fs::read(path.join("one")).unwrap(), b"2");
    assert_eq!(names(&folder).len(), 1);
}

#[test]
fn a_file_that_replaces_another_can_have_its_attributes() {
    let (_folder, path) = place();
    fs::write(path.join("old"), "old").unwrap();
    let folder = OpenFolder::open(&path, FolderAccess::Lookup).unwrap();
    let old = folder.file_to_replace(name("old")).unwrap();
    let before = old.status().unwrap();
    let new = folder.create(name("new"), NewFileAttributes::Like(&old));
    new.unwrap().write_all(b"new").unwrap();
    folder.rename(name("new"), name("old")).unwrap();
    let after = folder.status(name("old")).unwrap();
    assert_eq!((after.mode, after.size), (before.mode, 3));
    assert_ne!(after.id, before.id);
}

#[test]
fn a_file_without_write_permission_has_no_bit_for_it() {
    let (_folder, path) = place();
    fs::write(path.join("f"), "").unwrap();
    let folder = OpenFolder::open(&path, FolderAccess::Lookup).unwrap();
    let mode = |mode| {
        folder.set_permissions(name("f"), mode).unwrap();
        folder.status(name("f")).unwrap().permissions()
    };
    assert_eq!(mode(0o444), 0o444);
    assert_eq!(mode(0o644), 0o644);
}

#[test]
fn a_change_shows_in_the_status() {
    let (_folder, path) = place();
    let file = path.join("f");
    fs::write(&file, "one").unwrap();
    let one = FileStatus::at(&file).unwrap();
    assert_eq!(FileStatus::at(&file).unwrap(), one);
    fs::write(path.join("g"), "two").unwrap();
    fs::rename(path.join("g"), &file).unwrap();
    let two = FileStatus::at(&file).unwrap();
    assert_ne!(two.id, one.id);
    fs::hard_link(&file, path.join("h")).unwrap();
    let linked = FileStatus::at(&path.join("h")).unwrap();
    assert_eq!((linked.id, linked.links), (two.id, two.links + 1));
}

#[test]
fn bytes_are_read_at_a_position_of_a_file_that_grows() {
    let (_folder, path) = place();
    let mut options = OpenOptions::new();
    let options = options.create(true).read(true).append(true).private();
    let mut file = options.open(path.join("f")).unwrap();
    file.write_all(b"abc").unwrap();
    let mut byte = [0];
    read_exact_at(&file, &mut byte, 1).unwrap();
    assert_eq!(byte, *b"b");
    file.write_all(b"d").unwrap();
    assert_eq!(fs::read(path.join("f")).unwrap(), b"abcd");
    assert!(read_exact_at(&file, &mut byte, 4).is_err());
}

#[test]
fn private_folders_are_made_once() {
    let (_folder, path) = place();
    make_private_folders(&path.join("a/b")).unwrap();
    make_private_folders(&path.join("a/b")).unwrap();
    restrict_folder(&path.join("a/b")).unwrap();
    let again = make_private_folder(&path.join("a")).unwrap_err();
    assert_eq!(again.kind(), io::ErrorKind::AlreadyExists);
}
