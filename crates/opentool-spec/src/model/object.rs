//! How a described object is read and written without losing anything.
//!
//! The specs describe objects field by field, but real documents have more: unknown keys, an order of their own,
//! a `null` for an absent field. The `object!` macro makes a plain struct of typed fields that remembers
//! those three things and writes them back.

/// The order in which an object's members were read, where it is not the order of the spec.
///
/// Two objects that differ only in their layout are equal, as two JSON objects are.
#[derive(Clone, Default)]
pub(crate) struct Layout(Option<Box<[u8]>>);

/// One step of a layout: the index of a known field, that index with [`NULL`] set, or [`EXTRA`].
pub(crate) type Slot = u8;

/// A known field that was an explicit `null`.
pub(crate) const NULL: Slot = 0x80;
/// The next unknown key.
pub(crate) const EXTRA: Slot = 0x7f;

impl Layout {
    /// Keeps `slots` unless they are the default: the order of the spec, unknown keys last, no nulls.
    pub(crate) fn from_slots(slots: Vec<Slot>) -> Self {
        let canonical = slots.windows(2).all(|pair| pair[0] <= pair[1]) && slots.iter().all(|slot| *slot < NULL);
        Layout((!canonical).then(|| slots.into_boxed_slice()))
    }

    pub(crate) fn slots(&self) -> &[Slot] {
        self.0.as_deref().unwrap_or_default()
    }
}

impl PartialEq for Layout {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl std::fmt::Debug for Layout {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(if self.0.is_some() { "as read" } else { "as in the spec" })
    }
}

/// Declares an object of a spec: its typed fields, its unknown keys, and how serde reads and writes both in order.
///
/// A field is `required T`, `optional T` (an `Option<T>`), or `default T = VALUE` (absent means that value; always written).
macro_rules! object {
    (
        $(#[$meta:meta])*
        pub struct $Name:ident {
            $( $(#[$fmeta:meta])* $key:literal => $field:ident : $kind:ident $ty:ty $(= $default:expr)?, )*
        }
    ) => {
        $(#[$meta])*
        #[derive(Debug, Clone, PartialEq)]
        #[non_exhaustive]
        pub struct $Name {
            $( $(#[$fmeta])* pub $field: object!(@ty $kind $ty), )*
            /// The keys that the spec does not know, kept as they are.
            pub extra: $crate::map::Map,
            pub(crate) layout: $crate::model::object::Layout,
        }

        const _: () = {
            use $crate::model::object::{EXTRA, Layout, NULL, Slot};

            const KEYS: &[&str] = &[$($key),*];

            impl serde::Serialize for $Name {
                fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                    use serde::ser::SerializeMap as _;
                    let mut map = serializer.serialize_map(None)?;
                    let mut written = [false; KEYS.len()];
                    let mut extra = self.extra.iter();
                    for slot in self.layout.slots() {
                        if *slot == EXTRA {
                            if let Some((key, value)) = extra.next() {
                                map.serialize_entry(key, value)?;
                            }
                            continue;
                        }
                        let index = usize::from(*slot & !NULL);
                        written[index] = true;
                        self.write_field(index, *slot & NULL != 0, &mut map)?;
                    }
                    for index in 0..KEYS.len() {
                        if !written[index] {
                            self.write_field(index, false, &mut map)?;
                        }
                    }
                    for (key, value) in extra {
                        map.serialize_entry(key, value)?;
                    }
                    map.end()
                }
            }

            impl $Name {
                #[allow(unused_assignments, unused_variables)]
                fn write_field<M: serde::ser::SerializeMap>(
                    &self,
                    wanted: usize,
                    null: bool,
                    map: &mut M,
                ) -> Result<(), M::Error> {
                    let mut index = 0;
                    $(
                        if index == wanted {
                            return object!(@write $kind self.$field, $key, null, map);
                        }
                        index += 1;
                    )*
                    Ok(())
                }
            }

            impl<'de> serde::Deserialize<'de> for $Name {
                fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                    struct Reader;
                    impl<'de> serde::de::Visitor<'de> for Reader {
                        type Value = $Name;

                        fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                            f.write_str(concat!("a JSON object (", stringify!($Name), ")"))
                        }

                        #[allow(unused_assignments)]
                        fn visit_map<A: serde::de::MapAccess<'de>>(self, mut map: A) -> Result<$Name, A::Error> {
                            $( let mut $field: Option<object!(@ty $kind $ty)> = None; )*
                            let mut extra = $crate::map::Map::new();
                            let mut slots: Vec<Slot> = Vec::with_capacity(KEYS.len());
                            while let Some(key) = map.next_key::<$crate::model::object::Key<'de>>()? {
                                let key = key.as_str();
                                let mut index: Slot = 0;
                                $(
                                    if key == $key {
                                        #[allow(unused_mut)]
                                        let mut slot = index;
                                        object!(@read $kind $field, slot, map);
                                        if let Some(old) = slots.iter_mut().find(|old| **old & !NULL == index) {
                                            *old = slot;
                                        } else {
                                            slots.push(slot);
                                        }
                                        continue;
                                    }
                                    index += 1;
                                )*
                                if extra.insert(key.to_owned(), map.next_value()?).is_none() {
                                    slots.push(EXTRA);
                                }
                            }
                            Ok($Name {
                                $( $field: object!(@absent $kind $(($default))? $field, $key), )*
                                extra,
                                layout: Layout::from_slots(slots),
                            })
                        }
                    }
                    deserializer.deserialize_map(Reader)
                }
            }
        };
    };

    (@ty required $ty:ty) => { $ty };
    (@ty optional $ty:ty) => { Option<$ty> };
    (@ty default $ty:ty) => { $ty };

    (@write required $value:expr, $key:literal, $null:ident, $map:ident) => { $map.serialize_entry($key, &$value) };
    (@write default $value:expr, $key:literal, $null:ident, $map:ident) => { $map.serialize_entry($key, &$value) };
    (@write optional $value:expr, $key:literal, $null:ident, $map:ident) => {
        if $value.is_some() || $null { $map.serialize_entry($key, &$value) } else { Ok(()) }
    };

    (@read required $field:ident, $slot:ident, $map:ident) => { $field = Some($map.next_value()?) };
    (@read default $field:ident, $slot:ident, $map:ident) => { $field = Some($map.next_value()?) };
    (@read optional $field:ident, $slot:ident, $map:ident) => {
        let value: Option<_> = $map.next_value()?;
        if value.is_none() { $slot |= NULL; }
        $field = Some(value);
    };

    (@absent required $field:ident, $key:literal) => {
        $field.ok_or_else(|| serde::de::Error::missing_field($key))?
    };
    (@absent optional $field:ident, $key:literal) => { $field.flatten() };
    (@absent default ($default:expr) $field:ident, $key:literal) => { $field.unwrap_or($default) };
}
pub(crate) use object;

/// A member's name, borrowed from the text where it has no escapes.
#[derive(serde::Deserialize)]
#[serde(transparent)]
pub(crate) struct Key<'a>(#[serde(borrow)] std::borrow::Cow<'a, str>);

impl Key<'_> {
    pub(crate) fn as_str(&self) -> &str {
        &self.0
    }
}
