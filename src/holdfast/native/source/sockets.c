/* Calls on sockets that do not block, with the interpreter's lock kept: getting it back from threads takes longer. */
#include "kernels.h"

#include <sys/socket.h>

PyObject *receive_now(PyObject *module, PyObject *const *given, Py_ssize_t count) {
    (void)module;
    Py_buffer view;
    if (count != 2)
        return PyErr_Format(PyExc_TypeError, "receive_now takes a descriptor and a buffer");
    long link = PyLong_AsLong(given[0]);
    if ((link == -1 && PyErr_Occurred()) || PyObject_GetBuffer(given[1], &view, PyBUF_WRITABLE) < 0)
        return NULL;
    ssize_t size = recv((int)link, view.buf, (size_t)view.len, MSG_DONTWAIT);
    PyBuffer_Release(&view);
    return size < 0 ? PyErr_SetFromErrno(PyExc_OSError) : PyLong_FromSsize_t(size);
}

PyObject *send_now(PyObject *module, PyObject *const *given, Py_ssize_t count) {
    (void)module;
    Py_buffer view;
    if (count != 2)
        return PyErr_Format(PyExc_TypeError, "send_now takes a descriptor and a buffer");
    long link = PyLong_AsLong(given[0]);
    if ((link == -1 && PyErr_Occurred()) || PyObject_GetBuffer(given[1], &view, PyBUF_SIMPLE) < 0)
        return NULL;
    ssize_t size = send((int)link, view.buf, (size_t)view.len, MSG_DONTWAIT | MSG_NOSIGNAL);
    PyBuffer_Release(&view);
    return size < 0 ? PyErr_SetFromErrno(PyExc_OSError) : PyLong_FromSsize_t(size);
}
