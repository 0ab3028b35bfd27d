/* One produce request with one batch for one partition, as nearly all are: read and checked in one go.

   What is unusual, and all that is wrong, is left to Python, which says what is wrong with it: `decode_one` answers None
   then. It takes nothing that Python would refuse, and says the same of what it takes: `tests/native` holds it to that. */
#include "kernels.h"

#include "check.h"
#include "crc32c.h"

enum {
    KEY = 0,
    VERSION_MIN = 3,
    FLEXIBLE_FROM = 9,
    TOPIC_IDS_FROM = 13,
    VERSION_MAX = 13,
    FRAME_SIZE_MAX = 128 << 10, /* Larger ones are worth the lock that other threads wait for. */
    BATCH_HEADER = 61,
    LENGTH_END = 12,
    MAGIC_AT = 16,
    CRC_AT = 17,
    ATTRIBUTES_AT = 21,
    MAGIC = 2,
    CODEC_MASK = 7,
    CODEC_MAX = 4,
    TRANSACTIONAL = 16,
    RECORD_SIZE_MIN = 7,
};

static PyObject *types[6]; /* RequestHeader, ProduceRequest, ProduceTopic, ProducePartition, BatchHeader, Records. */
enum { HEADER_TYPE, REQUEST_TYPE, TOPIC_TYPE, PARTITION_TYPE, BATCH_TYPE, RECORDS_TYPE };

PyObject *name_types(PyObject *module, PyObject *const *given, Py_ssize_t count) {
    (void)module;
    if (count != 6)
        return PyErr_Format(PyExc_TypeError, "name_types takes 6 types");
    for (int number = 0; number < 6; number++) {
        if (!PyType_Check(given[number]))
            return PyErr_Format(PyExc_TypeError, "name_types takes types");
        PyObject *before = types[number];
        Py_INCREF(given[number]);
        types[number] = given[number];
        Py_XDECREF(before);
    }
    Py_RETURN_NONE;
}

/* A named tuple. Takes the items over; NULL, with all of them let go, if one of them is. */
static PyObject *named_as(PyTypeObject *type, Py_ssize_t count, PyObject **items) {
    PyObject *made = PyType_GenericAlloc(type, count);
    int is_whole = made != NULL;
    for (Py_ssize_t number = 0; number < count; number++) {
        is_whole &= items[number] != NULL;
        if (made == NULL)
            Py_XDECREF(items[number]);
        else if (items[number] != NULL)
            PyTuple_SetItem(made, number, items[number]);
    }
    if (!is_whole)
        Py_CLEAR(made);
    return made;
}

static PyObject *named(int type, Py_ssize_t count, PyObject **items) {
    return named_as((PyTypeObject *)types[type], count, items);
}

static PyObject *none(void) {
    Py_INCREF(Py_None);
    return Py_None;
}

typedef struct {
    int version;
    Bytes client, transaction, topic; /* NULL: none. */
    Py_ssize_t client_size, transaction_size, topic_size;
    int32_t correlation_id, timeout_ms, partition;
    int16_t acks;
    Py_ssize_t body, batch, batch_size; /* Where they begin in the frame. */
} One;

/* A string: in flexible versions of less than 127 bytes. 0 if it is of another form. */
static int read_string(Bytes *at, Bytes end, int is_flexible, Bytes *text, Py_ssize_t *size) {
    if (is_flexible) {
        if (end - *at < 1 || **at >= 0x80)
            return 0;
        *size = *(*at)++ - 1;
    } else {
        if (end - *at < 2)
            return 0;
        *size = (int16_t)big16(*at);
        *at += 2;
    }
    if (*size < -1 || *size > end - *at)
        return 0;
    *text = *size < 0 ? NULL : *at;
    *at += *size > 0 ? *size : 0;
    return 1;
}

/* Whether exactly one item follows. */
static int is_one(Bytes *at, Bytes end, int is_flexible) {
    Bytes here = *at;
    *at += is_flexible ? 1 : 4;
    return *at <= end && (is_flexible ? *here == 2 : big32(here) == 1);
}

