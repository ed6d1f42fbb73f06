//! A place where commands and modules keep state that belongs to a server or to the process, found by its type.

use std::any::{Any, TypeId};
use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};
use std::sync::Arc;

use parking_lot::RwLock;

/// One value for each type, made on first use.
#[derive(Default)]
pub struct Extensions {
    map: RwLock<HashMap<TypeId, Arc<dyn Any + Send + Sync>, BuildHasherDefault<Given>>>,
}

/// The number of a type is spread well already; every request asks for several extensions.
#[derive(Default)]
struct Given(u64);

impl Hasher for Given {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        for &byte in bytes {
            self.0 = self.0.rotate_left(8) ^ u64::from(byte);
        }
    }

    fn write_u64(&mut self, n: u64) {
        self.0 = n;
    }
}

impl Extensions {
    /// The value of type `T`; `T::default()` on first use.
    pub fn get<T: Default + Send + Sync + 'static>(&self) -> Arc<T> {
        self.get_or(T::default)
    }

    /// The value of type `T`, made by `make` on first use. `make` must not ask for another extension.
    pub fn get_or<T: Send + Sync + 'static>(&self, make: impl FnOnce() -> T) -> Arc<T> {
        let id = TypeId::of::<T>();
        if let Some(found) = self.map.read().get(&id) {
            return Self::cast(Arc::clone(found));
        }
        let mut map = self.map.write();
        Self::cast(Arc::clone(
            map.entry(id).or_insert_with(|| Arc::new(make())),
        ))
    }

    /// The value of type `T`, if there is one.
    pub fn find<T: Send + Sync + 'static>(&self) -> Option<Arc<T>> {
        self.map
            .read()
            .get(&TypeId::of::<T>())
            .map(|v| Self::cast(Arc::clone(v)))
    }

    fn cast<T: Send + Sync + 'static>(value: Arc<dyn Any + Send + Sync>) -> Arc<T> {
        value
            .downcast::<T>()
            .unwrap_or_else(|_| unreachable!("entries are stored under the id of their type"))
    }
}
