//! What services, methods and messages there are: compiled from `.proto` files, or put together
//! from the descriptors that a server hands out.

use std::path::Path;

use plimsoll_core::nearest::did_you_mean;
use prost_reflect::{DescriptorPool, MethodDescriptor};
use protox::file::{ChainFileResolver, File, FileResolver, GoogleFileResolver};

use crate::method::{Method, method_name};
use crate::text::one_line;
use crate::wire;

/// How many names an error lists.
const LISTED_MAX: usize = 20;

/// Why there is no schema, or no such method in it. Each is one line.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SchemaError {
    /// A file is not there.
    #[error("there is no file '{0}' in the folders that were given")]
    NoFile(String),
    /// A file is not as it should be: its name, the line, the column, and what is wrong.
    #[error("{0}")]
    Source(String),
    /// The name of a method has no service in it.
    #[error("'{0}' does not name a method: write package.Service/Method")]
    Name(String),
    /// There is no such method.
    #[error("there is no method '{name}'{advice}")]
    NoMethod {
        /// What was asked for.
        name: String,
        /// What was meant, and what there is.
        advice: String,
    },
}

/// Services and the messages that they take and give.
#[derive(Debug, Clone)]
pub struct Schema {
    pool: DescriptorPool,
}

/// Reads sources through a function of the caller.
struct Sources<F>(F);

impl<F: Fn(&str) -> Result<Option<String>, String>> FileResolver for Sources<F> {
    fn resolve_path(&self, path: &Path) -> Option<String> {
        path.to_str().map(str::to_owned)
    }

    fn open_file(&self, name: &str) -> Result<File, protox::Error> {
        match (self.0)(name) {
            Ok(Some(source)) => File::from_source(name, &source),
            Ok(None) => Err(protox::Error::file_not_found(name)),
            Err(reason) => Err(protox::Error::new(format!("{name}: {reason}"))),
        }
    }
}

impl Schema {
    /// Compiles files and what they import. `read` is given a name as imports write it, and returns
    /// the source, `None` if there is no such file, or why it can't be read. The files below
    /// `google/protobuf` need not be there.
    ///
    /// # Errors
    /// When a file is missing or wrong.
    pub fn compile(
        files: &[String],
        read: impl Fn(&str) -> Result<Option<String>, String> + 'static,
    ) -> Result<Self, SchemaError> {
        let mut sources = ChainFileResolver::new();
        sources.add(Sources(read));
        sources.add(GoogleFileResolver::new());
        let mut compiler = protox::Compiler::with_file_resolver(sources);
        for file in files {
            compiler.open_file(file).map_err(|error| source_error(file, &error))?;
        }
        Ok(Self { pool: compiler.descriptor_pool() })
    }

    /// Takes files as a server hands them out, each a serialized `FileDescriptorProto`. The files
    /// below `google/protobuf` need not be among them. No two may have the same name.
    ///
    /// # Errors
    /// When they are not descriptors, or something that they name is missing.
    pub(crate) fn of_descriptors<'a>(
        files: impl Iterator<Item = &'a [u8]>,
    ) -> Result<Self, SchemaError> {
        let mut set = Vec::new();
        for file in files {
            wire::write_bytes(&mut set, 1, file);
        }
        let mut pool = DescriptorPool::global();
        let wrong = |error| SchemaError::Source(one_line(&format!("{error:?}")));
        pool.decode_file_descriptor_set(set.as_slice()).map_err(wrong)?;
        Ok(Self { pool })
    }

    /// Takes a schema as [`descriptors`](Self::descriptors) gives it.
    ///
    /// # Errors
    /// When the bytes are not a whole one.
    pub fn read(descriptors: &[u8]) -> Result<Self, SchemaError> {
        let wrong = |error| SchemaError::Source(one_line(&format!("{error:?}")));
        Ok(Self { pool: DescriptorPool::decode(descriptors).map_err(wrong)? })
    }

    /// All of it, a serialized `FileDescriptorSet`.
    #[must_use]
    pub fn descriptors(&self) -> Vec<u8> {
        self.pool.encode_to_vec()
    }

    /// The method of this name, `package.Service/Method` or `package.Service.Method`.
    ///
    /// # Errors
    /// When there is none, with the nearest name and a list of what there is.
    pub fn method(&self, name: &str) -> Result<Method, SchemaError> {
        let MethodName { service, method } = MethodName::read(name)?;
        let service = self.pool.get_service_by_name(service);
        let found = service.and_then(|it| it.methods().find(|known| known.name() == method));
        let missing = || {
            let names: Vec<String> = self.methods().map(|it| method_name(&it)).collect();
            SchemaError::NoMethod { name: name.to_owned(), advice: advice(name, &names) }
        };
        found.map(Method::new).ok_or_else(missing)
    }

    /// All methods, service by service.
    pub fn all_methods(&self) -> impl Iterator<Item = Method> {
        self.methods().map(Method::new)
    }

    fn methods(&self) -> impl Iterator<Item = MethodDescriptor> {
        self.pool.services().flat_map(|service| service.methods().collect::<Vec<_>>())
    }

    pub(crate) fn pool(&self) -> &DescriptorPool {
        &self.pool
    }
}

/// The name of a method in the form `package.Service/Method`, also of one with a slash before it or
/// a dot in it.
///
/// # Errors
/// When it does not name a method.
pub fn method_name_of(name: &str) -> Result<String, SchemaError> {
    let MethodName { service, method } = MethodName::read(name)?;
    Ok(format!("{service}/{method}"))
}

