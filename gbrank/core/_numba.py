"""numba, and its disk cache made fit for kernels that call kernels of other files."""

import contextlib
import hashlib
import os
import stat
import uuid
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO, Any

from numba import config, njit, types
from numba.core.caching import FunctionCache, IndexDataCacheFile
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import Compiler
from numba.core.registry import CPUDispatcher
from numba.core.runtime import rtsys

from gbrank.core.kernels import no_collection

_PACKAGE = Path(__file__).parents[1]


def make_dispatcher(function: Callable[..., Any], options: dict[str, Any], wide: bool) -> Any:
    """Return what compiles ``function`` for the types it is called with."""
    dispatcher = njit(pipeline_class=_WideCompiler if wide else Compiler, **options)(function)
    dispatcher.compile = no_collection()(dispatcher.compile)
    # RuntimeError: numba found no folder that it may write to. AttributeError: a numba whose cache
    # is built differently. There is then no cache, which costs time and nothing else.
    with contextlib.suppress(RuntimeError, AttributeError, OSError):
        cache = _KernelCache(function)
        if _is_trusted(Path(cache.cache_path)):
            dispatcher._cache = cache
    return dispatcher


def make_inner(function: Callable[..., Any], options: dict[str, Any], wide: bool) -> Any:
    """Return what compiles ``function`` for its calls from kernels, as a part of these alone.

    It becomes machine code with the kernel that calls it, and has no entry from Python: a third of
    the time of compilation is saved. And there is no other machine code of it that could run
    instead, with other last bits.
    """
    given = {**options, "nopython": True, "no_cpython_wrapper": True}
    compiler = _InnerCompiler if wide else _NarrowInnerCompiler
    return _InnerDispatcher(function, targetoptions=given, pipeline_class=compiler)


#: On some processors with registers of 512 bits LLVM takes half of each, as an older kind slows
#: down where all is used. That costs kernels up to a quarter of their time.
_WIDE = '"prefer-vector-width"="512"'


class _WideLibrary(JITCodeLibrary):
    """Code of kernels, for vector registers as wide as they are."""

    is_wide = True

    def add_ir_module(self, ir_module: Any) -> None:
        for function in ir_module.functions:
            if self.is_wide and not function.is_declaration:
                set.add(function.attributes, _WIDE)  # their own ``add`` does not know the name
        super().add_ir_module(ir_module)


class _WideCompiler(Compiler):
    """numba's compiler, for a library of this kind."""

    def compile_extra(self, function: Callable[..., Any]) -> Any:
        codegen = self.state.targetctx.codegen()
        self.state.library = _WideLibrary(codegen, function.__qualname__)
        self.state.library.enable_object_caching()  # as numba does with a library that it makes
        return super().compile_extra(function)


class _InnerLibrary(_WideLibrary):
    """Code that is linked into that of kernels, and nothing else."""

    is_copied = False

    def _optimize_final_module(self) -> None:
        # Loops that are copied into other ones have to be turned into SIMD code before. What is
        # called as a function is optimised there.
        if self.is_copied:
            super()._optimize_final_module()

    def _finalize_final_module(self) -> None:
        self._finalized = True


class _InnerCompiler(Compiler):
    """numba's compiler, for a library of this kind."""

    is_wide = True

    def __init__(self, typingctx: Any, targetctx: Any, library: Any, *others: Any) -> None:
        library = _InnerLibrary(targetctx.codegen(), "inner")
        super().__init__(typingctx, targetctx, library, *others)
        self.state.flags.no_compile = True
        library.is_copied, library.is_wide = self.state.flags.forceinline, self.is_wide


class _NarrowInnerCompiler(_InnerCompiler):
    """The same, without the widest registers."""

    is_wide = False


class _InnerDispatcher(CPUDispatcher):
    """numba's dispatcher, of functions that have no address."""

    def get_call_template(self, args: Any, kws: Any) -> Any:
        # a whole number that is written in the call is no reason to compile once more
        plain = [
            types.unliteral(each) if isinstance(each, types.IntegerLiteral) else each
            for each in args
        ]
        return super().get_call_template(plain, kws)

    def add_overload(self, compiled: Any) -> None:
        key = object()  # by which a caller's code finds the function, in place of its address
        self.overloads[tuple(compiled.signature.args)] = compiled._replace(entry_point=key)
        self.targetctx.insert_user_function(key, compiled.fndesc, [compiled.library])


def cache_folder() -> Path:
    """Return where compiled kernels are kept: those of this folder, where each has its own."""
    return Path(config.CACHE_DIR or _KernelCache(make_dispatcher).cache_path)


def _hash_sources() -> str:
    digest = hashlib.sha256()
    for path in sorted(_PACKAGE.rglob("*.py")):
        digest.update(path.read_bytes())
    return digest.hexdigest()


_SOURCES = _hash_sources()


def _is_trusted(folder: Path) -> bool:
    """Return whether what lies in a folder may be run: nobody but us can have put it there.

    Cached kernels are machine code in pickles. Whoever owns the package's own files can have any
    code run anyway.
    """
    if not hasattr(os, "geteuid"):
        return True
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    state = folder.stat()
    owners = (os.geteuid(), Path(__file__).stat().st_uid)
    return state.st_uid in owners and not state.st_mode & stat.S_IWOTH


class _PrivateFiles(IndexDataCacheFile):
    """Files of the cache that only their owner may read."""

    @contextlib.contextmanager
    def _open_for_write(self, filepath: str) -> Iterator[IO[bytes]]:
        temporary = Path(f"{filepath}.tmp.{uuid.uuid4().hex[:16]}")
        handle = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        try:
            with os.fdopen(handle, "wb") as file:
                yield file
            temporary.replace(filepath)
        except BaseException:
            temporary.unlink(missing_ok=True)
            raise


class _KernelCache(FunctionCache):
    """numba's disk cache, but for kernels that call kernels of other files.

    numba looks for changes in the file of the kernel alone, by content. An upgrade of gbrank that
    changes ``fastmath.py`` would leave every kernel in use that has the old functions inlined. And
    a disk that is full, files of another user, or a damaged file are no reason to stop: the kernel
    is then compiled again.
    """

    _warned = False

    def __init__(self, function: Callable[..., Any]) -> None:
        super().__init__(function)
        stamp = (self._impl.locator.get_source_stamp(), _SOURCES)
        self._cache_file = _PrivateFiles(self._cache_path, self._impl.filename_base, stamp)

    def load_overload(self, signature: Any, target_context: Any) -> Any:
        try:
            # numba's own method loads all that it could compile with first, for a quarter of a
            # second; what is compiled already needs but the runtime that arrays are made with
            rtsys.initialize(target_context)
            return self._load_overload(signature, target_context)
        except OSError:
            return None
        except Exception as error:
            # Whatever unpickling a damaged file may raise. Without its index the file is not read
            # again, and is written over.
            self._warn(error)
            with contextlib.suppress(OSError):
                self.flush()
            return None

    def save_overload(self, *compiled: Any) -> None:
        with contextlib.suppress(OSError):
            super().save_overload(*compiled)

    def _warn(self, error: Exception) -> None:
        if not _KernelCache._warned:
            _KernelCache._warned = True
            warnings.warn(
                f"a file of compiled kernels in {self.cache_path} is damaged "
                f"({type(error).__name__}: {error}); kernels are compiled again",
                stacklevel=2,
            )
