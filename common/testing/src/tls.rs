//! Certificates for tests, and the authority that signs them.

use std::os::unix::fs::chown;
use std::path::{Path, PathBuf};

use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, DnType, IsCa, KeyPair};

use super::{Folder, unique_name};

/// Its files are deleted when it is dropped.
#[derive(Debug)]
pub struct Authority {
    dir: Folder,
    issuer: CertifiedIssuer<'static, KeyPair>,
}

/// A server's certificate and key, as files.
#[derive(Debug, Clone)]
pub struct Certificate {
    pub certificate: PathBuf,
    pub key: PathBuf,
}

impl Authority {
    pub fn new() -> Self {
        let dir = Folder::create();
        let mut params = CertificateParams::new(Vec::new()).unwrap();
        // The name is unique, because two authorities of one name would differ only in their signatures.
        params.distinguished_name.push(DnType::CommonName, unique_name());
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let issuer = CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap();
        std::fs::write(dir.join("ca.pem"), issuer.pem()).unwrap();
        Self { dir, issuer }
    }

    /// The file with the authority's own certificate.
    pub fn file(&self) -> String {
        self.dir.file("ca.pem")
    }

    /// A certificate for servers of this machine at `127.0.0.1` and under no other name.
    pub fn certificate(&self) -> Certificate {
        let key = KeyPair::generate().unwrap();
        let params = CertificateParams::new(vec!["127.0.0.1".to_owned()]).unwrap();
        let certificate = params.signed_by(&key, &self.issuer).unwrap();
        let name = unique_name();
        let files = Certificate {
            certificate: self.dir.join(format!("{name}.pem")),
            key: self.dir.join(format!("{name}.key")),
        };
        std::fs::write(&files.certificate, certificate.pem()).unwrap();
        std::fs::write(&files.key, key.serialize_pem()).unwrap();
        files
    }
}

impl Default for Authority {
    fn default() -> Self {
        Self::new()
    }
}

impl Certificate {
    /// A copy in `dir` that only `owner` can read, as PostgreSQL requires. `owner` is user and group, if they
    /// differ from those of the tests.
    pub(super) fn copy_to(&self, dir: &Path, owner: Option<(u32, u32)>) -> Self {
        use std::os::unix::fs::PermissionsExt;
        let copy = Self {
            certificate: dir.join("server.pem"),
            key: dir.join("server.key"),
        };
        std::fs::copy(&self.certificate, &copy.certificate).unwrap();
        std::fs::copy(&self.key, &copy.key).unwrap();
        std::fs::set_permissions(&copy.key, std::fs::Permissions::from_mode(0o600)).unwrap();
        if let Some((user, group)) = owner {
            chown(&copy.certificate, Some(user), Some(group)).unwrap();
            chown(&copy.key, Some(user), Some(group)).unwrap();
        }
        copy
    }
}
