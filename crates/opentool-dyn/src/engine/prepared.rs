//! A function that is ready to be called: [`Prepared`].

use std::ffi::c_void;
use std::ptr;

use libffi::low::{self, ffi_abi, ffi_abi_FFI_DEFAULT_ABI, ffi_cif, ffi_type, types};
use libffi::raw::ffi_call;

use super::struct_type::StructType;
use crate::machine_type::type_of_machine;
use crate::memory::word_of;
use crate::plan::{Function, Machine, Passing, Returned, StructLayout};

/// An address in the library that is code.
pub(crate) type CodePointer = unsafe extern "C" fn();

/// A function of the library with libffi's description of how it is called.
#[derive(Debug)]
pub(crate) struct Prepared {
    code: CodePointer,
    cif: Box<ffi_cif>,
    /// What `cif` points to.
    _types: Box<[*mut ffi_type]>,
    /// What the types point to, for structs by value.
    _structs: Vec<StructType>,
    /// Whether some parameter or the returned value is more than a scalar.
    pub(crate) has_pointers: bool,
}

// SAFETY: after it is made nothing changes in it: libffi only reads a description that is prepared, and the types that it
// points to are statics or its own.
unsafe impl Send for Prepared {}
// SAFETY: as above.
unsafe impl Sync for Prepared {}

/// The register in which a value is returned; libffi writes at least a word, on some machines two.
#[derive(Debug, Default, Clone, Copy)]
#[repr(C, align(16))]
pub(crate) struct Register([u64; 2]);

impl Prepared {
    /// Prepares calls of the function that is at `code`.
    ///
    /// # Errors
    ///
    /// Where libffi does not know how to call it.
    pub(crate) fn new(function: &Function, code: CodePointer, stdcall: bool) -> Result<Self, String> {
        let mut structs = Vec::new();
        let mut of_struct = |layout: &StructLayout| {
            let made = StructType::new(layout)?;
            let pointer = made.as_ptr();
            structs.push(made);
            Ok::<_, String>(pointer)
        };
        let arguments: Vec<&Passing> = match &function.arguments {
            Some(arguments) => arguments.iter().map(|index| &function.parameters[*index].passing).collect(),
            None => function.parameters.iter().map(|parameter| &parameter.passing).collect(),
        };
        let mut types = Vec::with_capacity(arguments.len());
        for passing in &arguments {
            types.push(match passing {
                Passing::Value(value) => type_of_machine(value.machine),
                Passing::StructValue { layout } => of_struct(layout)?,
                _ => &raw mut types::pointer,
            });
        }
        let mut types: Box<[*mut ffi_type]> = types.into();
        let returned = match function.returns.as_ref().map(|returns| &returns.kind) {
            None => &raw mut types::void,
            Some(Returned::Value(value)) => type_of_machine(value.machine),
            Some(Returned::Struct(layout)) => of_struct(layout)?,
            Some(_) => &raw mut types::pointer,
        };
        let mut cif = Box::new(ffi_cif::default());
        let (count, abi) = (types.len(), abi(stdcall));
        // SAFETY: the description keeps the addresses of `types`, which is boxed and kept beside it, and of libffi's own
        // statics; `types` has as many elements as `count` says.
        let prepared = unsafe {
            match function.fixed {
                Some(fixed) => low::prep_cif_var(&mut *cif, abi, fixed, count, returned, types.as_mut_ptr()),
                None => low::prep_cif(&mut *cif, abi, count, returned, types.as_mut_ptr()),
            }
        };
        prepared.map_err(|error| format!("libffi cannot call it: {error:?}"))?;
        if structs.iter().any(|made| !made.is_as_expected()) {
            return Err("libffi lays out a struct that is passed by value in another way than the document says".into());
        }
        let is_value = |passing: &Passing| matches!(passing, Passing::Value(_));
        let has_pointers = !function.parameters.iter().all(|parameter| is_value(&parameter.passing))
            || matches!(function.returns.as_ref().map(|returns| &returns.kind), Some(Returned::Struct(_)));
        Ok(Prepared { code, cif, _types: types, _structs: structs, has_pointers })
    }

    /// Calls the function.
    ///
    /// # Safety
    ///
    /// `values` points to as many addresses as the function has parameters, each of a value of the type that was
    /// prepared; pointers among those values point to what the function expects there, for as long as it runs. That the
    /// function is what its document says is the promise of the caller that joined the two.
    #[inline]
    pub(crate) unsafe fn call(&self, values: *mut *mut c_void) -> Register {
        let mut register = Register::default();
        let cif = ptr::from_ref(&*self.cif).cast_mut();
        // SAFETY: libffi does not write to a description that is prepared; the register has room for every type that is
        // returned; the rest is what the caller promises.
        unsafe { ffi_call(cif, Some(self.code), (&raw mut register).cast(), values) };
        register
    }

    /// Calls the function, which returns a struct of so many bytes; the struct is put into words.
    ///
    /// # Safety
    ///
    /// As [`call`](Self::call); the struct has that size.
    pub(crate) unsafe fn call_for_struct(&self, values: *mut *mut c_void, size: usize) -> Vec<u64> {
        // libffi may write whole registers where the struct is returned in them.
        let mut words = vec![0_u64; size.div_ceil(8).max(4)];
        let cif = ptr::from_ref(&*self.cif).cast_mut();
        // SAFETY: as above; the words have room for the struct.
        unsafe { ffi_call(cif, Some(self.code), words.as_mut_ptr().cast(), values) };
        words
    }
}

impl Register {
    /// A register that holds what a variable holds.
    pub(crate) fn from_memory(bytes: &[u8]) -> Self {
        let word = word_of(bytes);
        // As a function returns it: an integer as a whole word.
        Register([if cfg!(target_endian = "big") { word >> (64 - 8 * bytes.len().clamp(1, 8)) } else { word }, 0])
    }

    /// A register that holds an address.
    pub(crate) fn from_pointer(pointer: *mut c_void) -> Self {
        Register([pointer.expose_provenance() as u64, 0])
    }

    /// The value as a word whose first bytes it is.
    #[inline]
    pub(crate) fn word(self, machine: Machine) -> u64 {
        match machine {
            Machine::F32 | Machine::F64 => self.0[0],
            // libffi widens integers to a whole word.
            machine => machine.word_of_integer(self.0[0]),
        }
    }

    pub(crate) fn pointer(self) -> *mut c_void {
        let address = if size_of::<usize>() == 8 { self.0[0] } else { self.0[0] & u64::from(u32::MAX) };
        // The library made this address; what is read from it is the library's own memory.
        ptr::with_exposed_provenance_mut(usize::try_from(address).unwrap_or_default())
    }
}

/// `stdcall` is another convention only on 32-bit x86.
#[cfg(target_arch = "x86")]
fn abi(stdcall: bool) -> ffi_abi {
    if stdcall { libffi::raw::ffi_abi_FFI_STDCALL } else { ffi_abi_FFI_DEFAULT_ABI }
}

#[cfg(not(target_arch = "x86"))]
fn abi(_stdcall: bool) -> ffi_abi {
    ffi_abi_FFI_DEFAULT_ABI
}
