//! Options about TLS: versions, cipher suites, the client's certificates.

use serde_json::{Value, json};

use super::value::{OptionValue, field, shortened, shown};

/// A version of TLS.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum TlsVersion {
    /// `tls1.0`.
    V1_0,
    /// `tls1.1`.
    V1_1,
    /// `tls1.2`.
    V1_2,
    /// `tls1.3`.
    V1_3,
}

/// The versions that are offered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TlsRange {
    /// The lowest; `None`: any.
    pub min: Option<TlsVersion>,
    /// The highest; `None`: any.
    pub max: Option<TlsVersion>,
}

impl TlsVersion {
    fn name(self) -> &'static str {
        match self {
            Self::V1_0 => "tls1.0",
            Self::V1_1 => "tls1.1",
            Self::V1_2 => "tls1.2",
            Self::V1_3 => "tls1.3",
        }
    }
}

fn version(text: &str) -> Result<Option<TlsVersion>, String> {
    Ok(match text {
        "" => None,
        "tls1.0" => Some(TlsVersion::V1_0),
        "tls1.1" => Some(TlsVersion::V1_1),
        "tls1.2" => Some(TlsVersion::V1_2),
        "tls1.3" => Some(TlsVersion::V1_3),
        _ => {
            let text = shortened(text);
            return Err(format!("'{text}' is not a version: write tls1.0 to tls1.3"));
        }
    })
}

impl OptionValue for TlsRange {
    fn from_json(value: &Value) -> Result<Self, String> {
        if let Value::String(text) = value {
            return Self::from_text(text);
        }
        let entries = value.as_object();
        let entries = entries.ok_or_else(|| {
            format!("{} is not a version: write 'tls1.2' or {{min, max}}", shown(value))
        })?;
        let bound = |key: &str| match field(entries, key) {
            None => Ok(None),
            Some(value) => version(&String::from_json(value)?),
        };
        let (min, max) = (bound("min")?, bound("max")?);
        let is_range = min.zip(max).is_none_or(|(min, max)| min <= max);
        is_range.then_some(Self { min, max }).ok_or_else(|| "min is above max".to_owned())
    }

    fn from_text(text: &str) -> Result<Self, String> {
        let both = version(text)?;
        Ok(Self { min: both, max: both })
    }

    fn to_json(&self) -> Value {
        let (min, max) = (self.min.map(TlsVersion::name), self.max.map(TlsVersion::name));
        json!({ "min": min.unwrap_or_default(), "max": max.unwrap_or_default() })
    }
}

/// A cipher suite by the name that Go gives it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CipherSuite {
    /// Its name.
    pub name: &'static str,
    /// Its number in the registry of IANA.
    pub id: u16,
}

/// The suites that k6 knows by name.
pub const CIPHER_SUITES: [CipherSuite; 25] = [
    suite("TLS_RSA_WITH_RC4_128_SHA", 0x0005),
    suite("TLS_RSA_WITH_3DES_EDE_CBC_SHA", 0x000a),
    suite("TLS_RSA_WITH_AES_128_CBC_SHA", 0x002f),
    suite("TLS_RSA_WITH_AES_256_CBC_SHA", 0x0035),
    suite("TLS_RSA_WITH_AES_128_CBC_SHA256", 0x003c),
    suite("TLS_RSA_WITH_AES_128_GCM_SHA256", 0x009c),
    suite("TLS_RSA_WITH_AES_256_GCM_SHA384", 0x009d),
    suite("TLS_ECDHE_ECDSA_WITH_RC4_128_SHA", 0xc007),
    suite("TLS_ECDHE_ECDSA_WITH_AES_128_CBC_SHA", 0xc009),
    suite("TLS_ECDHE_ECDSA_WITH_AES_256_CBC_SHA", 0xc00a),
    suite("TLS_ECDHE_RSA_WITH_RC4_128_SHA", 0xc011),
    suite("TLS_ECDHE_RSA_WITH_3DES_EDE_CBC_SHA", 0xc012),
    suite("TLS_ECDHE_RSA_WITH_AES_128_CBC_SHA", 0xc013),
    suite("TLS_ECDHE_RSA_WITH_AES_256_CBC_SHA", 0xc014),
    suite("TLS_ECDHE_ECDSA_WITH_AES_128_CBC_SHA256", 0xc023),
    suite("TLS_ECDHE_RSA_WITH_AES_128_CBC_SHA256", 0xc027),
    suite("TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256", 0xc02f),
    suite("TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256", 0xc02b),
    suite("TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384", 0xc030),
    suite("TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384", 0xc02c),
    suite("TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256", 0xcca8),
    suite("TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256", 0xcca9),
    suite("TLS_AES_128_GCM_SHA256", 0x1301),
    suite("TLS_AES_256_GCM_SHA384", 0x1302),
    suite("TLS_CHACHA20_POLY1305_SHA256", 0x1303),
];

