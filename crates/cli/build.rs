//! How the binary is linked.

use std::path::{Path, PathBuf};
use std::process::Command;

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-env-changed=CXX");
    let target = |name: &str| std::env::var(format!("CARGO_CFG_TARGET_{name}"));
    if target("OS").as_deref() == Ok("linux") && target("ENV").as_deref() == Ok("gnu") {
        // A megabyte of relocations, which the dynamic linker reads in both processes of a
        // host, becomes some 10 KB. A linker that does not know this says so and goes on.
        println!("cargo::rustc-link-arg-bins=-Wl,-z,pack-relative-relocs");
        link_libstdcxx();
        // Cargo takes only debugging information from a package with an `opt-level` of its
        // own, whatever the profile says.
        if std::env::var("PROFILE").as_deref() == Ok("release") {
            println!("cargo::rustc-link-arg-bins=-Wl,--strip-all");
        }
    }
}

/// Takes the C++ library, of which Luau needs little, into the binary where the compiler
/// has it for that: as a shared one it is half a megabyte in each of the two processes.
fn link_libstdcxx() {
    let native = std::env::var("HOST").ok() == std::env::var("TARGET").ok();
    let (Some(archive), Ok(out)) = (native.then(archive).flatten(), std::env::var("OUT_DIR"))
    else {
        return;
    };
    // A folder with nothing else in it, so that the linker finds it before the shared one.
    let folder = Path::new(&out).join("static");
    let place = folder.join("libstdc++.a");
    let linked = std::fs::create_dir_all(&folder).and_then(|()| {
        if place.exists() {
            Ok(0)
        } else {
            std::fs::copy(archive, &place)
        }
    });
    if linked.is_ok() {
        println!("cargo::rustc-link-search=native={}", folder.display());
    }
}

/// Where the compiler has the library for linking into a program.
fn archive() -> Option<PathBuf> {
    let compiler = std::env::var("CXX").unwrap_or_else(|_| "c++".to_owned());
    let said = Command::new(compiler)
        .arg("-print-file-name=libstdc++.a")
        .output()
        .ok()?;
    let path = PathBuf::from(String::from_utf8(said.stdout).ok()?.trim());
    // Of a file that it does not have it repeats the name.
    (path.is_absolute() && path.exists()).then_some(path)
}
