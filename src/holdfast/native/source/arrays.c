#include "arrays.h"

static Py_ssize_t item_size(char letter) {
    switch (letter | 0x20) {
    case 'b':
        return 1;
    case 'i':
        return 4;
    default:
        return 8;
    }
}

static int take_one(Arguments *taken, int place, PyObject *given, char letter) {
    Argument *one = &taken->each[place];
    if (letter == 'n') {
        one->number = PyLong_AsLongLong(given);
        return one->number != -1 || !PyErr_Occurred();
    }
    Py_buffer *view = &taken->views[taken->view_count];
    int is_written = letter < 'a';
    if (PyObject_GetBuffer(given, view, PyBUF_C_CONTIGUOUS | (is_written ? PyBUF_WRITABLE : 0)) < 0)
        return 0;
    taken->view_count++;
    if (view->itemsize != item_size(letter) && !((letter | 0x20) == 'e' && view->itemsize == 4)) {
        PyErr_Format(PyExc_TypeError, "argument %d has items of %zd bytes", place + 1, view->itemsize);
        return 0;
    }
    one->at = view->buf;
    one->count = view->len / view->itemsize;
    one->is_wide = view->itemsize == 8;
    return 1;
}

int take(Arguments *taken, PyObject *const *given, Py_ssize_t count, const char *form) {
    taken->view_count = 0;
    if (count != (Py_ssize_t)strlen(form)) {
        PyErr_Format(PyExc_TypeError, "%zd arguments are wanted, not %zd", (Py_ssize_t)strlen(form), count);
        return 0;
    }
    for (int place = 0; place < count; place++) {
        if (!take_one(taken, place, given[place], form[place])) {
            let_go(taken);
            return 0;
        }
    }
    return 1;
}

void let_go(Arguments *taken) {
    while (taken->view_count > 0)
        PyBuffer_Release(&taken->views[--taken->view_count]);
}

PyObject *misfit(Arguments *taken, const char *loop) {
    let_go(taken);
    return PyErr_Format(PyExc_ValueError, "%s: the sizes of the arrays do not belong together", loop);
}
