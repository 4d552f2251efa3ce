//! How the binary is linked.

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    let target = |name: &str| std::env::var(format!("CARGO_CFG_TARGET_{name}"));
    // A megabyte of relocations, which the dynamic linker reads in both processes of a
    // host, becomes some 10 KB. A linker that does not know this says so and goes on.
    if target("OS").as_deref() == Ok("linux") && target("ENV").as_deref() == Ok("gnu") {
        println!("cargo::rustc-link-arg-bins=-Wl,-z,pack-relative-relocs");
    }
}