/// The parts of a method's name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct MethodName<'a> {
    /// With its package.
    pub(crate) service: &'a str,
    pub(crate) method: &'a str,
}

impl<'a> MethodName<'a> {
    pub(crate) fn read(name: &'a str) -> Result<Self, SchemaError> {
        let path = name.strip_prefix('/').unwrap_or(name);
        let parts = path.rsplit_once('/').or_else(|| path.rsplit_once('.'));
        match parts {
            Some((service, method)) if !service.is_empty() && !method.is_empty() => {
                Ok(Self { service, method })
            }
            _ => Err(SchemaError::Name(name.to_owned())),
        }
    }
}

/// The end of a message that refuses an unknown name: what was meant, and what there is.
pub(crate) fn advice(name: &str, known: &[String]) -> String {
    if known.is_empty() {
        return ": there are none at all".to_owned();
    }
    let meant = did_you_mean(name, known.iter().map(String::as_str));
    let listed = known.iter().take(LISTED_MAX).map(String::as_str).collect::<Vec<_>>().join(", ");
    let more = match known.len().saturating_sub(LISTED_MAX) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    match meant.as_str() {
        "" => format!(": there are {listed}{more}"),
        meant => format!("{meant} There are {listed}{more}"),
    }
}

fn source_error(file: &str, error: &protox::Error) -> SchemaError {
    // The file itself is missing, not one that it imports.
    if error.is_file_not_found() && error.file().is_none() {
        return SchemaError::NoFile(file.to_owned());
    }
    // Only the debug form has the line and the column, where there is one.
    let text = match error.file() {
        Some(file) => {
            let text = format!("{error:?}");
            if text.starts_with(file) { text } else { format!("{file}: {text}") }
        }
        None => error.to_string(),
    };
    SchemaError::Source(one_line(&text))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn compile(files: &[(&'static str, &'static str)]) -> Result<Schema, SchemaError> {
        let known = files.to_vec();
        Schema::compile(&["a.proto".to_owned()], move |name| match name {
            "locked.proto" => Err("permission denied".to_owned()),
            name => Ok(known.iter().find(|(it, _)| *it == name).map(|(_, text)| (*text).into())),
        })
    }

    #[test]
    fn wrong_files_are_refused_with_line_and_column() {
        for (files, want) in [
            (vec![], "there is no file 'a.proto' in the folders that were given"),
            (
                vec![("a.proto", "syntax = \"proto3\";\nmessage A {\n  int32 a 1;\n}")],
                "a.proto:3:11: expected '=', but found '1'",
            ),
            (
                vec![("a.proto", "syntax = \"proto3\";\nmessage A { B b = 1; }")],
                "a.proto:2:13: name 'B' is not defined",
            ),
            (
                vec![("a.proto", "syntax = \"proto3\";\n\nimport \"b.proto\";")],
                "a.proto:3:1: import 'b.proto' not found",
            ),
            (
                vec![
                    ("a.proto", "syntax = \"proto3\";\nimport \"b.proto\";"),
                    ("b.proto", "syntax = \"proto3\"; message"),
                ],
                "b.proto: expected an identifier, but reached end of file",
            ),
            (
                vec![("a.proto", "import \"a.proto\";")],
                "a.proto: import cycle detected: a.proto -> a.proto",
            ),
            (vec![("a.proto", "import \"locked.proto\";")], "locked.proto: permission denied"),
        ] {
            let error = compile(&files).expect_err("is wrong").to_string();
            assert_eq!(error, want, "{files:?}");
        }
    }

    #[test]
    fn methods_are_found_by_name_and_missing_ones_explained() {
        let source = "syntax = \"proto3\"; package p.q; message M {} message N {}
            service S { rpc Unary(M) returns (N); rpc Server(M) returns (stream N);
                        rpc Client(stream M) returns (N); rpc Bidi(stream M) returns (stream N); }";
        let schema = compile(&[("a.proto", source)]).expect("compiles");
        for (name, kind) in [
            ("p.q.S/Unary", "unary"),
            ("/p.q.S/Server", "server"),
            ("p.q.S.Client", "client"),
            ("p.q.S/Bidi", "bidi"),
        ] {
            assert_eq!(schema.method(name).expect(name).kind().name(), kind);
        }
        let all = "p.q.S/Unary, p.q.S/Server, p.q.S/Client, p.q.S/Bidi";
        for (name, want) in [
            (
                "p.q.S/Unari",
                format!(
                    "there is no method 'p.q.S/Unari': did you mean 'p.q.S/Unary'? There are {all}"
                ),
            ),
            ("x.Other/Thing", format!("there is no method 'x.Other/Thing': there are {all}")),
            ("Unary", "'Unary' does not name a method: write package.Service/Method".to_owned()),
            ("p.q.S/", "'p.q.S/' does not name a method: write package.Service/Method".to_owned()),
        ] {
            assert_eq!(schema.method(name).expect_err(name).to_string(), want);
        }
        let empty = compile(&[("a.proto", "syntax = \"proto3\";")]).expect("compiles");
        let error = empty.method("a.B/C").expect_err("is empty").to_string();
        assert_eq!(error, "there is no method 'a.B/C': there are none at all");
        let many: Vec<String> = (0..25).map(|number| format!("s/{number}")).collect();
        let listed = advice("other", &many);
        assert!(listed.ends_with("s/18, s/19 and 5 more"), "{listed}");
    }
}