static int read_request(Bytes frame, Py_ssize_t size, One *one) {
    Bytes at = frame, end = frame + size;
    if (size < 8 || big16(at) != KEY)
        return 0;
    one->version = big16(at + 2);
    if (one->version < VERSION_MIN || one->version > VERSION_MAX)
        return 0;
    int is_flexible = one->version >= FLEXIBLE_FROM;
    one->correlation_id = (int32_t)big32(at + 4);
    at += 8;
    if (!read_string(&at, end, 0, &one->client, &one->client_size))
        return 0;
    if (is_flexible && (at >= end || *at++ != 0)) /* No tags. */
        return 0;
    one->body = at - frame;
    if (!read_string(&at, end, is_flexible, &one->transaction, &one->transaction_size) || end - at < 6)
        return 0;
    one->acks = (int16_t)big16(at);
    one->timeout_ms = (int32_t)big32(at + 2);
    at += 6;
    if (!is_one(&at, end, is_flexible))
        return 0;
    if (one->version >= TOPIC_IDS_FROM) {
        one->topic = at;
        one->topic_size = 16;
        at += 16;
    } else if (!read_string(&at, end, is_flexible, &one->topic, &one->topic_size) || one->topic == NULL)
        return 0;
    if (at >= end || !is_one(&at, end, is_flexible) || end - at < 8)
        return 0;
    one->partition = (int32_t)big32(at);
    at += 4;
    if (!is_flexible) {
        one->batch_size = (int32_t)big32(at);
        one->batch = at + 4 - frame;
        return one->batch_size >= 0 && one->batch + one->batch_size == size;
    }
    uint32_t announced = 0;
    for (int index = 0;; index++) { /* Never more than the frame has: three bytes are 2 MiB. */
        if (index == 3 || at >= end)
            return 0;
        announced |= (uint32_t)(*at & 0x7F) << (7 * index);
        if (*at++ < 0x80)
            break;
    }
    one->batch_size = (Py_ssize_t)announced - 1;
    one->batch = at - frame;
    if (announced == 0 || one->batch + one->batch_size + 3 != size)
        return 0;
    Bytes tags = frame + size - 3;
    return tags[0] == 0 && tags[1] == 0 && tags[2] == 0;
}

static int is_sound(Bytes batch, Py_ssize_t size) {
    if (size < BATCH_HEADER || (int64_t)(int32_t)big32(batch + 8) + LENGTH_END != size || batch[MAGIC_AT] != MAGIC)
        return 0;
    uint16_t attributes = big16(batch + ATTRIBUTES_AT);
    int32_t last = (int32_t)big32(batch + 23), count = (int32_t)big32(batch + 57);
    if ((attributes & ~(CODEC_MASK | TRANSACTIONAL)) != 0 || (attributes & CODEC_MASK) > CODEC_MAX)
        return 0;
    if (count <= 0 || (int64_t)count != (int64_t)last + 1)
        return 0;
    return crc32c_of(batch + ATTRIBUTES_AT, (size_t)(size - ATTRIBUTES_AT), 0) == big32(batch + CRC_AT);
}

/* What is known of the records; None if they are compressed; NULL without an error if one of them is wrong. */
static PyObject *look(Bytes batch, Py_ssize_t size) {
    if (big16(batch + ATTRIBUTES_AT) & CODEC_MASK)
        return none();
    int64_t count = (int32_t)big32(batch + 57), base = (int64_t)big64(batch + 27);
    Py_ssize_t left = size - BATCH_HEADER;
    if (count * RECORD_SIZE_MIN > left)
        return NULL;
    Checked found = check_records(batch + BATCH_HEADER, (size_t)left, count);
    int64_t low, high;
    if (found.wrong != FINE || __builtin_add_overflow(base, found.delta_min, &low) ||
        __builtin_add_overflow(base, found.delta_max, &high))
        return NULL;
    PyObject *items[] = {PyLong_FromLongLong(low), PyLong_FromLongLong(high), PyLong_FromLongLong(found.keyless)};
    return named(RECORDS_TYPE, 3, items);
}

static PyObject *batch_header(Bytes batch, Py_ssize_t size) {
    PyObject *items[] = {
        PyLong_FromLongLong((int64_t)big64(batch)),
        PyLong_FromSsize_t(size),
        PyLong_FromLong((int32_t)big32(batch + 12)),
        PyLong_FromLong((int8_t)batch[MAGIC_AT]),
        PyLong_FromUnsignedLong(big32(batch + CRC_AT)),
        PyLong_FromLong((int16_t)big16(batch + ATTRIBUTES_AT)),
        PyLong_FromLong((int32_t)big32(batch + 23)),
        PyLong_FromLongLong((int64_t)big64(batch + 27)),
        PyLong_FromLongLong((int64_t)big64(batch + 35)),
        PyLong_FromLongLong((int64_t)big64(batch + 43)),
        PyLong_FromLong((int16_t)big16(batch + 51)),
        PyLong_FromLong((int32_t)big32(batch + 53)),
        PyLong_FromLong((int32_t)big32(batch + 57)),
    };
    return named(BATCH_TYPE, 13, items);
}

static PyObject *text(Bytes at, Py_ssize_t size) {
    return at == NULL ? none() : PyUnicode_DecodeUTF8((const char *)at, size, NULL);
}

static PyObject *in_list(PyObject *item) {
    PyObject *list = item == NULL ? NULL : PyList_New(1);
    if (list == NULL)
        Py_XDECREF(item);
    else
        PyList_SetItem(list, 0, item);
    return list;
}

