//! Makes of the flags for gRPC what is called, and compiles the schema that they name.

use std::fs;
use std::path::{Path, PathBuf};

use plimsoll_core::plan::error::{Message, given, name};
use plimsoll_core::plan::{Field, GrpcPlan, PlanError};
use plimsoll_grpc::{Schema, SchemaError, method_name_of};

use crate::fault::Fault;
use crate::files::text_of;
use crate::grpc_args::GrpcFlags;

/// The part of a plan that flags are; reads the files they name.
///
/// # Errors
/// A name that no method can have, files that can't be read, and what is wrong in them.
pub(crate) fn called(flags: &GrpcFlags) -> Result<Option<GrpcPlan>, Fault> {
    let Some(method) = &flags.grpc else { return Ok(None) };
    let method =
        method_name_of(method).map_err(|error| Fault::of(Field::Grpc, error.to_string()))?;
    if flags.proto.is_empty() && !flags.reflect {
        let problem = name(Field::Grpc) + " needs the schema of the method";
        let advice = Message::from("give ") + given(Field::Proto, "FILE") + " or ";
        let advice = advice + name(Field::Reflect);
        return Err(PlanError::new(Field::Grpc, problem, advice).into());
    }
    let (stream, messages) = (flags.grpc_stream, flags.grpc_messages);
    let called = GrpcPlan { stream, messages, ..GrpcPlan::new(method) };
    if flags.reflect {
        return Ok(Some(called));
    }
    let schema = compile(&flags.proto, &flags.proto_path).map_err(|error| match error {
        SchemaError::NoFile(_) => Fault::File(Field::Proto, error.to_string()),
        error => Fault::of(Field::Proto, error.to_string()),
    })?;
    let files = flags.proto.iter().map(|path| path.display().to_string()).collect();
    Ok(Some(GrpcPlan { files, descriptors: schema.descriptors(), ..called }))
}

/// Compiles files and what they import. A file is known by its name below the first of the folders
/// that it is in, as imports write it.
fn compile(files: &[PathBuf], folders: &[PathBuf]) -> Result<Schema, SchemaError> {
    let mut roots = folders.to_vec();
    let mut names = Vec::new();
    for file in files {
        names.push(name_below(file, &mut roots));
    }
    Schema::compile(&names, move |name| {
        let found = roots.iter().map(|root| root.join(name)).find(|path| path.is_file());
        found.map(|path| text_of(&path)).transpose()
    })
}

/// The name of a file below one of the folders. One that is in none of them, and is there, adds
/// its own.
fn name_below(file: &Path, roots: &mut Vec<PathBuf>) -> String {
    let whole = |path: &Path| fs::canonicalize(path).ok();
    let text = |path: &Path| path.to_string_lossy().into_owned();
    let Some(found) = whole(file).filter(|_| file.is_file()) else { return text(file) };
    let below = |root: &PathBuf| found.strip_prefix(whole(root)?).ok().map(text);
    if let Some(name) = roots.iter().find_map(below) {
        return name;
    }
    let folder = file.parent().filter(|folder| !folder.as_os_str().is_empty());
    roots.push(folder.unwrap_or_else(|| Path::new(".")).to_owned());
    file.file_name().map_or_else(|| text(file), |name| text(Path::new(name)))
}

#[cfg(test)]
mod tests {
    use super::*;

    const SERVICE: &str = "syntax = \"proto3\"; package p; import \"sub/m.proto\";\n\
                           service S { rpc M(p.A) returns (p.A); }\n";
    const MESSAGE: &str = "syntax = \"proto3\"; package p; message A { string a = 1; }\n";

    #[test]
    fn files_are_found_with_what_they_import() {
        let folder = tempfile::tempdir().expect("a folder");
        let at = |name: &str| folder.path().join(name);
        fs::create_dir(at("sub")).expect("a folder");
        fs::create_dir(at("other")).expect("a folder");
        for (name, text) in
            [("s.proto", SERVICE), ("sub/m.proto", MESSAGE), ("other/s.proto", SERVICE)]
        {
            fs::write(at(name), text).expect("a file");
        }
        let root = folder.path().to_owned();
        for (files, folders, want) in [
            (vec![at("s.proto")], vec![], Ok(())),
            (vec![at("s.proto"), at("sub/m.proto")], vec![], Ok(())),
            (vec![at("s.proto")], vec![root.clone()], Ok(())),
            (vec![PathBuf::from("s.proto")], vec![root.clone()], Ok(())),
            (vec![at("other/s.proto")], vec![root], Ok(())),
            (vec![at("other/s.proto")], vec![], Err("import 'sub/m.proto' not found")),
            (vec![at("none.proto")], vec![], Err("there is no file '")),
        ] {
            let compiled = compile(&files, &folders);
            match (compiled.and_then(|it| it.method("p.S/M")), want) {
                (Ok(_), Ok(())) => {}
                (Err(error), Err(part)) => assert!(error.to_string().contains(part), "{error}"),
                (got, want) => panic!("{files:?}: {got:?} and not {want:?}"),
            }
        }
    }
}
