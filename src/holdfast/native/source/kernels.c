#include "kernels.h"

#include "crc32c.h"
#include "loops.h"

#define QUICK(function) ((PyCFunction)(void (*)(void))function)
#define LOOP(function) {#function, QUICK(function), METH_FASTCALL, NULL},

static PyMethodDef functions[] = {
    {"name_types", QUICK(name_types), METH_FASTCALL, NULL},
    {"place", QUICK(place), METH_FASTCALL, NULL},
    {"walk_frames", QUICK(walk_frames), METH_FASTCALL, NULL},
    {"receive_now", QUICK(receive_now), METH_FASTCALL, NULL},
    {"send_now", QUICK(send_now), METH_FASTCALL, NULL},
    {"decode_one", decode_one, METH_O, NULL},
    LOOPS(LOOP)
    {NULL, NULL, 0, NULL},
};

static struct PyModuleDef module = {PyModuleDef_HEAD_INIT, "kernels", NULL, -1, functions, NULL, NULL, NULL, NULL};

PyMODINIT_FUNC PyInit_kernels(void) {
    crc32c_prepare();
    PyObject *made = PyModule_Create(&module);
    if (made != NULL && PyModule_AddIntConstant(made, "SOURCE", HOLDFAST_SOURCE) < 0)
        Py_CLEAR(made);
    return made;
}