static PyObject *part_of(PyObject *frame, Py_ssize_t start, Py_ssize_t size) {
    PyObject *from = PyLong_FromSsize_t(start), *to = PyLong_FromSsize_t(start + size);
    PyObject *slice = from == NULL || to == NULL ? NULL : PySlice_New(from, to, NULL);
    PyObject *part = slice == NULL ? NULL : PyObject_GetItem(frame, slice);
    Py_XDECREF(from);
    Py_XDECREF(to);
    Py_XDECREF(slice);
    return part;
}

static PyObject *header(const One *one) {
    PyObject *items[] = {
        PyLong_FromLong(KEY), PyLong_FromLong(one->version), PyLong_FromLong(one->correlation_id),
        text(one->client, one->client_size), PyLong_FromSsize_t(one->body),
    };
    return named(HEADER_TYPE, 5, items);
}

static PyObject *request(const One *one, PyObject *records) {
    int has_id = one->version >= TOPIC_IDS_FROM;
    PyObject *partition[] = {PyLong_FromLong(one->partition), records};
    PyObject *topic[] = {
        has_id ? none() : text(one->topic, one->topic_size),
        has_id ? PyBytes_FromStringAndSize((const char *)one->topic, 16) : none(),
        in_list(named(PARTITION_TYPE, 2, partition)),
    };
    PyObject *items[] = {
        text(one->transaction, one->transaction_size), PyLong_FromLong(one->acks), PyLong_FromLong(one->timeout_ms),
        in_list(named(TOPIC_TYPE, 3, topic)),
    };
    return named(REQUEST_TYPE, 4, items);
}

/* place(batch, header, base offset, leader epoch, max timestamp): write the place of a batch into it; its header then. */
PyObject *place(PyObject *module, PyObject *const *given, Py_ssize_t count) {
    (void)module;
    Py_buffer view;
    if (count != 5 || !PyTuple_Check(given[1]) || PyTuple_Size(given[1]) != 13)
        return PyErr_Format(PyExc_TypeError, "place takes a batch, its header and three numbers");
    long long base = PyLong_AsLongLong(given[2]);
    long epoch = PyLong_AsLong(given[3]);
    if (PyErr_Occurred() || PyObject_GetBuffer(given[0], &view, PyBUF_WRITABLE) < 0)
        return NULL;
    int fits = view.len >= BATCH_HEADER && epoch >= INT32_MIN && epoch <= INT32_MAX;
    if (fits) {
        put_big64(view.buf, (uint64_t)base);
        put_big32((uint8_t *)view.buf + LENGTH_END, (uint32_t)(int32_t)epoch);
    }
    PyBuffer_Release(&view);
    if (!fits)
        return PyErr_Format(PyExc_ValueError, "no batch is so short, and no epoch so large");
    PyObject *items[13];
    for (int number = 0; number < 13; number++) {
        items[number] = PyTuple_GetItem(given[1], number);
        if (number == 0 || number == 2 || number == 8)
            items[number] = given[number == 0 ? 2 : number == 2 ? 3 : 4];
        Py_INCREF(items[number]);
    }
    return named_as(Py_TYPE(given[1]), 13, items);
}

PyObject *decode_one(PyObject *module, PyObject *frame) {
    (void)module;
    Py_buffer view;
    One one;
    PyObject *answer = NULL;
    if (types[0] == NULL)
        return PyErr_Format(PyExc_RuntimeError, "name_types comes first");
    if (PyObject_GetBuffer(frame, &view, PyBUF_SIMPLE) < 0)
        return NULL;
    Bytes bytes = view.buf;
    if (view.len <= FRAME_SIZE_MAX && read_request(bytes, view.len, &one) && is_sound(bytes + one.batch, one.batch_size)) {
        PyObject *records = look(bytes + one.batch, one.batch_size);
        if (records != NULL) {
            answer = PyTuple_New(4);
            PyObject *items[] = {
                header(&one), request(&one, part_of(frame, one.batch, one.batch_size)),
                batch_header(bytes + one.batch, one.batch_size), records,
            };
            for (int number = 0; number < 4; number++) {
                if (items[number] == NULL)
                    Py_CLEAR(answer);
            }
            for (int number = 0; number < 4; number++) {
                if (answer == NULL)
                    Py_XDECREF(items[number]);
                else
                    PyTuple_SetItem(answer, number, items[number]);
            }
        }
    }
    PyBuffer_Release(&view);
    if (answer == NULL && PyErr_Occurred() && PyErr_ExceptionMatches(PyExc_UnicodeDecodeError))
        PyErr_Clear(); /* A name that is no text: Python says so. */
    if (answer == NULL && !PyErr_Occurred())
        return none();
    return answer;
}
