/* What the files of this folder offer to Python. One module, built against the stable interface of Python 3.11. */
#ifndef HOLDFAST_KERNELS_H
#define HOLDFAST_KERNELS_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>

PyObject *name_types(PyObject *module, PyObject *const *given, Py_ssize_t count);
PyObject *place(PyObject *module, PyObject *const *given, Py_ssize_t count);
PyObject *walk_frames(PyObject *module, PyObject *const *given, Py_ssize_t count);
PyObject *receive_now(PyObject *module, PyObject *const *given, Py_ssize_t count);
PyObject *send_now(PyObject *module, PyObject *const *given, Py_ssize_t count);
PyObject *decode_one(PyObject *module, PyObject *frame);

#endif
