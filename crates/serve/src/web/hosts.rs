//! The names under which the server may be addressed. Pure.

/// The accepted values of the `Host` header. A page of another site that points its own name at this
/// machine (DNS rebinding) is refused by it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Hosts {
    own: Vec<String>,
    named: Vec<String>,
}

impl Hosts {
    /// The names of the loopback interface with a port, and names that a person gave: `HOST`, which
    /// accepts any port, or `HOST:PORT`.
    pub fn new(port: u16, named: &[String]) -> Hosts {
        let own = ["127.0.0.1", "localhost", "[::1]"];
        Hosts {
            own: own.iter().map(|host| format!("{host}:{port}")).collect(),
            named: named.iter().map(|host| host.to_ascii_lowercase()).collect(),
        }
    }

    /// Whether requests for this host are for this server.
    pub fn accept(&self, host: &str) -> bool {
        let host = host.to_ascii_lowercase();
        self.own.contains(&host) || self.is_named(&host)
    }

    /// Whether an `Origin` is that of a page of this server under the host of its request.
    pub fn is_own_origin(&self, origin: &str, host: &str) -> bool {
        let (origin, host) = (origin.to_ascii_lowercase(), host.to_ascii_lowercase());
        let is = |scheme: &str| origin.strip_prefix(scheme).is_some_and(|rest| rest == host);
        // A proxy in front of a named host adds the encryption.
        is("http://") || (is("https://") && self.is_named(&host))
    }

    fn is_named(&self, host: &str) -> bool {
        let without_port = match host.rsplit_once(':') {
            Some((name, port)) if !port.is_empty() && port.bytes().all(|b| b.is_ascii_digit()) => {
                name
            }
            _ => host,
        };
        self.named.iter().any(|named| named == host || named == without_port)
    }
}
