//! Builds LuaJIT from its vendored source, with a C compiler and make, and what interrupts it.
//!
//! The crate that binds Lua could build LuaJIT too, but gives no way to set compile-time options,
//! and one is needed: without `LUAJIT_ENABLE_CHECKHOOK` a loop that was compiled to machine code
//! never looks whether it should stop.

use std::env;

const OPTION: &str = "-DLUAJIT_ENABLE_CHECKHOOK";

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-changed=src/lua/interrupt.c");

    let flags = env::var("TARGET_CFLAGS").unwrap_or_default();
    // SAFETY: this program has one thread at this point, so nobody reads the environment meanwhile.
    unsafe { env::set_var("TARGET_CFLAGS", format!("{flags} {OPTION}")) };
    let lua = luajit_src::Build::new().debug(false).build();

    println!("cargo::rustc-link-search=native={}", lua.lib_dir().display());
    // Whole, because the crate with the bindings comes later in a linker's order than this one.
    for library in lua.libs() {
        println!("cargo::rustc-link-lib=static:+whole-archive={library}");
    }
    // Beside the interface, what interrupts it needs LuaJIT's own headers: those of the copy that
    // was just built.
    let built = lua.include_dir().with_file_name("luajit-build").join("src");
    cc::Build::new().file("src/lua/interrupt.c").include(built).compile("plimsoll_interrupt");
}
