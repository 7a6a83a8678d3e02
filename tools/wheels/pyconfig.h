/* What Python's headers ask of a platform, answered by the compiler: no Python of that platform is needed to compile. */
#ifndef Py_PYCONFIG_H
#define Py_PYCONFIG_H

#define SIZEOF_INT __SIZEOF_INT__
#define SIZEOF_LONG __SIZEOF_LONG__
#define SIZEOF_LONG_LONG __SIZEOF_LONG_LONG__
#define SIZEOF_VOID_P __SIZEOF_POINTER__
#define SIZEOF_UINTPTR_T __SIZEOF_POINTER__
#define SIZEOF_SIZE_T __SIZEOF_SIZE_T__
#define SIZEOF_WCHAR_T __SIZEOF_WCHAR_T__
#define SIZEOF__BOOL 1
#define SIZEOF_PID_T 4
#define SIZEOF_TIME_T 8
#define ALIGNOF_MAX_ALIGN_T __BIGGEST_ALIGNMENT__
#define HAVE_LONG_LONG 1
#define HAVE_WCHAR_H 1
#define HAVE_STDDEF_H 1
#define HAVE_SYS_TYPES_H 1
#define HAVE_SYS_STAT_H 1
#define HAVE_SSIZE_T 1
#define WITH_PYMALLOC 1
#define WITH_DOC_STRINGS 1
#define PY_FORMAT_SIZE_T "z"

#include <stdio.h> /* which nanobind expects from Python.h */

#ifdef _WIN32
#define MS_WIN32
#define MS_WINDOWS
#define MS_WIN64
#define MS_COREDLL
#define Py_ENABLE_SHARED 1
#define HAVE_DECLSPEC_DLL
#define NT_THREADS
#define PLATFORM "win32"
#define COMPILER "[gcc]"
#define PYD_PLATFORM_TAG "win_amd64"
#else
#define HAVE_PTHREAD_H 1
#define HAVE_UNISTD_H 1
#define HAVE_FORK 1
#define HAVE_SYS_TIME_H 1
#define HAVE_SYS_SELECT_H 1
#define HAVE_CLOCK_GETTIME 1
#define HAVE_LANGINFO_H 1
#endif

#endif
