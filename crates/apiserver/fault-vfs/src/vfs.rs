//! The C interface: a `sqlite3_vfs` that wraps the default VFS, and calls [`DiskState`] before each
//! change.
#![expect(
    unsafe_code,
    reason = "SQLite supports custom file systems only through its C interface"
)]
#![expect(
    clippy::multiple_unsafe_ops_per_block,
    reason = "each block contains one call through a function table"
)]

use std::ffi::{CStr, CString, OsStr, c_char, c_int, c_void};
use std::io;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};
use std::ptr;
use std::sync::Arc;

use parking_lot::Mutex;
use rusqlite::ffi;

use crate::state::{DiskState, Refusal};

/// The application data of the VFS (`pAppData`). The memory is never freed.
struct App {
    base: *mut ffi::sqlite3_vfs,
    state: Arc<Mutex<DiskState>>,
}

/// The header of a file that SQLite opened. The file of the default VFS follows in the same
/// allocation.
#[repr(C)]
struct Shadow {
    methods: *const ffi::sqlite3_io_methods,
    app: *const App,
    /// The state of the file in [`DiskState`]. Null for temporary files, because a power failure
    /// deletes temporary files.
    tracked: *mut Tracked,
}

struct Tracked {
    path: PathBuf,
    /// True for a journal or WAL file. The first sync of such a file also makes directory entries
    /// durable, as in SQLite's own VFS.
    syncs_folder: bool,
}

/// Registers a VFS permanently.
pub(crate) fn register(name: CString, state: Arc<Mutex<DiskState>>) -> io::Result<()> {
    // SAFETY: null selects the default VFS, which lives as long as the process.
    let base = unsafe { ffi::sqlite3_vfs_find(ptr::null()) };
    if base.is_null() {
        return Err(io::Error::other("SQLite has no file system"));
    }
    // SAFETY: `base` is not null, and is valid as long as the process.
    let mut vfs = unsafe { *base };
    let shadow = c_int::try_from(size_of::<Shadow>()).map_err(io::Error::other)?;
    // Version 3 adds system call hooks, which this VFS does not support.
    vfs.iVersion = 2;
    vfs.szOsFile += shadow;
    vfs.pNext = ptr::null_mut();
    vfs.zName = name.into_raw();
    vfs.pAppData = Box::into_raw(Box::new(App { base, state })).cast();
    vfs.xOpen = Some(open);
    vfs.xDelete = Some(delete);
    vfs.xAccess = Some(access);
    vfs.xFullPathname = Some(full_pathname);
    // SAFETY: the structure and its name are never freed.
    match unsafe { ffi::sqlite3_vfs_register(Box::into_raw(Box::new(vfs)), 0) } {
        ffi::SQLITE_OK => Ok(()),
        code => Err(io::Error::other(format!("SQLite refuses the disk: {code}"))),
    }
}

/// Returns the application data of the VFS.
///
/// # Safety
///
/// `vfs` was created by [`register`].
unsafe fn app<'a>(vfs: *mut ffi::sqlite3_vfs) -> &'a App {
    // SAFETY: the caller passes the registered VFS, whose App is never freed.
    unsafe { &*(*vfs).pAppData.cast::<App>() }
}

/// Returns the header of an open file.
///
/// # Safety
///
/// `file` was opened by [`open`].
unsafe fn shadow<'a>(file: *mut ffi::sqlite3_file) -> &'a Shadow {
    // SAFETY: `file` was opened by `open`, which writes a Shadow.
    unsafe { &*file.cast::<Shadow>() }
}

/// Returns the file of the default VFS, which follows the header.
///
/// # Safety
///
/// `file` is memory that SQLite passed to [`open`].
unsafe fn inner(file: *mut ffi::sqlite3_file) -> *mut ffi::sqlite3_file {
    // SAFETY: szOsFile covers both structures.
    unsafe { file.cast::<Shadow>().add(1).cast() }
}

/// Returns the [`DiskState`] and the tracked file, or `None` for temporary files.
///
/// # Safety
///
/// `file` was opened by [`open`].
unsafe fn tracked<'a>(
    file: *mut ffi::sqlite3_file,
) -> Option<(&'a Mutex<DiskState>, &'a mut Tracked)> {
    // SAFETY: `file` was opened by `open`; SQLite calls a file's methods from one thread at a time.
    unsafe {
        let shadow = shadow(file);
        Some((&(*shadow.app).state, shadow.tracked.as_mut()?))
    }
}

/// Forwards a method call to the file of the default VFS.
macro_rules! pass {
    ($file:expr, $method:ident $(, $argument:expr)*) => {{
        // SAFETY: SQLite calls methods on open files only, with valid arguments.
        unsafe {
            let inner = inner($file);
            match (*(*inner).pMethods).$method {
                Some(method) => method(inner $(, $argument)*),
                None => ffi::SQLITE_IOERR,
            }
        }
    }};
}

