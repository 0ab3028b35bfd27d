/* Walk over the frames of a chunk of the write-ahead log. `wal.format.frame` says what a frame is. */
#include "kernels.h"

#include <stdlib.h>

#include "crc32c.h"
#include "numbers.h"

enum { MARK_AT = 4, SIZE_AT = 8, FRAME_HEADER_SIZE = 24 };

static uint32_t little32(Bytes at) {
    return (uint32_t)at[3] << 24 | (uint32_t)at[2] << 16 | (uint32_t)at[1] << 8 | at[0];
}

/* The size of the valid frame at the beginning of so many bytes; 0 where there is none. */
static size_t frame_size(Bytes at, size_t left, uint32_t seed) {
    if (left < FRAME_HEADER_SIZE || (little32(at + MARK_AT) ^ seed) & 0xFFFFFF)
        return 0;
    size_t size = FRAME_HEADER_SIZE + (size_t)little32(at + SIZE_AT);
    if (size > left || crc32c_of(at + MARK_AT, size - MARK_AT, seed) != little32(at))
        return 0;
    return size;
}

/* walk_frames(data, seed) → where each valid frame at the beginning of the data begins (64-bit numbers of the machine,
   as bytes), and how many bytes they are in all. */
PyObject *walk_frames(PyObject *module, PyObject *const *given, Py_ssize_t count) {
    (void)module;
    if (count != 2) {
        PyErr_SetString(PyExc_TypeError, "walk_frames needs data and a seed");
        return NULL;
    }
    uint32_t seed = (uint32_t)PyLong_AsUnsignedLong(given[1]);
    Py_buffer data;
    if (PyErr_Occurred() || PyObject_GetBuffer(given[0], &data, PyBUF_SIMPLE) < 0)
        return NULL;
    size_t total = (size_t)data.len, room = 256, found = 0, offset = 0, size;
    int64_t *offsets = malloc(room * sizeof *offsets);
    Py_BEGIN_ALLOW_THREADS;
    while (offsets != NULL && (size = frame_size((Bytes)data.buf + offset, total - offset, seed))) {
        if (found == room) {
            room *= 2;
            int64_t *larger = realloc(offsets, room * sizeof *offsets);
            if (larger == NULL) {
                free(offsets);
                offsets = NULL;
                break;
            }
            offsets = larger;
        }
        offsets[found++] = (int64_t)offset;
        offset += size;
    }
    Py_END_ALLOW_THREADS;
    PyBuffer_Release(&data);
    if (offsets == NULL)
        return PyErr_NoMemory();
    Py_ssize_t offsets_size = (Py_ssize_t)(found * sizeof *offsets);
    // Not by "y#": what was built with the headers of 3.13 would not run on 3.11.
    PyObject *bytes = PyBytes_FromStringAndSize((const char *)offsets, offsets_size);
    PyObject *answer = Py_BuildValue("Nn", bytes, (Py_ssize_t)offset);
    free(offsets);
    return answer;
}
