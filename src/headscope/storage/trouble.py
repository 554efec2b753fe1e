"""File system errors, as one sentence that says what to do."""

import errno
import os

_ROOM = "free some space, or give --out a folder on another disk"
_AGAIN = "what was finished is kept: run the same command again"
_RIGHTS = "expected a place you have rights to, choose another"

# The error, and what to do; `in` and `at` are the file or folder, if the system names it.
_SENTENCES = {
    errno.ENOSPC: f"no room left on the disk{{in}}; {_ROOM}",
    errno.EDQUOT: f"your share of the disk is used up{{in}}; {_ROOM}",
    errno.EFBIG: f"a file grew larger than this file system or your limits allow{{in}}; {_ROOM}, or raise ulimit -f",
    errno.EACCES: f"may not write or read {{at}}; {_RIGHTS}",
    errno.EPERM: f"may not write or read {{at}}; {_RIGHTS}",
    errno.EROFS: f"may not write or read {{at}}; {_RIGHTS}",
    errno.EIO: f"the disk or network failed on {{at}} (input/output error); {_AGAIN} once it is sound, or on another",
    errno.ESTALE: f"the network folder of {{at}} went away (stale file handle); {_AGAIN} once it is back",
    errno.ENOENT: f"{{at}} is not there, or was removed during the run; {_AGAIN}, and leave its folder alone",
    errno.EMFILE: "too many files are open; raise the limit (ulimit -n), or run less beside this",
    errno.ENFILE: "too many files are open on this machine; run less beside this",
    errno.ENOLCK: "{at} is on a file system that gives out no locks; give --out a folder on another",
    errno.ENOMEM: "the machine has no memory left; run less beside this, or lower --batch-size and --max-length",
}
_NO_PLACE = (errno.ENOTDIR, errno.EEXIST, errno.EISDIR, errno.ENAMETOOLONG, errno.ENOTEMPTY, errno.ELOOP)


def in_words(error: OSError) -> str:
    """Return the meaning of a file system error for the user: what happened, where, and what to do."""
    name = None if error.filename is None else os.fsdecode(error.filename)
    words = {"in": f" ({name})" if name else "", "at": name or "a file"}
    if error.errno in _SENTENCES:
        return _SENTENCES[error.errno].format_map(words)
    what = error.strerror or str(error) or type(error).__name__
    if error.errno in _NO_PLACE:
        return f"cannot write {words['at']}: {what}; give another place"
    return f"the system refused {words['at']}: {what[:1].lower()}{what[1:]}; {_AGAIN}, or give another place"