/// Names that mean one of the others.
const ALIASES: [(&str, &str); 2] = [
    ("TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305", "TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256"),
    ("TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305", "TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256"),
];

const fn suite(name: &'static str, id: u16) -> CipherSuite {
    CipherSuite { name, id }
}

impl OptionValue for Vec<CipherSuite> {
    fn from_json(value: &Value) -> Result<Self, String> {
        suites(&Vec::<String>::from_json(value)?)
    }

    fn from_text(text: &str) -> Result<Self, String> {
        suites(&Vec::<String>::from_text(text)?)
    }

    fn to_json(&self) -> Value {
        self.iter().map(|suite| suite.name).collect()
    }
}

fn suites(names: &[String]) -> Result<Vec<CipherSuite>, String> {
    let find = |name: &String| {
        let alias = ALIASES.iter().find(|(alias, _)| alias == name).map(|(_, name)| *name);
        let wanted = alias.unwrap_or(name);
        CIPHER_SUITES.iter().find(|suite| suite.name == wanted).copied().ok_or_else(|| {
            let name = shortened(name);
            format!("'{name}' is not a cipher suite: write one such as TLS_AES_128_GCM_SHA256")
        })
    };
    names.iter().map(find).collect()
}

/// A certificate of the client for some hosts.
#[derive(Clone, PartialEq, Eq)]
pub struct ClientCertificate {
    /// PEM.
    pub certificate: String,
    /// PEM.
    pub key: String,
    /// Decrypts the key.
    pub password: Option<String>,
    /// The hosts that it is for; without any, all.
    pub domains: Vec<String>,
}

/// Without the key and the password.
impl std::fmt::Debug for ClientCertificate {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ClientCertificate").field("domains", &self.domains).finish_non_exhaustive()
    }
}

impl OptionValue for Vec<ClientCertificate> {
    fn from_json(value: &Value) -> Result<Self, String> {
        let items = value.as_array().ok_or("it is not a list: write [{cert, key}]")?;
        items.iter().map(certificate).collect()
    }

    fn from_text(text: &str) -> Result<Self, String> {
        let json = serde_json::from_str(text);
        Self::from_json(&json.map_err(|_| "it is not JSON: write [{\"cert\":…,\"key\":…}]")?)
    }

    /// Without the keys.
    fn to_json(&self) -> Value {
        let entry = |it: &ClientCertificate| {
            let (certificate, domains) = (&it.certificate, &it.domains);
            json!({ "cert": certificate, "key": "****", "domains": domains })
        };
        self.iter().map(entry).collect()
    }
}

/// The text of a key is never shown.
fn certificate(value: &Value) -> Result<ClientCertificate, String> {
    let entries = value.as_object().ok_or("an entry is not an object: write {cert, key}")?;
    let text = |key: &str| match field(entries, key) {
        None => Ok(None),
        Some(Value::String(text)) => Ok(Some(text.clone())),
        Some(_) => Err(format!("{key} is not text: put it in quotes")),
    };
    let pem = |key: &str| {
        let given = text(key)?.filter(|text| text.contains("-----BEGIN "));
        given.ok_or_else(|| format!("{key} is not PEM: give what open() reads from the file"))
    };
    let domains = match field(entries, "domains") {
        None => Vec::new(),
        Some(value) => Vec::<String>::from_json(value)?,
    };
    Ok(ClientCertificate {
        certificate: pem("cert")?,
        key: pem("key")?,
        password: text("password")?,
        domains,
    })
}
