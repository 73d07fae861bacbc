//! Schemas of gRPC for scripts: what compiles `.proto` files, and asks servers, as scripts know it.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError, Weak};

use plimsoll_grpc::reflection::{self, Step, Version};
use plimsoll_grpc::{Method, Schema};
use plimsoll_script::js::grpc::{self, Methods, ReadSource, SchemaSource, Schemas, Survey};

/// Where the schemas of a program come from.
#[must_use]
pub fn schemas() -> SchemaSource {
    SchemaSource::new(Arc::new(Compiler::default()))
}

/// Schemas that servers told of, by their descriptors: the VUs of a run all ask the same servers.
type Learned = HashMap<Vec<u8>, Weak<[Arc<dyn grpc::Method>]>>;

#[derive(Default)]
struct Compiler {
    learned: Arc<Mutex<Learned>>,
}

impl Schemas for Compiler {
    fn compile(&self, files: &[String], read: ReadSource) -> Result<Methods, String> {
        let schema = Schema::compile(files, read).map_err(|error| error.to_string())?;
        Ok(methods_of(&schema))
    }

    fn of_set(&self, bytes: &[u8]) -> Result<Methods, String> {
        let schema = Schema::read(bytes).map_err(|error| error.to_string())?;
        Ok(methods_of(&schema))
    }

    fn survey(&self, version: usize) -> Option<Box<dyn Survey>> {
        let version = *Version::ALL.get(version)?;
        let (survey, learned) = (reflection::Survey::new(), Arc::clone(&self.learned));
        Some(Box::new(Questions { version, survey, learned }))
    }
}

fn methods_of(schema: &Schema) -> Methods {
    schema
        .all_methods()
        .map(|method| Arc::new(Known::new(method)) as Arc<dyn grpc::Method>)
        .collect()
}

struct Known {
    method: Method,
    path: String,
    package: String,
    service: String,
    name: String,
}

impl Known {
    fn new(method: Method) -> Self {
        let (path, package) = (method.path(), method.package());
        let (service, name) = (method.service(), method.name());
        Self { method, path, package, service, name }
    }
}

impl grpc::Method for Known {
    fn path(&self) -> &str {
        &self.path
    }

    fn package(&self) -> &str {
        &self.package
    }

    fn service(&self) -> &str {
        &self.service
    }

    fn name(&self) -> &str {
        &self.name
    }

    fn streams(&self) -> (bool, bool) {
        use plimsoll_grpc::Kind;
        match self.method.kind() {
            Kind::Unary => (false, false),
            Kind::Server => (false, true),
            Kind::Client => (true, false),
            Kind::Bidi => (true, true),
        }
    }

    fn encode(&self, json: &str) -> Result<Vec<u8>, String> {
        self.method.encode(json).map_err(|error| error.to_string())
    }

    fn decode(&self, message: &[u8]) -> Result<String, String> {
        self.method.whole_json(message).map_err(|error| error.to_string())
    }

    fn details(&self, value: &[u8]) -> Option<(String, Vec<String>)> {
        let read = self.method.status_details(value)?;
        Some((read.message, read.details))
    }
}

struct Questions {
    version: Version,
    survey: reflection::Survey,
    learned: Arc<Mutex<Learned>>,
}

impl Survey for Questions {
    fn path(&self) -> &'static str {
        self.version.path()
    }

    fn question(&self) -> Vec<u8> {
        let mut question = Vec::new();
        self.survey.write_request(&mut question);
        question
    }

    fn answer(&mut self, answer: &[u8]) -> Result<bool, String> {
        let step = self.survey.response(answer).map_err(|error| error.to_string())?;
        Ok(step == Step::Whole)
    }

    fn methods(self: Box<Self>) -> Result<Methods, String> {
        let schema = self.survey.into_schema().map_err(|error| error.to_string())?;
        let key = schema.descriptors();
        let mut learned = self.learned.lock().unwrap_or_else(PoisonError::into_inner);
        learned.retain(|_, methods| methods.strong_count() > 0);
        if let Some(methods) = learned.get(&key).and_then(Weak::upgrade) {
            return Ok(methods);
        }
        let methods = methods_of(&schema);
        learned.insert(key, Arc::downgrade(&methods));
        Ok(methods)
    }
}
