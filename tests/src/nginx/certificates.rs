//! A certificate for this machine, and an authority of its own that signs it.

use rcgen::{BasicConstraints, CertificateParams, IsCa, Issuer, KeyPair};

/// A server's certificate and who signed it, in PEM form.
#[derive(Clone, Debug)]
pub struct Certificates {
    authority: String,
    chain: String,
    key: String,
}

impl Certificates {
    pub(super) fn new() -> Self {
        let key = || KeyPair::generate().expect("a key");
        let names = ["localhost".to_owned(), "127.0.0.1".to_owned()];
        let (authority_key, server_key) = (key(), key());
        let mut authority = CertificateParams::default();
        authority.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let root = authority.self_signed(&authority_key);
        let issuer = Issuer::new(authority, authority_key);
        let server = CertificateParams::new(names).expect("names");
        let server = server.signed_by(&server_key, &issuer);
        Self {
            authority: root.expect("a certificate").pem(),
            chain: server.expect("a certificate").pem(),
            key: server_key.serialize_pem(),
        }
    }

    /// The authority's certificate, which clients have to trust.
    #[must_use]
    pub fn authority(&self) -> &str {
        &self.authority
    }

    pub(super) fn chain(&self) -> &str {
        &self.chain
    }

    pub(super) fn key(&self) -> &str {
        &self.key
    }
}