/// Checks an operation on a tracked file with [`DiskState`]. Returns an SQLite error code if the
/// operation must fail.
macro_rules! ask {
    ($file:expr, $code:expr, |$state:ident, $tracked:ident| $question:expr) => {
        // SAFETY: SQLite calls methods on open files only.
        if let Some((state, $tracked)) = unsafe { tracked($file) } {
            let mut $state = state.lock();
            match $question {
                Ok(()) => {}
                Err(Refusal::Full) => return ffi::SQLITE_FULL,
                Err(Refusal::Off | Refusal::Failed) => return $code,
            }
        }
    };
}

unsafe extern "C" fn open(
    vfs: *mut ffi::sqlite3_vfs,
    name: ffi::sqlite3_filename,
    file: *mut ffi::sqlite3_file,
    flags: c_int,
    out_flags: *mut c_int,
) -> c_int {
    const LOGS: c_int =
        ffi::SQLITE_OPEN_WAL | ffi::SQLITE_OPEN_MAIN_JOURNAL | ffi::SQLITE_OPEN_SUPER_JOURNAL;
    // SAFETY: SQLite passes the registered VFS, and memory of szOsFile bytes.
    unsafe {
        let app = app(vfs);
        let shadow = file.cast::<Shadow>();
        (*shadow).methods = ptr::null();
        let temporary = name.is_null() || flags & ffi::SQLITE_OPEN_DELETEONCLOSE != 0;
        let path = (!temporary).then(|| path_of(name));
        let mut state = app.state.lock();
        if state.check().is_err() {
            return ffi::SQLITE_CANTOPEN;
        }
        // The content is read before SQLite opens the file: closing a second handle later would
        // drop SQLite's locks.
        let unknown = path.as_deref().filter(|path| !state.is_tracked(path));
        let content = unknown.and_then(|path| std::fs::read(path).ok());
        let Some(base_open) = (*app.base).xOpen else {
            return ffi::SQLITE_CANTOPEN;
        };
        let code = base_open(app.base, name, inner(file), flags, out_flags);
        if code != ffi::SQLITE_OK {
            return code;
        }
        let syncs_folder = flags & LOGS != 0 && flags & ffi::SQLITE_OPEN_CREATE != 0;
        let tracked = path.map(|path| {
            state.opened(&path, content);
            Box::into_raw(Box::new(Tracked { path, syncs_folder }))
        });
        (*shadow).app = app;
        (*shadow).tracked = tracked.unwrap_or(ptr::null_mut());
        (*shadow).methods = &raw const METHODS;
    }
    ffi::SQLITE_OK
}

/// Converts the name of a file to a path.
///
/// # Safety
///
/// `name` is a C string.
unsafe fn path_of(name: *const c_char) -> PathBuf {
    // SAFETY: the caller passes a C string.
    let name = unsafe { CStr::from_ptr(name) };
    Path::new(OsStr::from_bytes(name.to_bytes())).to_owned()
}

unsafe extern "C" fn delete(
    vfs: *mut ffi::sqlite3_vfs,
    name: *const c_char,
    folder: c_int,
) -> c_int {
    // SAFETY: SQLite passes the registered VFS, and a C string.
    unsafe {
        let app = app(vfs);
        let refused = app.state.lock().delete(&path_of(name), folder != 0);
        match (refused, (*app.base).xDelete) {
            (Ok(()), Some(delete)) => delete(app.base, name, 0),
            _ => ffi::SQLITE_IOERR_DELETE,
        }
    }
}

unsafe extern "C" fn access(
    vfs: *mut ffi::sqlite3_vfs,
    name: *const c_char,
    flags: c_int,
    out: *mut c_int,
) -> c_int {
    // SAFETY: SQLite passes the registered VFS.
    unsafe {
        let app = app(vfs);
        match (*app.base).xAccess {
            Some(access) => access(app.base, name, flags, out),
            None => ffi::SQLITE_IOERR_ACCESS,
        }
    }
}

unsafe extern "C" fn full_pathname(
    vfs: *mut ffi::sqlite3_vfs,
    name: *const c_char,
    length: c_int,
    out: *mut c_char,
) -> c_int {
    // SAFETY: SQLite passes the registered VFS.
    unsafe {
        let app = app(vfs);
        match (*app.base).xFullPathname {
            Some(full) => full(app.base, name, length, out),
            None => ffi::SQLITE_CANTOPEN,
        }
    }
}

static METHODS: ffi::sqlite3_io_methods = ffi::sqlite3_io_methods {
    // Version 2 has shared memory for the WAL index, and no memory maps.
    iVersion: 2,
    xClose: Some(close),
    xRead: Some(read),
    xWrite: Some(write),
    xTruncate: Some(truncate),
    xSync: Some(sync),
    xFileSize: Some(file_size),
    xLock: Some(lock),
    xUnlock: Some(unlock),
    xCheckReservedLock: Some(check_reserved_lock),
    xFileControl: Some(file_control),
    xSectorSize: Some(sector_size),
    xDeviceCharacteristics: Some(device_characteristics),
    xShmMap: Some(shm_map),
    xShmLock: Some(shm_lock),
    xShmBarrier: Some(shm_barrier),
    xShmUnmap: Some(shm_unmap),
    xFetch: None,
    xUnfetch: None,
};

