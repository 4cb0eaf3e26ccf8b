//! A folder for the files of one test.

use std::fs;
use std::ops::Deref;
use std::path::{Path, PathBuf};

use super::unique_name;

/// Deleted when dropped.
#[derive(Debug)]
pub struct Folder(PathBuf);

impl Folder {
    pub fn create() -> Self {
        let path = std::env::temp_dir().join(unique_name());
        fs::create_dir(&path).unwrap();
        Self(path)
    }

    /// The path of a file in the folder, as text.
    pub fn file(&self, name: &str) -> String {
        self.join(name).to_str().unwrap().to_owned()
    }
}

impl Deref for Folder {
    type Target = Path;

    fn deref(&self) -> &Path {
        &self.0
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}