unsafe extern "C" fn close(file: *mut ffi::sqlite3_file) -> c_int {
    // SAFETY: SQLite closes a file once.
    unsafe {
        let shadow = shadow(file);
        if !shadow.tracked.is_null() {
            drop(Box::from_raw(shadow.tracked));
            (*shadow.app).state.lock().closed();
        }
    }
    pass!(file, xClose)
}

unsafe extern "C" fn read(
    file: *mut ffi::sqlite3_file,
    buffer: *mut c_void,
    amount: c_int,
    offset: i64,
) -> c_int {
    // SAFETY: SQLite calls methods on open files only.
    let off = unsafe { tracked(file) }.is_some_and(|(state, _)| state.lock().check().is_err());
    if off {
        return ffi::SQLITE_IOERR_READ;
    }
    pass!(file, xRead, buffer, amount, offset)
}

unsafe extern "C" fn write(
    file: *mut ffi::sqlite3_file,
    buffer: *const c_void,
    amount: c_int,
    offset: i64,
) -> c_int {
    // SAFETY: SQLite passes a buffer of `amount` bytes.
    let data = unsafe {
        std::slice::from_raw_parts(buffer.cast::<u8>(), usize::try_from(amount).unwrap_or(0))
    };
    ask!(file, ffi::SQLITE_IOERR_WRITE, |state, tracked| {
        state.write(&tracked.path, offset.cast_unsigned(), data)
    });
    pass!(file, xWrite, buffer, amount, offset)
}

unsafe extern "C" fn truncate(file: *mut ffi::sqlite3_file, size: i64) -> c_int {
    ask!(file, ffi::SQLITE_IOERR_TRUNCATE, |state, tracked| {
        state.truncate(&tracked.path, size.cast_unsigned())
    });
    pass!(file, xTruncate, size)
}

unsafe extern "C" fn sync(file: *mut ffi::sqlite3_file, _flags: c_int) -> c_int {
    // The real disk is not synced, because only the simulated power fails.
    ask!(file, ffi::SQLITE_IOERR_FSYNC, |state, tracked| {
        let synced = state.sync(&tracked.path, tracked.syncs_folder);
        tracked.syncs_folder &= synced.is_err();
        synced
    });
    ffi::SQLITE_OK
}

unsafe extern "C" fn file_size(file: *mut ffi::sqlite3_file, size: *mut i64) -> c_int {
    pass!(file, xFileSize, size)
}

unsafe extern "C" fn lock(file: *mut ffi::sqlite3_file, level: c_int) -> c_int {
    pass!(file, xLock, level)
}

unsafe extern "C" fn unlock(file: *mut ffi::sqlite3_file, level: c_int) -> c_int {
    pass!(file, xUnlock, level)
}

unsafe extern "C" fn check_reserved_lock(file: *mut ffi::sqlite3_file, held: *mut c_int) -> c_int {
    pass!(file, xCheckReservedLock, held)
}

unsafe extern "C" fn file_control(
    file: *mut ffi::sqlite3_file,
    operation: c_int,
    argument: *mut c_void,
) -> c_int {
    pass!(file, xFileControl, operation, argument)
}

unsafe extern "C" fn sector_size(file: *mut ffi::sqlite3_file) -> c_int {
    pass!(file, xSectorSize)
}

unsafe extern "C" fn device_characteristics(_file: *mut ffi::sqlite3_file) -> c_int {
    // SQLite assumes of all disks that a torn write does not change adjacent bytes.
    ffi::SQLITE_IOCAP_POWERSAFE_OVERWRITE
}

unsafe extern "C" fn shm_map(
    file: *mut ffi::sqlite3_file,
    region: c_int,
    size: c_int,
    extend: c_int,
    out: *mut *mut c_void,
) -> c_int {
    pass!(file, xShmMap, region, size, extend, out)
}

unsafe extern "C" fn shm_lock(
    file: *mut ffi::sqlite3_file,
    offset: c_int,
    count: c_int,
    flags: c_int,
) -> c_int {
    pass!(file, xShmLock, offset, count, flags)
}

unsafe extern "C" fn shm_barrier(file: *mut ffi::sqlite3_file) {
    // SAFETY: SQLite calls methods on open files only.
    unsafe {
        let inner = inner(file);
        if let Some(barrier) = (*(*inner).pMethods).xShmBarrier {
            barrier(inner);
        }
    }
}

unsafe extern "C" fn shm_unmap(file: *mut ffi::sqlite3_file, delete: c_int) -> c_int {
    pass!(file, xShmUnmap, delete)
}
